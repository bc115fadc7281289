"""The files of the log and their lines, in both directions, whatever is in them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from cortex.audit.days import (
    Tail,
    after,
    before,
    day_names,
    find,
    latest_name,
    lines,
    lines_backwards,
    point_latest,
    records,
)
from cortex.audit.lines import GENESIS, MAX_LINE_BYTES, NotARecord, parse, sealed

AT = "2026-11-16T11:00:00.000000+00:00"


def line(seq: int, kind: str = "k") -> bytes:
    return sealed(seq, AT, kind, "", GENESIS)[0]


def write(folder: Path, name: str, *parts: bytes) -> None:
    (folder / f"{name}.jsonl").write_bytes(b"".join(parts))


@given(
    st.lists(
        st.sampled_from([b"", b"x", b"y" * 100, b"z" * 5000, b"w" * (MAX_LINE_BYTES + 5), b"v" * 200_000]), max_size=6
    ),
    st.booleans(),
)
def test_backwards_is_forwards_from_the_other_end(texts, is_ended):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        path.write_bytes(b"\n".join(texts) + (b"\n" if is_ended else b""))
        forwards, backwards = list(lines(path)), list(lines_backwards(path))
    assert [(found.start, found.end, found.is_whole) for found in forwards] == [
        (found.start, found.end, found.is_whole) for found in reversed(backwards)
    ]
    for one, other in zip(forwards, reversed(backwards), strict=True):
        assert one.data[:MAX_LINE_BYTES] == other.data[:MAX_LINE_BYTES]
        assert len(one.data) <= MAX_LINE_BYTES + 1
        assert len(other.data) <= one.end - one.start
        assert (len(one.data) > MAX_LINE_BYTES) == (len(other.data) > MAX_LINE_BYTES)


def test_forwards_from_one_place_to_another(tmp_path):
    write(tmp_path, "f", b"one\ntwo\nthree")
    found = list(lines(tmp_path / "f.jsonl", 4, 11))
    assert [(line.data, line.start, line.end, line.is_whole) for line in found] == [
        (b"two", 4, 8, True),
        (b"thr", 8, 11, False),
    ]


def test_only_files_of_days_belong_to_the_log(tmp_path):
    for name in ("2026-11-16", "2026-11-02", "2026-1-1", "notes", "2026-11-16.old"):
        write(tmp_path, name)
    (tmp_path / "head.json").write_text("")
    assert day_names(tmp_path) == ["2026-11-02.jsonl", "2026-11-16.jsonl"]
    assert day_names(tmp_path / "missing") == []


def test_the_link_to_the_newest_file_can_be_moved_also_after_a_kill(tmp_path):
    assert latest_name(str(tmp_path)) is None
    (tmp_path / ".latest").symlink_to("left behind")
    point_latest(tmp_path, "a")
    point_latest(tmp_path, "b")
    assert latest_name(str(tmp_path)) == "b"
    assert [path.name for path in tmp_path.iterdir()] == ["latest"]


@pytest.mark.parametrize("last", [0, 1, 2, 3, 4, 5, 6, 100, None])
def test_the_last_so_many_over_several_files_past_what_cannot_be_read(tmp_path, last):
    write(tmp_path, "2026-11-14", line(1), line(2))
    write(tmp_path, "2026-11-15")
    write(tmp_path, "2026-11-16", line(3), b"foreign\n", line(4), b"\n", line(5), b'{"torn":')
    expected = [1, 2, 3, 4, 5] if last is None else [1, 2, 3, 4, 5][max(0, 5 - last) :]
    assert [record.seq for record in records(tmp_path, last=last)] == expected


def test_a_record_is_found_by_its_number(tmp_path):
    write(tmp_path, "2026-11-14", line(1), line(2))
    write(tmp_path, "2026-11-16", b"foreign\n", line(3), line(4))
    assert [found and found.seq for found in (find(tmp_path, seq) for seq in range(6))] == [None, 1, 2, 3, 4, None]


def test_what_comes_later_is_seen_once_line_by_line_and_into_the_next_day(tmp_path):
    write(tmp_path, "2026-11-15", line(1), line(2))
    tail = Tail.before(tmp_path, 1)
    assert [record.seq for record in tail.news()] == [2]
    assert list(tail.news()) == []
    with (tmp_path / "2026-11-15.jsonl").open("ab") as file:
        file.write(line(3) + line(4)[:20])
        file.flush()
        assert [record.seq for record in tail.news()] == [3]
        file.write(line(4)[20:])
    write(tmp_path, "2026-11-16", line(5))
    write(tmp_path, "2026-11-17", line(6))
    assert [record.seq for record in tail.news()] == [4, 5, 6]
    write(tmp_path, "2026-11-17", b"")
    assert list(tail.news()) == []
    write(tmp_path, "2026-11-17", line(7))
    assert [record.seq for record in tail.news()] == [7]


def test_who_watches_before_there_is_a_log_sees_its_first_record(tmp_path):
    tail = Tail.before(tmp_path / "audit", 0)
    assert list(tail.news()) == []
    (tmp_path / "audit").mkdir()
    write(tmp_path / "audit", "2026-11-15", line(1))
    assert [record.seq for record in tail.news()] == [1]


GOOD = {"seq": "1", "at": f'"{AT}"', "kind": '"k"', "previous": f'"{GENESIS}"', "hash": f'"{GENESIS}"'}


def spelled(**changes: str | None) -> bytes:
    fields = {**GOOD, **changes}
    return ("{" + ",".join(f'"{name}":{value}' for name, value in fields.items() if value is not None) + "}").encode()


def test_the_smallest_record():
    assert parse(spelled()).facts == {}


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\0" * 100, b"[]", b"1", b"null", b"{", b'"x"', b"\xff\xfe", spelled().decode().encode("utf-16")),
        *(b"[" * 10_000, b'{"a":' * 2000, b"1" * 5000, b" " * (MAX_LINE_BYTES + 1)),
        *(spelled(**{name: None}) for name in GOOD),
        *(spelled(seq=value) for value in ("0", "-1", "true", '"1"', "1.0", "null", "9223372036854775808")),
        *(spelled(at=value) for value in ("1", '"today"', '"2026-11-16"', '"0001-01-01T00:00:00+14:00"', "null")),
        *(spelled(kind=value) for value in ('""', '"K"', '"a b"', '"\\u001b[2J"', "1", f'"{"k" * 41}"', '"k\\n"')),
        *(spelled(previous=value) for value in ('""', "1", f'"{"G" * 64}"', f'"{"a" * 65}"')),
        *(spelled(hash=value) for value in ('""', "1", '"../../../etc/passwd"')),
    ],
    ids=lambda data: repr(data[:30]),
)
def test_what_is_none_of_our_lines_is_not_taken_for_one(data):
    with pytest.raises(NotARecord):
        parse(data)


def test_records_before_and_after_a_number_are_found_without_reading_the_rest(tmp_path):
    write(tmp_path, "2026-11-15", *(line(seq) for seq in range(1, 2001)))
    write(tmp_path, "2026-11-16", *(line(seq) for seq in range(2001, 2500)), b"not a record\n", line(2500))
    for seq in (1, 2, 700, 2000, 2001, 2499, 2500):
        assert [found.seq for found, _ in zip(before(tmp_path, seq), range(3), strict=False)] == [
            number for number in (seq - 1, seq - 2, seq - 3) if number > 0
        ]
        assert [found.seq for found, _ in zip(after(tmp_path, seq), range(2), strict=False)] == [
            number for number in (seq + 1, seq + 2) if number <= 2500
        ]
        assert find(tmp_path, seq).seq == seq
    assert next(before(tmp_path)).seq == 2500
    assert find(tmp_path, 2501) is None
    assert list(before(tmp_path / "missing", 5)) == []


def test_the_place_of_a_record_is_found_by_halving(tmp_path, monkeypatch):
    write(tmp_path, "2026-11-15", *(line(seq) for seq in range(1, 20_001)))
    read = []
    monkeypatch.setattr("cortex.audit.days.parse", lambda data: read.append(1) or parse(data))
    assert next(before(tmp_path, 100)).seq == 99
    assert len(read) < 1_000
