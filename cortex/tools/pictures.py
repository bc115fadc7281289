"""Bytes and pictures as arguments and results of Python tools. JSON has no bytes: they travel as base64, and the places
that hold them are told beside the JSON, so that code gets a Uint8Array there and nothing else can pass for one."""

from __future__ import annotations

import binascii
import typing
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from types import UnionType
from typing import Annotated, Any, NotRequired, Required, Union

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    EncodedBytes,
    TypeAdapter,
    WithJsonSchema,
    with_config,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema, from_json, to_json
from typing_extensions import ReadOnly, TypedDict, is_typeddict

from sandbox import Displayed, ReadyJson, display_note, picture_type, shown_picture

from .schemas import BYTES_SCHEMA
from .validation_work import NOT_OF_THE_TYPE

# A result with more values is taken as it is: looking at each of a million rows would stall the host.
MAX_LOOKED_AT = 10_000
MAX_DEPTH = 20
MAX_PICTURES = 20
"""Of one result that a model is shown. Words stand for the others."""
_ARRAYS = (list, tuple, set, frozenset, deque)


_PICTURE_SCHEMA = {
    "type": "object",
    "properties": {"type": {"const": "image"}, "mimeType": {"type": "string"}, "data": BYTES_SCHEMA},
    "required": ["data"],
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, as an argument or result of a Python tool. In code it is `{ type: "image", mimeType, data }` with a
    Uint8Array."""

    data: bytes
    mime_type: str = "image/png"

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            _picture_of,
            core_schema.is_instance_schema(cls),
            serialization=core_schema.plain_serializer_function_ser_schema(_parts),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        return _PICTURE_SCHEMA


def _parts(picture: Picture) -> dict[str, Any]:
    return {"type": "image", "mimeType": picture.mime_type, "data": picture.data}


def _bytes_of(value: Any) -> Any:
    """The bytes of a base64 text, and bytes as they are. Raises ValueError for anything else."""
    if isinstance(value, bytes):
        return value
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except (ValueError, TypeError) as error:
        raise PydanticCustomError("bytes", "takes a Uint8Array, or bytes as base64") from error


def _picture_of(value: Any) -> Any:
    if isinstance(value, str):
        value = {"data": value}
    if not isinstance(value, dict):
        return value
    data, kind = _bytes_of(value.get("data")), value.get("mimeType")
    return Picture(data, kind if isinstance(kind, str) else picture_type(data) or "application/octet-stream")


# Also where nothing tells the type.
Picture.__pydantic_serializer__ = TypeAdapter(Picture).serializer  # type: ignore[attr-defined]
_Bytes = Annotated[bytes, BeforeValidator(_bytes_of), WithJsonSchema(BYTES_SCHEMA)]
_UNIONS = {Union, UnionType}
_GENERICS = {list, tuple, dict, set, frozenset, Sequence, MutableSequence, Mapping, MutableMapping, Set, Required}
_GENERICS |= {NotRequired, ReadOnly}


def with_bytes(annotation: Any, names: Mapping[str, Any] | None = None) -> Any:
    """The annotation with `bytes` as they travel in JSON, also inside unions, lists, dicts and the like, dataclasses,
    TypedDicts and pydantic models. `names` are additional names for the types of their fields. Where this finds no
    bytes there may be some yet: see `has_lost_bytes`."""
    return _with_bytes(annotation, names or {}, ())


def _with_bytes(annotation: Any, names: Mapping[str, Any], above: tuple[Any, ...]) -> Any:
    if annotation is bytes:
        return _Bytes
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        # Base64Bytes and the like read the text themselves.
        first = parts[0] if any(isinstance(part, EncodedBytes) for part in parts) else None
        first = first or _with_bytes(parts[0], names, above)
        return annotation if first is parts[0] else Annotated[(first, *parts[1:])]
    if isinstance(annotation, type) and origin is None and annotation not in above:
        fields = _fields(annotation, names)
        changed = {name: _with_bytes(of, names, (*above, annotation)) for name, of in fields.items()}
        changed = {name: of for name, of in changed.items() if of is not fields[name]}
        return Annotated[annotation, BeforeValidator(_Fields(annotation, changed))] if changed else annotation
    if origin not in _UNIONS | _GENERICS:
        return annotation
    inner = tuple(part if part is ... else _with_bytes(part, names, above) for part in parts)
    if all(new is old for new, old in zip(inner, parts, strict=True)):
        return annotation
    make: Any = Union if origin in _UNIONS else origin
    return make[inner if len(inner) > 1 or origin is tuple else inner[0]]


def _fields(of: type, names: Mapping[str, Any]) -> dict[str, Any]:
    """The types of the fields of a class, by the names that they have in JSON."""
    known = of.__dict__.get("__pydantic_fields__")
    if known is not None:
        return {
            name: field.annotation
            for own, field in known.items()
            if not any(isinstance(part, EncodedBytes) for part in field.metadata)
            for name in {own, *_aliases(field.validation_alias or field.alias)}
        }
    if not (is_typeddict(of) or is_dataclass(of)) or of is Picture:
        return {}
    try:
        return typing.get_type_hints(of, localns=dict(names), include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {}


def _aliases(alias: Any) -> list[str]:
    if isinstance(alias, AliasChoices):
        return [name for name in alias.choices if isinstance(name, str)]
    return [alias] if isinstance(alias, str) else []


class _Fields:
    """Reads the fields of a class that hold bytes. The class itself then checks all of them, and gets bytes."""

    def __init__(self, of: type, fields: Mapping[str, Any]) -> None:
        self.names = frozenset(fields)
        self._name = of.__name__
        make: Any = TypedDict
        given = make(of.__name__, {name: _optional(annotation) for name, annotation in fields.items()})
        self.reader: TypeAdapter[Any] = TypeAdapter(with_config(ConfigDict(extra="allow"))(given))

    def __repr__(self) -> str:
        # In messages about unions.
        return self._name

    def __call__(self, value: Any) -> Any:
        return self.reader.validate_python(value) if isinstance(value, dict) else value


def _optional(annotation: Any) -> Any:
    while typing.get_origin(annotation) in {Required, NotRequired, ReadOnly}:
        annotation = typing.get_args(annotation)[0]
    return NotRequired[annotation]


def has_lost_bytes(schema: Any) -> bool:
    """Whether a core schema of pydantic has bytes that `with_bytes` did not find, because it does not look into that
    type. Their base64 would be taken for the bytes themselves."""
    defined: dict[str, Any] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting: list[tuple[Any, frozenset[str]]] = [(schema, frozenset())]
    while waiting:
        part, read = waiting.pop()  # `read`: the fields that are read before the class gets them
        if isinstance(part, list | tuple):
            waiting.extend((inner, read) for inner in part)
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        call = part["function"].get("function") if isinstance(part.get("function"), dict) else None
        if kind == "bytes":
            return True
        if kind == "definitions":
            defined |= {definition["ref"]: definition for definition in part["definitions"]}
            waiting.append((part["schema"], read))
        elif kind == "definition-ref":
            if (again := (part["schema_ref"], read)) not in seen:
                seen.add(again)
                waiting.append((defined.get(part["schema_ref"]), read))
        elif isinstance(call, _Fields):
            waiting += [(call.reader.core_schema, frozenset()), (part["schema"], call.names)]
        elif kind in {"model-fields", "typed-dict", "dataclass-args"}:
            of = (
                part["fields"].items() if isinstance(part["fields"], dict) else [(f["name"], f) for f in part["fields"]]
            )
            waiting.extend((inner, frozenset()) for name, inner in of if name not in read)
            waiting.append((part.get("extras_schema"), frozenset()))
        elif call is not _bytes_of and not isinstance(getattr(call, "__self__", None), EncodedBytes):
            waiting.extend((inner, read) for key, inner in part.items() if key not in NOT_OF_THE_TYPE)
    return False


def without_bytes(value: Any, adapter: TypeAdapter[Any]) -> tuple[Any, tuple[tuple[str | int, ...], ...]] | None:
    """The value with base64 for bytes and pictures, and the places where it has some; None if it has none. Objects that
    IPython shows as PNG, such as those of Pillow, are pictures."""
    if isinstance(value, str | int | float | None) or not _has_bytes(value):
        return None
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
            return look(_parts(part), path)
        if isinstance(part, Mapping):
            return {key: look(inner, (*path, key)) if isinstance(key, str) else inner for key, inner in part.items()}
        if isinstance(part, _ARRAYS):
            return [look(inner, (*path, at)) for at, inner in enumerate(part)]
        draw: Callable[[], Any] | None = getattr(part, "_repr_png_", None) if _may_draw(part) else None
        return part if draw is None or not isinstance(png := draw(), bytes) else look(Picture(png), path)

    # Objects become dicts as their classes say: names, fields left out, fields with a serializer.
    looked_at = look(adapter.dump_python(value, by_alias=True, warnings=False), ())
    return (looked_at, tuple(places)) if places else None


def _has_bytes(value: Any) -> bool:
    waiting, left = [value], MAX_LOOKED_AT
    while waiting and left > 0:
        part = waiting.pop()
        left -= 1
        if isinstance(part, bytes | bytearray | memoryview | Picture) or _may_draw(part):
            return True
        waiting.extend(islice(_inside(part), left))
    return False


def _inside(part: Any) -> Iterable[Any]:
    if isinstance(part, Mapping):
        return part.values()
    if isinstance(part, _ARRAYS):
        return part
    if isinstance(part, BaseModel):
        return [*part.__dict__.values(), *(part.model_extra or {}).values()]
    if is_dataclass(part) and not isinstance(part, type):
        return [getattr(part, field.name, None) for field in fields(part)]
    return ()


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
