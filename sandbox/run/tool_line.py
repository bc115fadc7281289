"""Queues the tool calls of a run: at most N at once, the others wait in the order in which they were read."""

from __future__ import annotations

import anyio


class ToolLine:
    """A queue of tool calls. A call joins when it is read, not when a task starts on it: tasks start in any order."""

    def __init__(self, most: int) -> None:
        self._most = self._most_now = most
        self._turns: dict[int, anyio.Event] = {}
        """By the `id` of a call, which is unique while the call is here; waiting calls are in order."""
        self._working: set[anyio.Event] = set()

    def join(self, call: object) -> None:
        turn = anyio.Event()
        if len(self._working) < self._most_now:
            self._begin(turn)
        self._turns[id(call)] = turn

    async def wait(self, call: object) -> None:
        """Wait for the turn of a call. The caller must call `leave` afterwards, whatever happens."""
        if id(call) not in self._turns:
            self.join(call)
        turn = self._turns[id(call)]
        if not turn.is_set():
            await turn.wait()

    def leave(self, call: object) -> None:
        """Remove a call and let the next one in."""
        turn = self._turns.pop(id(call), None)
        if turn is not None:
            self._working.discard(turn)
            self._let_in()

    def narrow(self, most: int) -> None:
        """Lower the limit to at most `most` calls at once, but at least one."""
        self._most_now = max(1, min(self._most_now, most))

    def renew(self) -> None:
        """Forget all calls in the queue, which will never be made, and reset the limit."""
        self._most_now = self._most
        self._turns.clear()
        self._working.clear()

    def _let_in(self) -> None:
        waiting = (turn for turn in self._turns.values() if not turn.is_set())
        while len(self._working) < self._most_now and (turn := next(waiting, None)) is not None:
            self._begin(turn)

    def _begin(self, turn: anyio.Event) -> None:
        self._working.add(turn)
        turn.set()
