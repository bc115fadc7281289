"""How the fetches of all runs share one event loop: whose turn it is to compute, and who may hold a large body."""

from __future__ import annotations

from time import monotonic

import anyio
import anyio.lowlevel

# Everybody else on the event loop has their turn at least this often.
TURN_S = 0.01
LARGE_BYTES = 256 * 1024
# Large bodies that are read, unpacked and encoded at the same time; the others wait before they grow.
MAX_LARGE = 2
# A server that drips keeps its place for long: nobody waits for it for longer than this.
MAX_WAIT_S = 2.0


class _Loop:
    """What the fetches of one event loop share."""

    def __init__(self) -> None:
        self.turns = anyio.Lock(fast_acquire=True)
        self.turn_ends_at = 0.0
        self.places = anyio.Semaphore(MAX_LARGE, fast_acquire=True)


_loop = anyio.lowlevel.RunVar[_Loop]("motor_cortex_fetches")


class Work:
    """The part of one fetch in it. Used as a context, which gives its place back."""

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
        """To be called between small pieces of work. The turn is one for all: many fetches are no longer than one."""
        if monotonic() < self._loop.turn_ends_at:
            return
        async with self._loop.turns:
            await anyio.lowlevel.checkpoint()
            self._loop.turn_ends_at = monotonic() + TURN_S

    async def grow(self, size: int) -> None:
        """To be called before a body becomes so large."""
        if size <= LARGE_BYTES or self._has_asked:
            return
        self._has_asked = True
        with anyio.move_on_after(MAX_WAIT_S):
            await self._loop.places.acquire()
            self._has_place = True
