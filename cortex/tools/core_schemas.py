"""Walks through pydantic's core schemas, to see what a type is made of. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

# Keys that are not part of the type.
_ASIDE = frozenset({"cls", "config", "default", "expected", "members", "metadata", "serialization"})


def taken_apart(model: Schema) -> tuple[dict[str, Schema], list[Schema]]:
    """The fields of a model, and the definitions beside it for types that refer to themselves."""
    definitions: list[Schema] = []
    if model["type"] == "definitions":
        definitions, model = model["definitions"], model["schema"]
    return model["schema"]["fields"], definitions


def parts(schema: Schema | list[Schema]) -> Iterator[Schema]:
    """The schema and all schemas inside it."""
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield part
            waiting.extend(inner for key, inner in part.items() if key not in _ASIDE)
        elif isinstance(part, list | tuple):
            waiting.extend(part)
