"""Python tools that take and return bytes and pictures."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

import pytest
from pydantic import Base64Bytes, BaseModel, Field, SecretBytes, field_serializer
from pydantic_core import from_json
from typing_extensions import TypedDict

from cortex import Picture, Toolbox
from cortex.catalogue.built_in import BUILT_IN
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


@dataclass
class Sheet:
    data: bytes
    name: str = ""


class Page(BaseModel):
    data: bytes = Field(alias="rawData")
    photo: Picture | None = None


class Row(TypedDict):
    data: NotRequired[bytes]
    sheets: NotRequired[list[Sheet]]


class Pair(NamedTuple):
    left: bytes
    right: int


class Tree(BaseModel):
    data: bytes
    below: list[Tree] = []


async def test_bytes_in_dataclasses_models_typed_dicts_and_sequences_arrive_as_bytes():
    got: list[Any] = []

    def take(
        sheet: Sheet,
        page: Page,
        row: Row,
        parts: Sequence[bytes],
        by_name: Mapping[str, Page | None],
        other: Sheet | None = None,
    ) -> None:
        got.extend([sheet, page, row, parts, by_name, other])

    tool = tool_of(take)
    await tool.call(
        {
            "sheet": {"data": "AQL/", "name": "AQL/"},
            "page": {"rawData": "AQL/", "photo": {"type": "image", "mimeType": "image/png", "data": PNG}},
            "row": {"data": "AQL/", "sheets": [{"data": "AQL/"}]},
            "parts": ["AQL/"],
            "by_name": {"a": {"rawData": "AQL/"}, "b": None},
            "other": {"data": "AQL/"},
        }
    )
    data = b"\x01\x02\xff"
    page = Page(rawData=data)
    assert got[0] == Sheet(data, "AQL/")
    assert got[1] == Page(rawData=data, photo=Picture(png()))
    assert got[2:] == [{"data": data, "sheets": [Sheet(data)]}, [data], {"a": page, "b": None}, Sheet(data)]
    assert typescript_of([tool.declaration]).count("Uint8Array") == 5
    with pytest.raises(ToolError, match=r"row\.sheets\.0\.data: takes a Uint8Array"):
        await tool.call({"sheet": {"data": ""}, "page": {"rawData": ""}, "row": {"sheets": [{"data": "?"}]}})


async def test_bytes_in_objects_that_a_tool_returns_are_found():
    def objects() -> tuple[Sheet, Page, Row, Pair, list[Sheet], Mapping[str, bytes], Tree]:
        """Objects."""
        sheet = Sheet(b"\x00\xff")
        tree = Tree(data=b"abc", below=[Tree(data=b"d")])
        return (
            sheet,
            Page(rawData=b"abc", photo=Picture(png())),
            {"data": b"abc"},
            Pair(b"abc", 1),
            [sheet],
            MappingProxyType({"a": b"abc"}),
            tree,
        )

    tool = tool_of(objects)
    result = await tool.call_json({})
    assert result.bytes_at == (
        (0, "data"),
        (1, "rawData"),
        (1, "photo", "data"),
        (2, "data"),
        (3, 0),
        (4, 0, "data"),
        (5, "a"),
        (6, "data"),
        (6, "below", 0, "data"),
    )
    value = from_json(result.data)
    assert (value[0], value[3]) == ({"data": "AP8=", "name": ""}, ["YWJj", 1])
    assert value[1] == {"rawData": "YWJj", "photo": {"type": "image", "mimeType": "image/png", "data": PNG}}
    assert "data: Uint8Array" in typescript_of([tool.declaration])


async def test_a_field_that_its_class_writes_as_text_stays_text():
    class Hex(BaseModel):
        data: bytes

        @field_serializer("data")
        def hexed(self, data: bytes) -> str:
            return data.hex()

    def hexed() -> Hex:
        return Hex(data=b"\xff")

    tool = tool_of(hexed)
    assert await tool.call_json({}) == ReadyJson(b'{"data":"ff"}')


def test_bytes_where_they_cannot_be_told_from_text_are_refused_at_registration():
    def a_tree(tree: Tree) -> None: ...

    def a_pair(pair: Pair) -> None: ...

    def a_secret(secret: SecretBytes) -> None: ...

    for function in (a_tree, a_pair, a_secret):
        with pytest.raises(ValueError, match=r'parameter "\w+" has bytes where .* use bytes in a list'):
            tool_of(function)


async def test_a_wrong_value_for_bytes_is_told_what_to_send():
    def rev(data: bytes) -> bytes:
        return data[::-1]

    tool = tool_of(rev)
    for wrong in ("hello", [1, 2, 3], 5):
        with pytest.raises(ToolError, match="rev: data: takes a Uint8Array, or bytes as base64"):
            await tool.call({"data": wrong})


async def test_bytes_that_a_class_reads_itself_and_unions_of_classes_are_read_once():
    class Coded(BaseModel):
        kind: Literal["coded"]
        data: Base64Bytes

    class Plain(BaseModel):
        kind: Literal["plain"]
        data: bytes

    got: list[Any] = []

    def either(item: Annotated[Coded | Plain, Field(discriminator="kind")], other: Coded | Plain) -> None:
        got.extend([item.data, other.data])

    toolbox = Toolbox()
    either.__annotations__ = {
        "item": Annotated[Coded | Plain, Field(discriminator="kind")],
        "other": Coded | Plain,
        "return": None,
    }
    toolbox.tool(either)
    tool = toolbox.get("either")
    await tool.call({"item": {"kind": "coded", "data": "AQL/"}, "other": {"kind": "plain", "data": "AQL/"}})
    await tool.call({"item": {"kind": "plain", "data": "AQL/"}, "other": {"kind": "coded", "data": "AQL/"}})
    assert got == [b"\x01\x02\xff"] * 4
    with pytest.raises(ToolError) as caught:
        await tool.call({"item": {"kind": "plain", "data": ""}, "other": {"kind": "plain", "data": "?"}})
    assert "takes a Uint8Array" in str(caught.value)
    assert "object at 0x" not in str(caught.value)


def test_the_declaration_of_display_has_what_tools_give_and_the_types_that_the_harness_takes():
    declared = BUILT_IN["display"]
    assert "{ type: string; mimeType: string; data: Uint8Array }" in declared
    page = (Path(__file__).parents[3] / "docs" / "pictures.md").read_text()
    said = page.split("`options` are")[1].split("`display` returns")[0]
    types = declared.split("title?: string; type?: ")[1].split(" }")[0].split(" | ")
    assert {f"`{kind}`" for kind in types} == set(re.findall(r'`"\w+"`', said))
