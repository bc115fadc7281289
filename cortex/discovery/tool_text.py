"""What a tool is found by: its name, what it is said to do, and the words of its parameters. Pure and bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sandbox import ToolDeclaration

# A server may describe its tools at any length, and each character would be paid for at every change of its list.
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
    """Whatever the schema is: it comes from outside, and what is odd in it is passed over."""
    description = declaration.description
    if declaration.tool and declaration.tool not in declaration.name:
        # A name that had to be cut to fit is searched in full.
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
    """Names of parameters, what is said of them, and the words that they may be; the outer ones first."""
    waiting: list[object] = [schema]
    for number in range(_MAX_SCHEMAS):
        if number >= len(waiting):
            return
        found = waiting[number]
        if isinstance(found, Mapping):
            yield from _own_texts(found, is_outermost=number == 0)
            # More than are looked at need not be listed either.
            waiting.extend(islice(_below(found), _MAX_SCHEMAS))


def _own_texts(schema: Mapping[str, Any], *, is_outermost: bool) -> Iterator[str]:
    # Of the outermost it is the tool's description once more, or nothing.
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
