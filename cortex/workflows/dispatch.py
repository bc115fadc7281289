"""The port that hands runs to those who execute them, and the dispatcher of one process.

It only says which run to look at, and when. What there is to do is in the journal: a run that is lost here, or handed
out twice, changes nothing.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import anyio

log = logging.getLogger("motor_cortex")

MAX_QUEUED = 10_000
# The clock by which a run is due may be another than that of the event loop, and may be set.
_LOOK_S = 0.5

Handle: TypeAlias = Callable[[str], Awaitable[None]]
"""Executes a run as far as it goes now. Raises nothing but a cancellation."""


class DispatchFull(Exception):
    """Too many runs wait."""


class Dispatch(Protocol):
    """Hands out runs. `InProcess` is one."""

    async def submit(self, run: str, at: float | None = None, priority: int = 0) -> None:
        """Have the run handled: now, or at that time; those of higher priority first. A run that is being handled is
        handled once more afterwards. Raises DispatchFull."""
        ...

    async def abort(self, run: str) -> None:
        """Forget the run, and stop handling it; returns once that has ended."""
        ...

    async def work(self, handle: Handle, slots: int) -> None:
        """Handle runs, at most `slots` at a time, until cancelled."""
        ...


@dataclass(slots=True)
class _Handled:
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)


@dataclass(frozen=True, slots=True)
class _Due:
    at: float
    priority: int


class InProcess:
    """The dispatcher of one process. What waits here does not outlive it; the journal does."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._due: dict[str, _Due] = {}
        self._heap: list[tuple[float, int, int, str]] = []
        self._count = itertools.count()
        self._under_way: dict[str, _Handled] = {}
        self._news: anyio.Event | None = None

    async def submit(self, run: str, at: float | None = None, priority: int = 0) -> None:
        if run not in self._due and len(self._due) >= MAX_QUEUED:
            raise DispatchFull(f"{MAX_QUEUED} runs wait already")
        due = _Due(self._now() if at is None else at, priority)
        known = self._due.get(run)
        if known is not None and known.at <= due.at and known.priority >= priority:
            return
        self._due[run] = due
        heapq.heappush(self._heap, (due.at, -priority, next(self._count), run))
        if len(self._heap) > 2 * MAX_QUEUED:
            self._heap = [one for one in self._heap if self._is_in_force(one)]
            heapq.heapify(self._heap)
        self._tell()

    async def abort(self, run: str) -> None:
        self._due.pop(run, None)
        handled = self._under_way.get(run)
        if handled is not None:
            handled.scope.cancel()
            await handled.ended.wait()

    async def work(self, handle: Handle, slots: int) -> None:
        self._news = anyio.Event()
        async with anyio.create_task_group() as tasks:
            while True:
                news = self._news
                wait_s = _LOOK_S
                while len(self._under_way) < slots and (run := self._next()) is not None:
                    handled = self._under_way[run] = _Handled()
                    tasks.start_soon(self._handle, run, handle, handled)
                # Those that are under way, or find no place, come when one ends: that is news.
                idle = [due.at for run, due in self._due.items() if run not in self._under_way]
                if idle and len(self._under_way) < slots:
                    wait_s = min(_LOOK_S, max(0.0, min(idle) - self._now()) + 0.001)
                with anyio.move_on_after(wait_s if idle else None):
                    await news.wait()

    def is_handled(self, run: str) -> bool:
        return run in self._under_way

    def _next(self) -> str | None:
        """The next run that is due, taken from the queue; None if there is none."""
        later = []
        found = None
        while self._heap and self._heap[0][0] <= self._now():
            one = heapq.heappop(self._heap)
            if not self._is_in_force(one):
                continue
            if one[3] in self._under_way:  # once more, when it has ended
                later.append(one)
                continue
            found = one[3]
            del self._due[found]
            break
        for one in later:
            heapq.heappush(self._heap, one)
        return found

    def _is_in_force(self, one: tuple[float, int, int, str]) -> bool:
        due = self._due.get(one[3])
        return due is not None and (due.at, due.priority) == (one[0], -one[1])

    async def _handle(self, run: str, handle: Handle, handled: _Handled) -> None:
        try:
            with handled.scope:
                await handle(run)
        except Exception:
            log.exception("A run could not be handled")
        finally:
            del self._under_way[run]
            handled.ended.set()
            self._tell()

    def _tell(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = anyio.Event()
