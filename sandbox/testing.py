"""Fake implementations of the ports, for the tests of programs that use this package."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from .contracts import (
    BatchAnswer,
    ErrorType,
    ExecutionError,
    ExecutionOutcome,
    ExecutionRequest,
    ResidentProgram,
    SandboxUnavailable,
    SignalAnswer,
    Work,
)
from .ports import HostTools, Resident, Store, ToolDeclaration

if TYPE_CHECKING:
    from .network import NetworkPolicy
    from .workspace import Workspace

Function = Callable[[dict[str, Any]], Awaitable[Any]]
Emit = Callable[..., None]
NeuronFunction = Callable[[dict[str, Any], dict[str, Any], Emit], Any]


class ScriptedRuntime:
    """A fake runtime that runs nothing: it returns the given outcomes in order, and records the requests."""

    def __init__(self, outcomes: Iterable[ExecutionOutcome]) -> None:
        self._outcomes = list(outcomes)
        self.version = "scripted"
        self.requests: list[ExecutionRequest] = []

    async def execute(
        self,
        request: ExecutionRequest,
        tools: HostTools | None = None,
        *,
        network: NetworkPolicy | None = None,
        workspace: Workspace | None = None,
        store: Store | None = None,
    ) -> ExecutionOutcome:
        del tools, network, workspace, store  # nothing runs that could use them
        self.requests.append(request)
        if not self._outcomes:
            raise AssertionError(f"no outcome is left for request {len(self.requests)}: {request.code!r}")
        return self._outcomes.pop(0)


class FunctionTools:
    """Tools made of async functions that take one dictionary. Records the calls."""

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


class ScriptedResidents:
    """Fake residents that run no code: a Python function `(signal, state, emit)`, async or not, replaces the program.

    An exception of the function fails the signal: TimeoutError and MemoryError as such, any other as a RuntimeError.
    Records the programs opened and closed, and the batches.
    """

    def __init__(self, functions: NeuronFunction | Mapping[str, NeuronFunction], work: Work | None = None) -> None:
        """`functions`: one for all programs, or one per code. `work` is what every batch reports."""
        self._functions = functions
        self.work = work or Work()
        self.unavailable: str | None = None
        """When set, no process is available: opening and `handle` raise SandboxUnavailable with this reason."""
        self.opened: list[ResidentProgram] = []
        self.closed: list[ResidentProgram] = []
        self.batches: list[tuple[ResidentProgram, tuple[Mapping[str, Any], ...]]] = []

    @asynccontextmanager
    async def resident(
        self,
        program: ResidentProgram,
        tools: HostTools | None = None,
        *,
        network: NetworkPolicy | None = None,
        workspace: Workspace | None = None,
    ) -> AsyncIterator[Resident]:
        del tools, network, workspace  # nothing runs that could use them
        self.check_available()
        self.opened.append(program)
        function = self._functions if callable(self._functions) else self._functions[program.code]
        try:
            yield _ScriptedResident(self, program, function)
        finally:
            self.closed.append(program)

    def check_available(self) -> None:
        if self.unavailable is not None:
            raise SandboxUnavailable(self.unavailable)


class _ScriptedResident:
    def __init__(self, host: ScriptedResidents, program: ResidentProgram, function: NeuronFunction) -> None:
        self._host = host
        self._program = program
        self._function = function

    async def handle(self, signals: Sequence[Mapping[str, Any]], state: Mapping[str, Any]) -> BatchAnswer:
        self._host.check_available()
        self._host.batches.append((self._program, tuple(signals)))
        answers = []
        kept = copy.deepcopy(dict(state))
        for signal in signals:
            answer, kept = await self._answer(signal, kept)
            answers.append(answer)
        return BatchAnswer(tuple(answers), kept, self._host.work)

    async def _answer(self, signal: Mapping[str, Any], before: dict[str, Any]) -> tuple[SignalAnswer, dict[str, Any]]:
        after = copy.deepcopy(before)
        emitted: list[tuple[str, Any]] = []

        def emit(type_: str, data: Any = None) -> None:
            emitted.append((type_, copy.deepcopy(data)))

        try:
            done = self._function(copy.deepcopy(dict(signal)), after, emit)
            if inspect.isawaitable(done):
                await done
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the program did
            kinds = {TimeoutError: ErrorType.TIMEOUT, MemoryError: ErrorType.MEMORY}
            kind = kinds.get(type(error), ErrorType.RUNTIME)
            return SignalAnswer(ok=False, error=ExecutionError(kind, str(error))), before
        return SignalAnswer(ok=True, emitted=tuple(emitted)), after
