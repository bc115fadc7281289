"""The tools that code in the sandbox may call. A call that needs the owner's consent outside needs it here, too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sandbox import ToolDeclaration, ToolError

if TYPE_CHECKING:
    from sandbox import ReadyJson

    from .calls import Calls
    from .usable import UsableTool


class LentTools:
    """The tools of one run, a `sandbox.HostTools`. A denied tool is listed, and refuses when called; core tools are
    never lent."""

    def __init__(self, tools: Iterable[UsableTool], calls: Calls, *, purpose: str = "", code: str = "") -> None:
        self._calls = calls
        self._purpose = purpose
        self._code = code
        self._tools: dict[str, UsableTool] = {tool.name: tool for tool in tools if tool.for_code}

    def declarations(self) -> Sequence[ToolDeclaration]:
        return [tool.declaration for tool in self._tools.values()]

    async def call(self, name: str, arguments: dict[str, Any]) -> ReadyJson:
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f'No tool "{name[:100]}" was lent to this run', code="not_lent")
        return await self._calls.make(tool, arguments, origin="code", purpose=self._purpose, written=self._code)
