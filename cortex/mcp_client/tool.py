"""A tool of an MCP server, with the same interface as the tools of a toolbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from cortex.tools import fitted, invalid, object_of
from sandbox import BadSchema, ToolDeclaration, ToolError, TooMuchToCheck, schema_problem, usable_schema

if TYPE_CHECKING:
    from cortex.settings import Policy
    from sandbox import ReadyJson


class ToolServer(Protocol):
    """The server that calls the tool, connected or not."""

    async def call(self, tool: McpTool, arguments: Mapping[str, Any], timeout_ms: int | None) -> ReadyJson: ...


@dataclass(frozen=True, slots=True)
class McpTool:
    server: str
    tool: str
    """The server's own name for it."""
    name: str
    """Its name here: `server.tool`."""
    description: str
    policy: Policy
    input_schema: Mapping[str, Any] = field(repr=False)
    output_schema: Mapping[str, Any] | None = field(repr=False)
    schema_json: bytes = field(repr=False)
    output_json: bytes | None = field(repr=False)
    caller: ToolServer = field(repr=False, compare=False)
    places: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    """Its paths below `tools` in code, among all tools of its server."""

    @property
    def for_code(self) -> bool:
        return True

    @property
    def for_model(self) -> bool:
        """False: the model calls it through code, because its definition would fill the context."""
        return False

    @property
    def declaration(self) -> ToolDeclaration:
        return ToolDeclaration(
            self.name,
            self.description,
            self.input_schema,
            self.output_schema,
            server=self.server,
            tool=self.tool,
            places=self.places,
        )

    def read(self, arguments: Mapping[str, Any] | str | None) -> McpArguments:
        """Coerce and validate the arguments that a model wrote. Raises ToolError (`invalid_arguments`)."""
        return read_arguments(self.name, self.input_schema, self.schema_json, arguments)

    async def call_json(self, arguments: Any = None, *, timeout_ms: int | None = None) -> ReadyJson:
        """Call the tool and return the unwrapped result. Raises ToolError, and nothing else but a cancellation."""
        read = arguments if isinstance(arguments, McpArguments) else self.read(arguments)
        return await self.caller.call(self, read.shown, timeout_ms)


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
