"""Collects the words by which a tool is found: its name, its description and its parameters. Pure and bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sandbox import ToolDeclaration

# A server may describe its tools at any length, and each change of its list would cost time for every character.
MAX_NAME_CHARACTERS = 200
MAX_DESCRIPTION_CHARACTERS = 4_000
MAX_PARAMETER_CHARACTERS = 4_000
_MAX_TEXTS = 400
_MAX_SCHEMAS = 200


class ToolText(NamedTuple):
    """The searchable text of one tool."""

    name: str
    description: str
    parameters: str


def text_of_tool(declaration: ToolDeclaration) -> ToolText:
    """The text of a tool. Works for any schema, because schemas come from strangers: invalid parts are left out."""
    description = declaration.description
    if declaration.tool and declaration.tool not in declaration.name:
        # The name was cut to fit; the full name is searched, too.
        description = f"{declaration.tool[:MAX_NAME_CHARACTERS]} {description}"
    texts: list[str] = []
    left = MAX_PARAMETER_CHARACTERS
    for text in islice(_texts(declaration.input_schema), _MAX_TEXTS):
        texts.append(text[:left])
        left -= len(text) + 1
        if left <= 0:
            break
    return ToolText(declaration.name, description[:MAX_DESCRIPTION_CHARACTERS], " ".join(texts))


def _texts(schema: object) -> Iterator[str]:
    """The names of parameters, their descriptions, and the values of enums; outer schemas first."""
    waiting: list[object] = [schema]
    for number in range(_MAX_SCHEMAS):
        if number >= len(waiting):
            return
        found = waiting[number]
        if isinstance(found, Mapping):
            yield from _own_texts(found, is_outermost=number == 0)
            # No more are listed than are read.
            waiting.extend(islice(_below(found), _MAX_SCHEMAS))


def _own_texts(schema: Mapping[str, Any], *, is_outermost: bool) -> Iterator[str]:
    # The description of the outermost schema repeats the one of the tool, or is missing.
    if not is_outermost and isinstance(schema.get("description"), str):
        yield schema["description"]
    choices = schema.get("enum")
    if isinstance(choices, list):
        yield from (one for one in islice(choices, 50) if isinstance(one, str))
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        yield from (name for name in islice(properties, _MAX_SCHEMAS) if isinstance(name, str))


def _below(schema: Mapping[str, Any]) -> Iterator[object]:
    for key in ("properties", "$defs", "definitions"):
        if isinstance(schema.get(key), Mapping):
            yield from schema[key].values()
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if isinstance(schema.get(key), list):
            yield from schema[key]
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield schema[key]
