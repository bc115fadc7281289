"""How long the event loop stood still, and how much the host grew, while something was done.

By the processor's time and not by the clock: what others do on this machine is not the host's doing."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tests.escapes.arena import give_back_memory, resident_mb, slowness, untraced

# Nobody waits longer for a turn of the event loop.
MOST_STALL_MS = 200
MOST_GROWTH_MB = 64


@dataclass
class Seen:
    stall_ms: float = 0.0
    """The most that was computed, in all threads, before the watcher had its turn: another thread that holds the
    interpreter keeps the event loop waiting too."""
    grown_mb: float = 0.0

    def check(self, what: object) -> None:
        if self.stall_ms >= MOST_STALL_MS:  # to find out how slow this machine is takes a while
            with untraced():
                limit_ms = MOST_STALL_MS * slowness()
            assert self.stall_ms < limit_ms, f"{self.stall_ms:.0f} ms: {what!r}"
        assert self.grown_mb < MOST_GROWTH_MB, f"{self.grown_mb:.0f} MB: {what!r}"


def watched(work: Callable[[], Awaitable[Any]]) -> Seen:
    """Do the work on an event loop of its own, beside a task that wants to run all the time."""
    give_back_memory()
    # To go through what the tests themselves hold for garbage takes a tenth of a second, which is not the product's.
    gc.freeze()
    try:
        with untraced():
            return asyncio.run(_watched(work))
    finally:
        gc.unfreeze()


async def _watched(work: Callable[[], Awaitable[Any]]) -> Seen:
    seen, is_done = Seen(), False
    began_mb = resident_mb()

    async def watch() -> None:
        turns, last = 0, time.process_time()
        while not is_done:
            # Not at once again: a thread that has the interpreter could not go on.
            await asyncio.sleep(0.001)
            now = time.process_time()
            seen.stall_ms = max(seen.stall_ms, (now - last) * 1000)
            turns, last = turns + 1, now
            if turns % 5 == 0:
                seen.grown_mb = max(seen.grown_mb, resident_mb() - began_mb)
                last = time.process_time()

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    try:
        await work()
    finally:
        is_done = True
        await watching
    seen.grown_mb = max(seen.grown_mb, resident_mb() - began_mb)
    return seen


def held(work: Callable[[], Any]) -> Seen:
    """The same for work that is done at once in the event loop's thread."""

    async def once() -> None:
        work()

    return watched(once)
