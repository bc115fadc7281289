"""Threads for functions that block. A thread cannot be stopped: one that nobody waits for any more is left behind,
keeps its place until it ends, and keeps neither the caller nor the end of the program waiting."""

from __future__ import annotations

import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel

MAX_THREADS = 8
# A new thread takes longer than most tools: those that have nothing to do wait a while for the next call.
IDLE_S = 10.0


class AllStuck(Exception):
    """Every place is held by a call that nobody waits for and that has not ended."""


class Escaped(Exception):
    """The function raised what must not reach an event loop, SystemExit for one. Its cause is that."""


@dataclass(slots=True)
class _Places:
    free: anyio.CapacityLimiter
    left_behind: int = 0


@dataclass(slots=True, eq=False)
class _Job:
    ended: anyio.Event = field(default_factory=anyio.Event)
    result: Any = None
    fault: BaseException | None = None
    is_left_behind: bool = False


class Threads:
    """A few places for the calls of one function. Those that find none wait for one."""

    def __init__(self, most: int = MAX_THREADS) -> None:
        self._most = most
        # Of each event loop its own: a tool is registered once, and may be used in many runs.
        self._places: anyio.lowlevel.RunVar[_Places] = anyio.lowlevel.RunVar("places")

    async def run(self, function: Callable[[], Any]) -> Any:
        """The function's result, or the exception that it raised. Raises AllStuck and Escaped."""
        places = self._places_here()
        if places.left_behind >= self._most:
            raise AllStuck
        job = _Job()
        await places.free.acquire_on_behalf_of(job)
        try:
            self._start(function, job, places)
        except RuntimeError as error:
            places.free.release_on_behalf_of(job)
            raise AllStuck from error
        try:
            await job.ended.wait()
        except BaseException:
            if not job.ended.is_set():
                job.is_left_behind = True
                places.left_behind += 1
            raise
        if job.fault is None:
            return job.result
        if isinstance(job.fault, Exception):
            raise job.fault
        raise Escaped from job.fault

    def _start(self, function: Callable[[], Any], job: _Job, places: _Places) -> None:
        token, context = anyio.lowlevel.current_token(), contextvars.copy_context()
        context.run(_forget_the_event_loop)

        def end() -> None:
            places.free.release_on_behalf_of(job)
            places.left_behind -= job.is_left_behind
            job.ended.set()

        def work() -> None:
            try:
                job.result = context.run(function)
            except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
                job.fault = error
            # The event loop may be over: then there is nobody left to tell.
            with suppress(RuntimeError):
                anyio.from_thread.run_sync(end, token=token)

        _hand_over(work)

    def _places_here(self) -> _Places:
        places = self._places.get(None)
        if places is None:
            places = _Places(anyio.CapacityLimiter(self._most))
            self._places.set(places)
        return places


class _Worker(threading.Thread):
    """A daemon, because anyio's own threads keep a program from ending until the function does."""

    def __init__(self) -> None:
        super().__init__(name="tool", daemon=True)
        self.work: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def run(self) -> None:
        while True:
            try:
                self.work.get(timeout=IDLE_S)()
            except Empty:
                with suppress(ValueError):
                    _idle.remove(self)
                    return
                continue  # somebody has just taken it: there will be work
            _idle.append(self)


_idle: deque[_Worker] = deque()
# A child has none of these threads, and would wait for them for ever.
os.register_at_fork(after_in_child=_idle.clear)


def _hand_over(work: Callable[[], None]) -> None:
    """Raises RuntimeError when the system gives no more threads."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.start()
    worker.work.put(work)


def _forget_the_event_loop() -> None:
    """The function may run one of its own, and must not find the mark of this one."""
    try:
        from sniffio import current_async_library_cvar  # noqa: PLC0415 - there only if trio is
    except ImportError:
        return
    current_async_library_cvar.set(None)
