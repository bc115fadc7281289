"""Lets the kill switch stop a runtime that has no `stop` method, by cancelling what it is executing.

A separate module, because it works with any runtime that a host provides and knows nothing of turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from sandbox import ErrorType, ExecutionError, ExecutionOutcome

if TYPE_CHECKING:
    from sandbox import CodeRuntime, ExecutionRequest, HostTools, NetworkPolicy, Store, Workspace


class CancellingRuntime:
    """A `CodeRuntime` and a `StoppableRuntime` around any `CodeRuntime`."""

    def __init__(self, runtime: CodeRuntime) -> None:
        self._runtime = runtime
        self._stopped: str | None = None
        self._running: set[anyio.CancelScope] = set()

    def stop(self, reason: str) -> None:
        """Cancel all executions, and refuse new ones with this reason, until `allow`."""
        self._stopped = reason
        for scope in self._running:
            scope.cancel()

    def allow(self) -> None:
        """Undo `stop`."""
        self._stopped = None

    async def execute(
        self,
        request: ExecutionRequest,
        tools: HostTools | None = None,
        *,
        network: NetworkPolicy | None = None,
        workspace: Workspace | None = None,
        store: Store | None = None,
    ) -> ExecutionOutcome:
        """As the runtime itself; a run that is stopped ends with CrashError, and a new one is refused."""
        if self._stopped is not None:
            return ExecutionOutcome(ok=False, error=ExecutionError(ErrorType.PERMISSION, self._stopped), refused=True)
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                # Named only if there is one: a runtime of the host's may know of none.
                lent = {} if store is None else {"store": store}
                return await self._runtime.execute(request, tools, network=network, workspace=workspace, **lent)
            finally:
                self._running.discard(scope)
        error = ExecutionError(ErrorType.CRASH, f"The run was stopped: {self._stopped}", stopped=True)
        return ExecutionOutcome(ok=False, error=error)
