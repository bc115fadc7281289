"""The protocols that the MCP server needs from the cortex: its tool definitions, and turns that answer calls."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from cortex.contracts import Watch
    from cortex.loop import Answer


class CodeAnswer(Protocol):
    """The result of a run."""

    @property
    def text(self) -> str:
        """For a model. Never empty."""
        ...

    @property
    def ok(self) -> bool: ...

    @property
    def structured(self) -> Mapping[str, Any]:
        """For a program: `result`, `logs`, `metrics`, and `state` or `error` where there is one."""
        ...


class Hands(Protocol):
    """One turn. Every call gets an answer, and nothing is raised but a cancellation."""

    async def answer(self, name: str, arguments: Any = None) -> Answer: ...

    async def execute_code(self, arguments: Any = None) -> CodeAnswer:
        """Run `code`. Optional: `intent`, `context`, and `sandbox_config`, which narrows limits and never widens."""
        ...


class Cortex(Protocol):
    def turn(self, watch: Watch | None = None) -> AbstractAsyncContextManager[Hands]: ...

    def openai_tools(self) -> list[dict[str, Any]]:
        """The tools that the owner's policies offer, byte for byte the same for the same settings."""
        ...
