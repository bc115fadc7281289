"""Measure how long some work blocks the event loop, and how much the host's memory grows.

In CPU time, not wall clock: other work on this machine must not count."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.escapes.arena import give_back_memory, resident_mb, slowness, untraced

# The longest time that any task may wait for the event loop.
MOST_STALL_MS = 200
MOST_GROWTH_MB = 64


@dataclass
class Seen:
    stall_ms: float = 0.0
    """The most CPU time, in all threads, before the watcher ran: another thread that holds the GIL blocks the event
    loop, too."""
    grown_mb: float = 0.0

    def check(self, what: object) -> None:
        if self.stall_ms >= MOST_STALL_MS:  # only then: measuring the slowness of this machine takes a while
            with untraced():
                limit_ms = MOST_STALL_MS * slowness()
            assert self.stall_ms < limit_ms, f"{self.stall_ms:.0f} ms: {what!r}"
        assert self.grown_mb < MOST_GROWTH_MB, f"{self.grown_mb:.0f} MB: {what!r}"


def judged(work: Callable[[], Awaitable[Any]], what: object) -> Seen:
    """Measure up to three times: a busy machine can spoil one measurement, and only the last counts."""
    for _ in range(3):
        seen = watched(work)
        if seen.stall_ms < MOST_STALL_MS and seen.grown_mb < MOST_GROWTH_MB:
            break
    seen.check(what)
    return seen


def watched(work: Callable[[], Awaitable[Any]]) -> Seen:
    """Run the work on an event loop of its own, beside a task that tries to run all the time."""
    with unscanned():
        give_back_memory()
        # To scan the tests' own objects for garbage takes a tenth of a second, which must not count.
        gc.freeze()
        with untraced():
            return asyncio.run(_watched(work))


@contextlib.contextmanager
def unscanned() -> Iterator[None]:
    """Scan what is frozen again only at the end of the outermost of these: a hundred measurements, each with a look at
    all objects that thousands of tests have left, take minutes."""
    is_outermost = not gc.get_freeze_count()
    if is_outermost:
        gc.collect()
        gc.freeze()
    try:
        yield
    finally:
        if is_outermost:
            gc.unfreeze()


async def _watched(work: Callable[[], Awaitable[Any]]) -> Seen:
    seen, is_done = Seen(), False
    began_mb = resident_mb()

    async def watch() -> None:
        turns, last = 0, time.process_time()
        while not is_done:
            # Sleep a little, so that other threads can get the GIL.
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
    """Like `watched`, for a synchronous function in the event loop's thread."""

    async def once() -> None:
        work()

    return watched(once)
