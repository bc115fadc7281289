"""A stand-in for a tool that is not available. Calling it raises an error that says why and that code can catch,
instead of a TypeError about undefined.

A separate module, because workbench.py is already long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sandbox import ToolDeclaration, ToolError

if TYPE_CHECKING:
    from cortex.settings import Policy
    from sandbox import ReadyJson


@dataclass(frozen=True, slots=True)
class AbsentTool:
    name: str
    server: str
    tool: str
    error: ToolError
    policy: Policy = "allow"
    for_code: bool = True

    @property
    def declaration(self) -> ToolDeclaration:
        return ToolDeclaration(self.name, server=self.server, tool=self.tool)

    def read(self, arguments: Mapping[str, Any] | str | None) -> Any:
        del arguments
        raise self.error

    async def call_json(self, arguments: Any, *, timeout_ms: int | None = None) -> ReadyJson:
        del arguments, timeout_ms
        raise self.error


def not_found(server: str, tool: str, reason: str) -> AbsentTool:
    error = ToolError(reason, code="not_found")
    return AbsentTool(f"{server}.{tool}" if tool else server, server, tool, error)
