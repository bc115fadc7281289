"""The port of a tool that the model or its code can call: a function of the toolbox, or a tool of an MCP server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from cortex.settings import Policy
    from sandbox import ReadyJson, ToolDeclaration


class ReadArguments(Protocol):
    """Arguments, read and checked once, so that what is shown is what the tool gets."""

    @property
    def shown(self) -> dict[str, Any]:
        """As JSON."""
        ...


class UsableTool(Protocol):
    """A tool that can be called through `Calls`."""

    @property
    def name(self) -> str:
        """The name with dots: `shop.stock`, `github.list_commits`."""
        ...

    @property
    def policy(self) -> Policy: ...

    @property
    def for_code(self) -> bool: ...

    @property
    def declaration(self) -> ToolDeclaration: ...

    def read(self, arguments: Mapping[str, Any] | str | None) -> ReadArguments:
        """Read and check the arguments. Raises ToolError (`invalid_arguments`)."""
        ...

    async def call_json(self, arguments: Any, *, timeout_ms: int | None = None) -> ReadyJson:
        """Call the tool with what `read` returned. Raises ToolError, and nothing else but a cancellation."""
        ...
