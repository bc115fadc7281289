"""Checks the JSON Schemas of a learned function: small, plain and closed. Pure.

The agent writes them, the host validates arguments by them on each call, and the owner reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator
from pydantic_core import to_json

from sandbox import BadSchema, JsonLimits, TooComplex, TooMuchToCheck, check_json, schema_problem

from .hashes import canonical

MAX_SCHEMA_BYTES = 4_096
MAX_PARAMETERS = 16
_LIMITS = JsonLimits(containers=200, values=500)
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
# No references and no patterns: what a schema costs to check must follow from its size.
_WORDS = frozenset(
    {
        *(
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "anyOf",
            "enum",
            "const",
            "default",
            "examples",
        ),
        *("title", "description", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
    }
)


def _bounded(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    try:
        text = canonical(schema)
        check_json(text, _LIMITS)
    except (TooComplex, ValueError, RecursionError):
        raise ValueError("it is too large, too nested or no JSON") from None
    if len(text) > MAX_SCHEMA_BYTES:
        raise ValueError(f"it has {len(text)} bytes, at most {MAX_SCHEMA_BYTES} are allowed")
    for problem in _problems(schema):
        raise ValueError(problem)
    return _usable(schema)


def _usable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, if it is one: what is no schema, or cannot be sent, would make each call of the function fail."""
    try:
        schema_problem(to_json(schema), {})
    except (BadSchema, TooMuchToCheck) as error:
        raise ValueError(f"it is no schema: {str(error).partition(chr(10))[0][:200]}") from None
    except ValueError:  # half of a surrogate pair
        raise ValueError("it holds a text that is not Unicode") from None
    return schema


def _problems(schema: Any) -> Iterator[str]:
    """What the schema says that is not understood here."""
    if not isinstance(schema, dict):
        yield 'a schema is an object, like {"type": "number"}'
        return
    if unknown := sorted(schema.keys() - _WORDS):
        yield f'"{str(unknown[0])[:40]}" is not understood; there are {", ".join(sorted(_WORDS))}'
    kinds = schema.get("type", [])
    if any(kind not in _TYPES for kind in map(str, kinds if isinstance(kinds, list) else [kinds])):
        yield f"a type is one of {', '.join(sorted(_TYPES))}"
    properties = schema.get("properties", {})
    inner = [*properties.values()] if isinstance(properties, dict) else [None]
    inner += [schema[key] for key in ("items",) if key in schema]
    # A boolean here closes or opens the object; anything else is a schema, as those of the properties are.
    others = schema.get("additionalProperties", True)
    inner += [] if isinstance(others, bool) else [others]
    choices = schema.get("anyOf", [])
    inner += choices if isinstance(choices, list) else [None]
    for each in inner:
        yield from _problems(each)


def _parameters(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    if "type" not in schema and "properties" not in schema and all(isinstance(one, dict) for one in schema.values()):
        # Models often give the properties alone.
        schema = {"type": "object", "properties": schema, "required": list(schema)}
    if schema.get("type", "object") != "object":
        raise ValueError('a function is called with one object: {"type": "object", "properties": {…}}')
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or len(properties) > MAX_PARAMETERS:
        raise ValueError(f"a function has at most {MAX_PARAMETERS} parameters, each a name with its schema")
    # Closed, so that a misspelled name is an error and not ignored.
    return _bounded({**schema, "type": "object", "properties": properties, "additionalProperties": False})


Parameters = Annotated[dict[str, Any] | None, AfterValidator(_parameters)]
Returns = Annotated[dict[str, Any] | None, AfterValidator(_bounded)]
