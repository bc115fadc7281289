"""Runs blocking functions in threads. A thread cannot be stopped: an abandoned one keeps its slot until it ends.

It delays neither the caller nor the end of the program.
"""

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
# Starting a thread takes longer than most tools: idle threads wait a while for the next call.
IDLE_S = 10.0


class AllStuck(Exception):
    """Every slot is held by an abandoned call that has not ended, or no thread can be started."""


class Escaped(Exception):
    """The function raised an exception that must not reach an event loop, such as SystemExit. It is the cause."""


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
    """At most `most` threads for the calls of one function. Further calls wait."""

    def __init__(self, most: int = MAX_THREADS) -> None:
        self._most = most
        # Separate for each event loop: a tool is registered once, and may be used in many runs.
        self._places: anyio.lowlevel.RunVar[_Places] = anyio.lowlevel.RunVar("places")

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run the function and return its result, or raise its exception. Raises AllStuck and Escaped."""
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
            except BaseException as error:  # noqa: BLE001 - raised again in `run`
                job.fault = error
            # The event loop may have ended: then no caller is left to tell.
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
    """A daemon thread: anyio's own threads keep a program from ending until the function does."""

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
                continue  # another thread has just taken it: there will be work
            _idle.append(self)


_idle: deque[_Worker] = deque()
# A forked child has none of these threads, and would wait for them for ever.
os.register_at_fork(after_in_child=_idle.clear)


def _hand_over(work: Callable[[], None]) -> None:
    """Give the work to an idle or new thread. Raises RuntimeError when the system gives no more threads."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.start()
    worker.work.put(work)


def _forget_the_event_loop() -> None:
    """Clear the marker of this event loop: the function may run a loop of its own."""
    try:
        from sniffio import current_async_library_cvar  # noqa: PLC0415 - there only if trio is
    except ImportError:
        return
    current_async_library_cvar.set(None)
