"""Walks through pydantic's core schemas: what a type is made of, as pydantic itself sees it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

# What is not a part of the type.
_ASIDE = frozenset({"cls", "config", "default", "expected", "members", "metadata", "serialization"})


def taken_apart(model: Schema) -> tuple[dict[str, Schema], list[Schema]]:
    """The fields of a model, and what is defined beside it because it refers to itself."""
    definitions: list[Schema] = []
    if model["type"] == "definitions":
        definitions, model = model["definitions"], model["schema"]
    return model["schema"]["fields"], definitions


def parts(schema: Schema | list[Schema]) -> Iterator[Schema]:
    """The schema and everything in it."""
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield part
            waiting.extend(inner for key, inner in part.items() if key not in _ASIDE)
        elif isinstance(part, list | tuple):
            waiting.extend(part)
