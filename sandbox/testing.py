"""Fakes for the ports, for the tests of programs that use this package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .contracts import ExecutionOutcome, ExecutionRequest
from .ports import HostTools, ToolDeclaration

if TYPE_CHECKING:
    from .network import NetworkPolicy
    from .workspace import Workspace

Function = Callable[[dict[str, Any]], Awaitable[Any]]


class ScriptedRuntime:
    """A runtime that runs nothing: it hands out the outcomes it was given, in order, and keeps what it was asked."""

    def __init__(self, outcomes: Iterable[ExecutionOutcome]) -> None:
        self._outcomes = list(outcomes)
        self.requests: list[ExecutionRequest] = []

    async def execute(
        self,
        request: ExecutionRequest,
        tools: HostTools | None = None,
        *,
        network: NetworkPolicy | None = None,
        workspace: Workspace | None = None,
    ) -> ExecutionOutcome:
        del tools, network, workspace  # nothing runs that could use them
        self.requests.append(request)
        if not self._outcomes:
            raise AssertionError(f"no outcome is left for request {len(self.requests)}: {request.code!r}")
        return self._outcomes.pop(0)


class FunctionTools:
    """Tools made of async functions that take one dictionary. Keeps the calls that were made."""

    def __init__(
        self, functions: Mapping[str, Function], schemas: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self._functions = functions
        self._schemas = schemas or {}
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def declarations(self) -> Sequence[ToolDeclaration]:
        return [ToolDeclaration(name, input_schema=self._schemas.get(name, {})) for name in self._functions]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.append((name, arguments))
        return await self._functions[name](arguments)
