"""The running tool calls of MCP clients: limit their number, report their progress, and stop them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import anyio

from cortex.contracts import Denied, ToolCalled, reason_of

if TYPE_CHECKING:
    from cortex.contracts import Reason, TurnEvent

Result = TypeVar("Result")

MAX_CALLS = 32
PROGRESS_S = 1.0
STOPPING = reason_of(Denied("The server is stopping"))


class Calls:
    """The running calls of all clients of one server. The sandbox has a queue of its own; this bounds what waits in
    front of it."""

    def __init__(self, most: int = MAX_CALLS) -> None:
        self._most = most
        self._running: set[anyio.CancelScope] = set()
        self._stopping = False

    @property
    def refusal(self) -> Reason | None:
        """Why no further call can be taken now, if none can."""
        if self._stopping:
            return STOPPING
        if len(self._running) >= self._most:
            return reason_of(Denied(f"{self._most} calls are being answered already; wait for one of them"))
        return None

    async def run(self, work: Callable[[], Awaitable[Result]]) -> Result | None:
        """Run the work and return its result; None when it was stopped. Call it only when `refusal` is None."""
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                return await work()
            finally:
                self._running.discard(scope)
        return None

    def stop(self) -> None:
        """Cancel all running calls and accept no more. Each client still gets an answer."""
        self._stopping = True
        for scope in tuple(self._running):
            scope.cancel()


class Progress:
    """Sends progress notifications to a waiting client. Counts the turn's tool calls for their text."""

    def __init__(self, report: Callable[[float, float | None, str | None], Awaitable[None]], every_s: float) -> None:
        self._report = report
        self._every_s = every_s
        self._tool_calls = 0

    def watch(self, event: TurnEvent) -> None:
        self._tool_calls += isinstance(event, ToolCalled)

    async def during(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run the work, report progress meanwhile, and return its result. The work must raise only a cancellation."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tell)
            result = await work()
            tasks.cancel_scope.cancel()
        return result

    async def _tell(self) -> None:
        began = anyio.current_time()
        while True:
            await anyio.sleep(self._every_s)
            seconds = anyio.current_time() - began
            called = f", {self._tool_calls} tool calls" if self._tool_calls else ""
            # MCP wants a number that grows; the total is unknown.
            await self._report(round(seconds, 3), None, f"Running for {seconds:.0f} s{called}")
