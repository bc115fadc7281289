"""Simplifies a JSON Schema for models: no titles (they repeat the names), no extra properties, always equal bytes."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import PydanticSerializationError, core_schema, to_json

BYTES_SCHEMA = {"type": "string", "format": "byte", "contentEncoding": "base64"}
"""Of bytes, which travel in JSON as base64; code is told of a Uint8Array."""
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"})


class _Plain(GenerateJsonSchema):
    # A default that JSON cannot express is left out of the schema; the function still has it.
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as its parent has it

    def bytes_schema(self, schema: core_schema.BytesSchema) -> dict[str, Any]:  # noqa: ARG002 - as its parent has it
        return dict(BYTES_SCHEMA)

    def encode_default(self, dft: Any) -> Any:
        # The order of a set differs between processes, and would change the bytes that a model's cache compares.
        encoded = super().encode_default(_ordered(dft))
        text = to_json(encoded, inf_nan_mode="constants")
        if b"NaN" in text or b"Infinity" in text:
            raise PydanticSerializationError("a number that JSON does not have")
        return encoded


def _ordered(value: Any) -> Any:
    """The value with every set in it replaced by a sorted list."""
    match value:
        case set() | frozenset():
            return sorted((_ordered(part) for part in value), key=to_json)
        case list() | tuple():
            return [_ordered(part) for part in value]
        case dict():
            return {key: _ordered(part) for key, part in value.items()}
        case BaseModel():
            plain = value.model_dump(by_alias=True)
            ordered = _ordered(plain)
            return ordered if ordered != plain else value
    return value


def schema_of(adapter: TypeAdapter[Any], mode: JsonSchemaMode) -> dict[str, Any]:
    """The JSON Schema of a type. Raises pydantic's errors for types that JSON cannot describe."""
    schema = adapter.json_schema(mode=mode, schema_generator=_Plain)
    plain: dict[str, Any] = _tidy(schema, close=mode == "validation")
    return plain


def _is_left_out(key: str, value: str) -> bool:
    # The sandbox checks patterns in linear time, without lookaround; the function's own check still applies them.
    return key == "title" or (key == "pattern" and any(look in value for look in ("(?=", "(?!", "(?<")))


def _tidy(schema: Any, *, close: bool) -> Any:
    """Remove titles and close objects. A property may be named "title", so only schemas lose theirs."""
    if not isinstance(schema, dict):
        return schema
    tidy: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            tidy[key] = {name: _tidy(part, close=close) for name, part in value.items()}
        elif key in _LISTS and isinstance(value, list):
            tidy[key] = [_tidy(part, close=close) for part in value]
        elif key in _SINGLE:
            tidy[key] = _tidy(value, close=close)
        elif not (isinstance(value, str) and _is_left_out(key, value)):
            tidy[key] = value
    if close and "properties" in tidy:
        tidy.setdefault("additionalProperties", False)
    return tidy
