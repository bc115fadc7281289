"""Shares one event loop between the fetches of all runs: when each must yield, and how many may hold a large body."""

from __future__ import annotations

from time import monotonic

import anyio
import anyio.lowlevel

# Other tasks on the event loop get their turn at least this often.
TURN_S = 0.01
LARGE_BYTES = 256 * 1024
# At most this many large bodies are read, decompressed and encoded at once; the others wait before they grow.
MAX_LARGE = 2
# A slow server holds its place for long: no other fetch waits longer than this.
MAX_WAIT_S = 2.0


class _Loop:
    """State that all fetches of one event loop share."""

    def __init__(self) -> None:
        self.turns = anyio.Lock(fast_acquire=True)
        self.turn_ends_at = 0.0
        self.places = anyio.Semaphore(MAX_LARGE, fast_acquire=True)


_loop = anyio.lowlevel.RunVar[_Loop]("motor_cortex_fetches")


class Work:
    """One fetch's share of the event loop. A context manager: leaving it releases the place for a large body."""

    def __init__(self) -> None:
        try:
            self._loop = _loop.get()
        except LookupError:
            self._loop = _Loop()
            _loop.set(self._loop)
        self._has_asked = self._has_place = False

    def __enter__(self) -> Work:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._has_place:
            self._has_place = False
            self._loop.places.release()

    async def turn(self) -> None:
        """Call this between small pieces of work. All fetches share one turn: many of them hold the loop no longer than
        one would."""
        if monotonic() < self._loop.turn_ends_at:
            return
        async with self._loop.turns:
            await anyio.lowlevel.checkpoint()
            self._loop.turn_ends_at = monotonic() + TURN_S

    async def grow(self, size: int) -> None:
        """Call this before a body grows to `size` bytes."""
        if size <= LARGE_BYTES or self._has_asked:
            return
        self._has_asked = True
        with anyio.move_on_after(MAX_WAIT_S):
            await self._loop.places.acquire()
            self._has_place = True
