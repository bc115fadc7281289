"""Which calls of tools are made now: so many at once, the others in the order in which they were heard."""

from __future__ import annotations

import anyio


class ToolLine:
    """A call joins when it is heard, and not when a task begins to work on it: tasks begin in any order."""

    def __init__(self, most: int) -> None:
        self._most = self._most_now = most
        self._turns: dict[int, anyio.Event] = {}
        """By the identity of a call, which two calls never share while both are here; those that wait, in order."""
        self._working: set[anyio.Event] = set()

    def join(self, call: object) -> None:
        turn = anyio.Event()
        if len(self._working) < self._most_now:
            self._begin(turn)
        self._turns[id(call)] = turn

    async def wait(self, call: object) -> None:
        """Wait for the turn of a call. Whatever comes of it, the caller leaves afterwards."""
        if id(call) not in self._turns:
            self.join(call)
        turn = self._turns[id(call)]
        if not turn.is_set():
            await turn.wait()

    def leave(self, call: object) -> None:
        """Let the next one in."""
        turn = self._turns.pop(id(call), None)
        if turn is not None:
            self._working.discard(turn)
            self._let_in()

    def narrow(self, most: int) -> None:
        """Let no more work at once than so many, but one."""
        self._most_now = max(1, min(self._most_now, most))

    def renew(self) -> None:
        """Forget those that are in line: nobody will make their calls any more."""
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
