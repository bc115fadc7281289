"""A tool of an MCP server, with the same interface as the tools of a toolbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from sandbox import ToolDeclaration

from .arguments import McpArguments, read_arguments

if TYPE_CHECKING:
    from cortex.settings import Policy
    from sandbox import ReadyJson


class Caller(Protocol):
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
    caller: Caller = field(repr=False, compare=False)
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
