"""Two ways not to hold up the event loop: work on long texts in a thread, and let others have their turn in a loop that
may go on for long without waiting for anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import anyio.lowlevel
import anyio.to_thread

# Redacting as much as this takes up to 25 ms, as long as hundreds of turns that have nothing to hide.
MAX_ON_LOOP = 16 * 1024
# Each takes about 30 µs until it is here.
_PIECES_AT_ONCE = 64

P = ParamSpec("P")
T = TypeVar("T")


async def off_loop(size: int, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """What the work comes to: in a thread when it is about more than 16 KiB of text. A caller that is cancelled does
    not wait for the thread."""
    if size <= MAX_ON_LOOP:
        return work(*arguments, **options)
    return await anyio.to_thread.run_sync(lambda: work(*arguments, **options), abandon_on_cancel=True)


class Turns:
    """For what comes in pieces, or in lines. A server may send a million of one byte, and thousands of them are there
    at once: to take those is no wait."""

    def __init__(self) -> None:
        self._pieces = 0

    async def take(self) -> None:
        """To be called with each piece."""
        self._pieces += 1
        if self._pieces % _PIECES_AT_ONCE == 0:
            await anyio.lowlevel.checkpoint()
