"""The JSON Schema of values that were seen, without the values: what a habit's runs returned. Pure and bounded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from pydantic_core import to_json

Schema = dict[str, Any]

MAX_SCHEMA_CHARS = 1_500
_MAX_DEPTH = 5
_MAX_ITEMS = 50
_MAX_PROPERTIES = 24
_MAX_LOOKED_AT = 2_000
# Other keys of an object are data, like a name or an address, and nothing that a program could promise.
_NAME = re.compile(r"[A-Za-z_$][\w$]{0,40}", re.ASCII)


def schema_of_value(value: Any) -> Schema:
    """The schema of one JSON value: types and names of members. Of long lists only the first items are looked at."""
    return _bounded(_Looking().schema_of(value, 0))


def joined_schema(schemas: Iterable[Schema]) -> Schema | None:
    """A schema that fits whatever fits one of these; None where they agree in nothing."""
    found = [*schemas]
    return (_bounded(reduce(_joined, found)) or None) if found else None


# In this order: a boolean is a number in Python.
_SCALARS: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "number": (int, float),
    "string": (str,),
}


class _Looking:
    """One look at a value. It counts the parts, because the value may be megabytes."""

    def __init__(self) -> None:
        self._left = _MAX_LOOKED_AT

    def schema_of(self, value: Any, depth: int) -> Schema:
        self._left -= 1
        if isinstance(value, list | tuple):
            return self._of_items(value[:_MAX_ITEMS], depth + 1)
        if isinstance(value, Mapping):
            return self._of_members(value, depth + 1)
        kind = next((name for name, types in _SCALARS.items() if isinstance(value, types)), None)
        return {} if kind is None else {"type": kind}

    def _of_items(self, items: Iterable[Any], depth: int) -> Schema:
        found = [self.schema_of(item, depth) for item in items if self._left > 0 and depth < _MAX_DEPTH]
        return {"type": "array", **({"items": reduce(_joined, found)} if found else {})}

    def _of_members(self, members: Mapping[Any, Any], depth: int) -> Schema:
        plain = 0 < len(members) <= _MAX_PROPERTIES and all(_NAME.fullmatch(str(name)) for name in members)
        if not plain or depth >= _MAX_DEPTH or self._left <= 0:
            return {"type": "object"}
        properties = {str(name): self.schema_of(member, depth) for name, member in members.items()}
        return {"type": "object", "properties": properties, "required": list(properties)}


def _joined(one: Schema, other: Schema) -> Schema:
    if one == other:
        return one
    kinds = _kinds(one) | _kinds(other)
    plain = kinds - {"null"}
    if not one or not other or len(plain) != 1:
        return {}
    # Of null alone nothing else is known.
    known = [schema for schema in (one, other) if _kinds(schema) & plain]
    [kind] = plain
    joined = {**_parts_joined(kind, known), "type": kind}
    return {**joined, "type": [kind, "null"]} if "null" in kinds else joined


def _parts_joined(kind: str, known: list[Schema]) -> Schema:
    if len(known) == 1:
        return known[0]
    if kind == "array":
        items = [schema["items"] for schema in known if "items" in schema]
        return {"items": reduce(_joined, items)} if items else {}
    return _members_joined(*known) if kind == "object" else {}


def _members_joined(one: Schema, other: Schema) -> Schema:
    mine, theirs = one.get("properties", {}), other.get("properties", {})
    common = [name for name in mine if name in theirs]
    names = dict.fromkeys([*mine, *theirs])
    # Names that are others each time are data, such as the words of a text that were counted.
    if len(names) > _MAX_PROPERTIES or 2 * len(common) < len(names):
        return {}
    always = {*one.get("required", ())} & {*other.get("required", ())}
    properties = {
        name: _joined(mine[name], theirs[name]) if name in mine and name in theirs else mine.get(name, theirs.get(name))
        for name in names
    }
    return {"properties": properties, "required": [name for name in names if name in always]}


def _kinds(schema: Schema) -> set[str]:
    kinds = schema.get("type", ())
    return {kinds} if isinstance(kinds, str) else {*kinds}


def _bounded(schema: Schema) -> Schema:
    """The schema, or of a large one its type alone: the owner reads it."""
    if len(to_json(schema)) <= MAX_SCHEMA_CHARS:
        return schema
    return {"type": schema["type"]} if "type" in schema else {}
