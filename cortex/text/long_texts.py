"""Keeps the event loop responsive: processes long texts in a thread, and lets loops without waits yield.

A module of its own because it imports anyio, and the other modules of the room must load fast without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import anyio.lowlevel
import anyio.to_thread

# Redacting this much takes up to 25 ms, as long as hundreds of turns with nothing to redact.
MAX_ON_LOOP = 16 * 1024
# Each piece takes about 30 µs to get here.
_PIECES_AT_ONCE = 64

P = ParamSpec("P")
T = TypeVar("T")


async def off_loop(size: int, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Do the work and return its result: in a thread for more than 16 KiB of text. A cancelled caller does not wait for
    the thread."""
    if size <= MAX_ON_LOOP:
        return work(*arguments, **options)
    return await anyio.to_thread.run_sync(lambda: work(*arguments, **options), abandon_on_cancel=True)


class Turns:
    """Yields to the event loop now and then while reading pieces or lines. A server may send a million pieces of one
    byte, and reading thousands that are already there never waits."""

    def __init__(self) -> None:
        self._pieces = 0

    async def take(self) -> None:
        """Call it for each piece."""
        self._pieces += 1
        if self._pieces % _PIECES_AT_ONCE == 0:
            await anyio.lowlevel.checkpoint()
