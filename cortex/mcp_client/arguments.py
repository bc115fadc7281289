"""Read the arguments for a tool of an MCP server: coerce them towards its schema, then validate them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cortex.tools import fitted, invalid, object_of
from sandbox import BadSchema, ToolError, TooMuchToCheck, schema_problem, usable_schema


@dataclass(frozen=True, slots=True)
class McpArguments:
    shown: dict[str, Any]


def read_arguments(tool: str, schema: Mapping[str, Any], schema_json: bytes, raw: Any) -> McpArguments:
    """The arguments as they fit the schema. Raises ToolError: `invalid_arguments`, or `bad_schema` for an unusable
    schema."""
    try:
        given = object_of(raw, tool, _bare(schema))
        if schema_json == b"{}":
            return McpArguments(given)
        # Check the schema first: the coercion below takes its form for granted.
        usable_schema(schema_json)
        given = _brought_nearer(given, schema)
        problem = schema_problem(schema_json, given)
    except TooMuchToCheck as error:
        raise invalid(f"{tool}: {error}") from error
    except BadSchema as error:
        raise ToolError(f'Tool "{tool}" has a schema that cannot be used: {error}', code="bad_schema") from error
    if problem is not None:
        raise invalid(f"{tool}: {problem}. It takes {_takes(schema)}")
    return McpArguments(given)


def _brought_nearer(given: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    try:
        nearer: dict[str, Any] = fitted(given, schema)
    except (TypeError, AttributeError, LookupError, RecursionError):
        # An older JSON Schema draft, whose keywords mean other things.
        return given
    return nearer


def _bare(schema: Mapping[str, Any]) -> str | None:
    """The parameter that a bare string is meant for: the only one, if it is a string."""
    match schema.get("properties"):
        case Mapping() as properties if len(properties) == 1:
            ((name, part),) = properties.items()
            return str(name) if isinstance(part, Mapping) and part.get("type") == "string" else None
    return None


def _takes(schema: Mapping[str, Any]) -> str:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping) or not properties:
        return "no arguments"
    needed = required if isinstance(required, list) else []
    names = [str(name)[:60] if name in needed else f"{str(name)[:60]} (optional)" for name in list(properties)[:40]]
    return ", ".join(names)[:300]
