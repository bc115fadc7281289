"""Bytes and pictures as arguments and results of Python tools. JSON has no bytes: they travel as base64, and the places
that hold them are told beside the JSON, so that code gets a Uint8Array there and nothing else can pass for one."""

from __future__ import annotations

import binascii
import typing
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import from_json, to_json

from sandbox import Displayed, ReadyJson, display_note, picture_type, shown_picture

# A result with more values is taken as it is: looking at each of a million rows would stall the host.
MAX_LOOKED_AT = 10_000
MAX_DEPTH = 20
MAX_PICTURES = 20
"""Of one result that a model is shown. Words stand for the others."""
_BYTES_SCHEMA = {"type": "string", "format": "byte", "contentEncoding": "base64"}


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, as an argument or result of a Python tool. In code it is `{ type: "image", mimeType, data }` with a
    Uint8Array."""

    data: bytes
    mime_type: str = "image/png"


_PICTURE_SCHEMA = {
    "type": "object",
    "properties": {"type": {"const": "image"}, "mimeType": {"type": "string"}, "data": _BYTES_SCHEMA},
    "required": ["data"],
}


def _bytes_of(value: Any) -> Any:
    """The bytes of a base64 text. Raises ValueError for another text."""
    if not isinstance(value, str):
        return value
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except ValueError as error:
        raise ValueError("bytes are sent as base64") from error


def _picture_of(value: Any) -> Any:
    if isinstance(value, str):
        value = {"data": value}
    if not isinstance(value, dict):
        return value
    data, kind = _bytes_of(value.get("data")), value.get("mimeType")
    if not isinstance(data, bytes):
        raise ValueError("the data of a picture is sent as base64")
    return Picture(data, kind if isinstance(kind, str) else picture_type(data) or "application/octet-stream")


_Bytes = Annotated[bytes, BeforeValidator(_bytes_of), WithJsonSchema(_BYTES_SCHEMA)]
_Picture = Annotated[Picture, BeforeValidator(_picture_of), WithJsonSchema(_PICTURE_SCHEMA)]


def with_bytes(annotation: Any) -> Any:
    """The annotation with `bytes` and `Picture` as they travel in JSON, also inside unions, lists, tuples and dicts."""
    if annotation is bytes:
        return _Bytes
    if annotation is Picture:
        return _Picture
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        first = with_bytes(parts[0])
        return annotation if first is parts[0] else Annotated[(first, *parts[1:])]
    if origin not in {Union, UnionType, list, tuple, dict}:
        return annotation
    changed = tuple(part if part is ... else with_bytes(part) for part in parts)
    if all(new is old for new, old in zip(changed, parts, strict=True)):
        return annotation
    make: Any = Union if origin in {Union, UnionType} else origin
    return make[changed]


def without_bytes(value: Any) -> tuple[Any, tuple[tuple[str | int, ...], ...]]:
    """The value with base64 for bytes and pictures, and the places where it has some. Looks into plain dicts, lists and
    tuples. Objects that IPython shows as PNG, such as those of Pillow, are pictures."""
    left = MAX_LOOKED_AT
    places: list[tuple[str | int, ...]] = []

    def look(part: Any, path: tuple[str | int, ...]) -> Any:
        nonlocal left
        left -= 1
        if left < 0 or len(path) > MAX_DEPTH:
            return part
        if isinstance(part, bytes | bytearray | memoryview):
            places.append(path)
            return b64encode(part).decode()
        if isinstance(part, Picture):
            return {"type": "image", "mimeType": part.mime_type, "data": look(part.data, (*path, "data"))}
        if isinstance(part, dict):
            return {key: look(inner, (*path, key)) if isinstance(key, str) else inner for key, inner in part.items()}
        if type(part) in {list, tuple}:
            return [look(inner, (*path, at)) for at, inner in enumerate(part)]
        draw: Callable[[], Any] | None = getattr(part, "_repr_png_", None) if _may_draw(part) else None
        return part if draw is None or not isinstance(png := draw(), bytes) else look(Picture(png), path)

    if isinstance(value, str | int | float | None):
        return value, ()
    looked_at = look(value, ())
    # Unchanged where it holds none: the serializer of its own type knows it better.
    return (looked_at, tuple(places)) if places else (value, ())


def _may_draw(part: Any) -> bool:
    return not isinstance(part, type) and hasattr(type(part), "_repr_png_")


def pictures_of(result: ReadyJson) -> tuple[bytes, tuple[Displayed, ...]]:
    """A tool's result as JSON in which a few words stand for each picture, and the pictures: a model cannot read
    base64, and it would fill its context."""
    if not result.bytes_at:
        return result.data, ()
    root = {"result": from_json(result.data)}
    shown: list[Displayed] = []
    left_out = 0
    for path in result.bytes_at:
        *above, last = "result", *path
        place: Any = root
        for step in above:
            place = place[step]
        data = binascii.a2b_base64(place[last])
        kind = picture_type(data)
        if kind is None:
            continue
        place[last] = f"[{kind}, {len(data)} bytes]"
        left_out += len(shown) == MAX_PICTURES
        if len(shown) < MAX_PICTURES:
            shown.append(shown_picture(data))
    if left_out:
        shown.append(display_note(f"{left_out} more pictures were not shown: of a result at most {MAX_PICTURES} are"))
    return to_json(root["result"]), tuple(shown)
