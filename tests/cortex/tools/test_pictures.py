"""Python tools that take and return bytes and pictures."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from cortex import Picture, Toolbox
from cortex.tools.pictures import MAX_PICTURES, pictures_of
from sandbox import ReadyJson, ToolError, typescript_of
from tests.sandbox.contracts.test_displays import png

PNG = base64.b64encode(png()).decode()


def tool_of(function):
    toolbox = Toolbox()
    toolbox.tool(function)
    return toolbox.get(function.__name__)


async def test_a_tool_takes_bytes_as_base64_and_returns_them_with_their_place():
    def flip(data: bytes, more: list[bytes] | None = None) -> bytes:
        """Flip it."""
        return data[::-1] + b"".join(more or [])

    result = await tool_of(flip).call_json({"data": "AQI=", "more": ["Aw=="]})
    assert result == ReadyJson(b'"AgED"', ((),))


async def test_bytes_anywhere_in_plain_lists_and_dicts_are_found():
    def f() -> dict[str, Any]:
        return {"a": [1, b"\xff"], "b": {"c": bytearray(b"\x01")}, "d": "AQI=", 5: b"x"}

    result = await tool_of(f).call_json({})
    assert result.bytes_at == (("a", 1), ("b", "c"))
    assert b'"d":"AQI="' in result.data


async def test_a_picture_goes_both_ways():
    def mirror(picture: Picture) -> Picture:
        assert picture.data == png()
        return picture

    tool = tool_of(mirror)
    expected = ReadyJson(b'{"type":"image","mimeType":"image/png","data":"%b"}' % PNG.encode(), (("data",),))
    assert await tool.call_json({"picture": {"type": "image", "mimeType": "image/png", "data": PNG}}) == expected
    assert await tool.call_json({"picture": {"data": PNG}}) == expected
    assert "data: Uint8Array" in typescript_of([tool.declaration])


async def test_an_object_that_shows_itself_as_png_is_a_picture():
    class Drawn:
        def _repr_png_(self):
            return png()

    def draw():
        return Drawn()

    result = await tool_of(draw).call_json({})
    assert result.bytes_at == (("data",),)


async def test_what_is_no_base64_is_refused():
    def f(data: bytes) -> int:
        return len(data)

    for wrong in ("hello!", "AQI", 5, None):
        with pytest.raises(ToolError, match="data"):
            await tool_of(f).call({"data": wrong})


async def test_a_result_of_a_million_values_is_not_searched_for_bytes():
    def f() -> list[int]:
        return list(range(1_000_000))

    assert (await tool_of(f).call_json({})).bytes_at == ()


def test_for_a_model_words_stand_for_pictures_and_other_bytes_stay():
    data, shown = pictures_of(ReadyJson(b'{"a":"%b","b":"AQI="}' % PNG.encode(), (("a",), ("b",))))
    assert data == b'{"a":"[image/png, %d bytes]","b":"AQI="}' % len(png())
    assert [item.data for item in shown] == [png()]
    assert pictures_of(ReadyJson(b"1")) == (b"1", ())


def test_a_damaged_picture_of_a_tool_is_a_note_and_no_picture():
    cut = base64.b64encode(png()[:-6])
    data, [note] = pictures_of(ReadyJson(b'"%b"' % cut, ((),)))
    assert data == b'"[image/png, %d bytes]"' % len(png()[:-6])
    assert (note.type, note.text) == ("note", "A picture was not shown: its end is missing")


async def test_of_a_result_with_thousands_of_pictures_a_model_is_shown_a_few():
    def photos() -> list[Picture]:
        """Photos."""
        return [Picture(png())] * 2_000

    data, shown = pictures_of(await tool_of(photos).call_json({}))
    assert [item.type for item in shown] == ["image"] * MAX_PICTURES + ["note"]
    assert "1980 more pictures" in shown[-1].text
    assert PNG.encode() not in data
