"""The running tool calls and open requests of MCP clients: limit their number and size, report progress, stop them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import anyio

from cortex.contracts import Denied, ToolCalled, reason_of

if TYPE_CHECKING:
    from cortex.contracts import Reason, TurnEvent

Result = TypeVar("Result")

MAX_CALLS = 32
# Only calls take long, and `ClientCalls` limits those. When there are twice as many requests, the others wait only for
# the client to read its answers.
MAX_OPEN = 2 * MAX_CALLS
# Enough for three calls of the largest size.
MAX_OPEN_BYTES = 16 * 1024 * 1024
PROGRESS_S = 1.0
STOPPING = reason_of(Denied("The server is stopping"))


class ClientCalls:
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
        self.about = ""
        """What else to tell."""

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
            called += f", {self.about}" if self.about else ""
            # MCP wants a number that grows; the total is unknown.
            await self._report(round(seconds, 3), None, f"Running for {seconds:.0f} s{called}")


class OpenRequests:
    """The unanswered requests of one client, limited in number and in bytes. The SDK keeps each in a task of its own
    until the client has read the answer: a client that reads none would fill the memory. If two have the same id, the
    larger counts until both are answered: an answer does not tell which of them it is for."""

    def __init__(self, most: int = MAX_OPEN, max_bytes: int = MAX_OPEN_BYTES) -> None:
        self._most = most
        self._max_bytes = max_bytes
        self._sizes: dict[int | str, list[int]] = {}
        self._count = self._bytes = 0
        self._ended = anyio.Event()

    async def place(self) -> None:
        """Wait until there is a place for one more request."""
        while self._count >= self._most:
            self._ended = anyio.Event()
            await self._ended.wait()

    def begin(self, request_id: int | str, size: int) -> bool:
        """Add a request of `size` bytes. Returns False, and adds nothing, if the limit of bytes would be exceeded."""
        if self._bytes + size > self._max_bytes:
            return False
        self._sizes.setdefault(request_id, []).append(size)
        self._count += 1
        self._bytes += size
        return True

    def end(self, request_id: int | str | None) -> None:
        """Remove one request of that id, if there is one: it was answered, or will never be."""
        sizes = self._sizes.get(request_id) if request_id is not None else None
        if not sizes or request_id is None:
            return
        size = min(sizes)
        sizes.remove(size)
        if not sizes:
            del self._sizes[request_id]
        self._count -= 1
        self._bytes -= size
        self._ended.set()
