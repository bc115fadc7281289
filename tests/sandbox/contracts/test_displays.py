"""Displays are judged on the host: what honest code may send becomes a note, what only a forged frame holds ends it."""

from __future__ import annotations

import base64
import time

import pytest

from sandbox.contracts.displays import (
    MAX_CELL_CHARACTERS,
    MAX_COLUMNS,
    MAX_ROWS,
    MAX_TABLE_BYTES,
    MAX_TITLE_CHARACTERS,
    displayed,
    picture_size,
    picture_type,
    table_text,
)
from sandbox.contracts.errors import MalformedFrame
from sandbox.contracts.frames import DisplayCall


def png(width: int = 3, height: int = 2) -> bytes:
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + head + b"\x08\x06\0\0\0crc!" + b"\0\0\0\0IEND\xaeB`\x82"


def jpeg(width: int, height: int, before: bytes = b"") -> bytes:
    frame = b"\xff\xc0\0\x11\x08" + height.to_bytes(2, "big") + width.to_bytes(2, "big") + b"\x03" * 10 + b"\xff\xd9"
    return b"\xff\xd8" + (before or b"\xff\xe0\0\x04ab") + frame


def call(kind: str, data: bytes | str, title: str = "") -> DisplayCall:
    return DisplayCall(kind, title, base64.b64encode(data).decode() if isinstance(data, bytes) else data)


def test_pictures_texts_and_rows_are_taken_as_they_are():
    picture = displayed(call("png", png(), "A"))
    assert (picture.type, picture.mime_type, picture.data, picture.title) == ("image", "image/png", png(), "A")
    assert picture.size == (3, 2)
    assert picture.text == ""
    assert displayed(call("jpeg", jpeg(300, 200))).size == (300, 200)
    assert displayed(call("svg", "<svg/>")).mime_type == "image/svg+xml"
    assert displayed(call("markdown", "# a")).text == "# a"
    assert displayed(call("table", '[{"a":1}]')).rows == [{"a": 1}]


@pytest.mark.parametrize(
    "forged",
    [
        call("png", "not base64!"),
        call("png", "AQI"),
        call("png", b"GIF89a"),
        call("jpeg", png()),
        call("audio", "AQID"),
        call("audio", ";base64,AQID"),
        call("audio", "text/html;base64,AQID"),
        call("audio", "audio/wav;base64,not base64!"),
        call("blob", "a/b"),
        call("blob", "a/b;base64,AQI"),
        call("blob", 'a/b"\n;base64,AQID'),
        call("blob", "a/" + "b" * 200 + ";base64,AQID"),
        call("blob", f"a/b;base64,{base64.b64encode(png()).decode()}"),
        call("table", "{}"),
        call("table", "[1]"),
        call("table", "[{]"),
        call("table", "[" * 100_000),
        call("table", "[" + "{}," * 30_000 + "{}]"),
    ],
)
def test_what_only_a_forged_frame_holds_is_malformed(forged):
    with pytest.raises(MalformedFrame):
        displayed(forged)


def test_a_picture_of_impossible_size_becomes_a_note():
    for picture in (png(100_000, 100_000), png(0, 5), jpeg(65_000, 65_000)):
        kind = "png" if picture.startswith(b"\x89") else "jpeg"
        assert displayed(call(kind, picture)).type == "note"
    assert "cannot be read" in displayed(call("png", b"\x89PNG\r\n\x1a\n")).text


def test_a_picture_whose_end_is_missing_becomes_a_note():
    for kind, picture in (("png", png()[:-6]), ("jpeg", jpeg(5, 5)[:-2])):
        assert displayed(call(kind, picture)).text == "A picture was not shown: its end is missing"


def test_a_sound_and_a_blob_are_files_of_their_type():
    sound = displayed(call("audio", "audio/wav;base64,AQID", "A"))
    assert (sound.type, sound.mime_type, sound.data, sound.title) == ("audio", "audio/wav", b"\1\2\3", "A")
    blob = displayed(call("blob", "application/octet-stream;base64,"))
    assert (blob.type, blob.data, blob.text, blob.size, blob.rows) == ("blob", b"", "", None, [])


def test_a_jpeg_of_endless_segments_is_given_up_at_once():
    began = time.thread_time()
    assert picture_size(jpeg(5, 5, b"\xff\xe0\0\x02" * 500_000)) is None
    assert time.thread_time() - began < 0.1
    assert picture_type(b"") is None


def test_a_table_is_markdown_with_bounded_rows_and_columns():
    assert table_text([{"a": 1, "b|c": "x\n| y"}, {"a": None, "d": True}]) == (
        "| a | b\\|c | d |\n| --- | --- | --- |\n| 1 | x \\| y |  |\n|  |  | true |"
    )
    wide = table_text([{str(n): n for n in range(60)}] * 1_500, 1_000_000)
    assert wide.count("\n") == MAX_ROWS + 2
    assert wide.splitlines()[0].count("|") == MAX_COLUMNS + 1
    assert wide.endswith("… of 1500 rows and 60 columns")
    assert table_text([]) == "(an empty table)"
    ragged = table_text([{"a": 1}, {"b": {"c": [1]}}, {}])
    assert ragged == '| a | b |\n| --- | --- |\n| 1 |  |\n|  | {"c":[1]} |\n|  |  |'
    assert table_text([{"a": "x" * 1_000_000}]).endswith(f"| {'x' * MAX_CELL_CHARACTERS}… |")


def test_a_table_as_text_is_bounded_although_its_rows_are_small():
    sparse = table_text([{f"c{n}": 1 for n in range(50)}, *[{}] * 999])
    assert len(sparse) <= MAX_TABLE_BYTES + 500
    assert sparse.endswith("… of 1000 rows and 50 columns")
    assert len(table_text([{"a": "x" * 900}] * 1_000, 2_048).encode()) < 4_096


def test_numbers_of_thousands_of_digits_are_malformed_and_long_numbers_are_not():
    forged = "[" + ",".join(['{"a":' + "9" * 4_299 + "}"] * 400) + "]"
    with pytest.raises(MalformedFrame):
        displayed(call("table", forged))
    row = "{" + ",".join(f'"c{n}":-1.2345678901234567e-300' for n in range(50)) + "}"
    assert len(displayed(call("table", f"[{','.join([row] * 380)}]")).rows) == 380


def test_of_a_title_more_arrives_than_is_shown_and_a_longer_one_has_a_mark():
    assert displayed(call("markdown", "a", "x" * 999)).title == "x" * 999
    assert displayed(call("markdown", "a", "x" * 5_000)).title == "x" * (MAX_TITLE_CHARACTERS - 1) + "…"
