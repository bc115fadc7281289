"""Keeps a pool of warm Deno processes, started ahead. Each waits on its stdin, serves one execution and dies.

Processes are started, killed and reaped after an answer has gone out: a start beside a running execution makes that
execution almost twice as slow. There are two exceptions: an execution waits for a process, or runs long.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.abc

from ..contracts import SandboxUnavailable
from .worker import Worker

if TYPE_CHECKING:
    from ..ports import SandboxSettings
    from ..process import Spawner

log = logging.getLogger("motor_cortex.sandbox")

# Long enough to send off an answer before the next process is started.
REFILL_PAUSE_S = 0.002
STARTS_BEFORE_GIVING_UP = 2
FIRST_RETRY_S = 1.0
MAX_RETRY_S = 60.0


@dataclass(eq=False, slots=True)
class _Waiter:
    """An execution that waits for a process, and what it got."""

    arrived: anyio.Event = field(default_factory=anyio.Event)
    worker: Worker | None = None
    error: SandboxUnavailable | None = None
    failures: int = 0


@dataclass(frozen=True, slots=True)
class PoolState:
    """The numbers that decide how many processes to start."""

    size: int
    """How many warm processes should wait."""
    ready: int
    starting: int
    waiting: int
    """Executions that wait for a process."""
    max_starting: int
    may_refill: bool = True
    """False shortly after a failed start: then start only for executions that wait."""


def starts_needed(state: PoolState) -> int:
    """How many processes to start now: for waiting executions first; refill the pool only when none waits."""
    refill = state.size if state.may_refill else 0
    wanted = state.waiting or refill
    missing = wanted - state.ready - state.starting
    return max(0, min(missing, state.max_starting - state.starting))


class Pool:
    """Hands out warm processes, and starts and kills them in the background."""

    def __init__(
        self,
        spawner: Spawner,
        settings: SandboxSettings,
        tasks: anyio.abc.TaskGroup,
        now: Callable[[], float] = anyio.current_time,
        refusal: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`refusal` returns why nothing may run, or None. While it gives a reason, failed starts are not logged: the
        machine is not at fault."""
        self._spawner = spawner
        self._refusal = refusal
        self._settings = settings
        self._tasks = tasks
        self._now = now
        self._ready: deque[Worker] = deque()
        self._used: list[Worker] = []
        self._waiters: deque[_Waiter] = deque()
        self._starting = 0
        self._failures = 0
        self._retry_at = 0.0
        self._changed = anyio.Event()
        self._closed = False
        self._paused: str | None = None
        self._first_news = anyio.Event()
        self._first_failure: SandboxUnavailable | None = None

    @property
    def ready(self) -> int:
        return len(self._ready)

    async def acquire(self) -> Worker:
        """Take the warm process that has waited longest, or wait for a new one. Raises SandboxUnavailable."""
        if self._paused is not None:
            raise SandboxUnavailable(self._paused)
        while self._ready:
            worker = self._ready.popleft()
            if worker.is_waiting() and not self._is_old(worker):
                # During a long run, refill its place at once instead of waiting for its end.
                worker.on_long_run = self._wake
                return worker
            self.release(worker)
        waiter = _Waiter()
        self._waiters.append(waiter)
        self._start_missing()
        try:
            await waiter.arrived.wait()
        except BaseException:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            if waiter.worker is not None:
                self._offer(waiter.worker)
            raise
        if waiter.worker is None:
            raise waiter.error or SandboxUnavailable("Cannot start Deno: the runtime is closing")
        return waiter.worker

    def release(self, worker: Worker) -> None:
        """Take back a used process; `maintain` kills it soon, after the answer has gone out."""
        worker.process.on_exit = lambda: None
        self._used.append(worker)
        self._changed.set()

    async def warm_up(self) -> None:
        """Wait for the first process of the pool. Raises its SandboxUnavailable if it cannot start on this machine."""
        if self._settings.pool_size == 0:
            return
        self._start_missing()
        await self._first_news.wait()
        if not self._ready and self._first_failure is not None:
            raise self._first_failure

    async def maintain(self) -> None:
        """Kill used processes and replace missing or too old ones, for as long as the runtime lives."""
        while not self._closed:
            with anyio.move_on_after(self._next_check_s()):
                await self._changed.wait()
            self._changed = anyio.Event()
            if self._ready:
                await anyio.sleep(REFILL_PAUSE_S)
            self._retire()
            self._start_missing()

    def close(self) -> None:
        """Kill all waiting processes. Pending `acquire` calls raise."""
        self._closed = True
        self._changed.set()
        self._used.extend(self._ready)
        self._ready.clear()
        self._retire()
        for waiter in self._waiters:
            waiter.arrived.set()
        self._waiters.clear()

    def pause(self, reason: str) -> None:
        """Kill all waiting processes, and start none until `resume`. Pending `acquire` calls raise with the reason."""
        self._paused = reason
        self._used.extend(self._ready)
        self._ready.clear()
        self._retire()
        for waiter in self._waiters:
            waiter.error = SandboxUnavailable(reason)
            waiter.arrived.set()
        self._waiters.clear()

    def resume(self) -> None:
        self._paused = None
        self._failures, self._retry_at = 0, 0.0
        self._changed.set()

    def _wake(self) -> None:
        self._changed.set()

    def _retire(self) -> None:
        while self._ready and self._is_old(self._ready[0]):
            self.release(self._ready.popleft())
        used, self._used = self._used, []
        for worker in used:
            worker.discard(self._spawner)

    def _start_missing(self) -> None:
        if self._closed or self._paused is not None:
            return
        state = PoolState(
            size=self._settings.pool_size,
            ready=len(self._ready),
            starting=self._starting,
            waiting=len(self._waiters),
            max_starting=self._settings.max_starting,
            may_refill=self._now() >= self._retry_at,
        )
        for _ in range(starts_needed(state)):
            self._starting += 1
            self._tasks.start_soon(self._start_one, self._starting > len(self._waiters))

    async def _start_one(self, rehearse: bool) -> None:
        try:
            worker = await Worker.start(self._spawner, self._settings, self._now, rehearse=rehearse)
        except SandboxUnavailable as error:
            self._note_failure(error)
            return
        except Exception as error:
            log.exception("A process could not be started")
            self._note_failure(SandboxUnavailable(f"Cannot start Deno: {type(error).__name__}: {error}"))
            return
        finally:
            self._starting -= 1
        self._failures, self._retry_at = 0, 0.0
        self._offer(worker)
        self._start_missing()

    def _offer(self, worker: Worker) -> None:
        """Give the process to the `acquire` call that has waited longest, or keep it warm."""
        if self._closed or self._paused is not None:
            worker.discard(self._spawner)
            return
        if self._waiters:
            waiter = self._waiters.popleft()
            waiter.worker = worker
            waiter.arrived.set()
            return
        worker.process.on_exit = lambda: self._lose(worker)
        if worker.process.exit is not None:
            self.release(worker)
        else:
            self._ready.append(worker)
            self._changed.set()  # `maintain` must watch its age
            self._first_news.set()

    def _lose(self, worker: Worker) -> None:
        """Remove a waiting process that died, so that it is never handed out, and have it replaced."""
        if worker in self._ready:
            self._ready.remove(worker)
            self.release(worker)

    def _note_failure(self, error: SandboxUnavailable) -> None:
        self._failures += 1
        self._retry_at = self._now() + min(FIRST_RETRY_S * 2 ** (self._failures - 1), MAX_RETRY_S)
        if self._waiters:
            self._disappoint(error)
        elif not self._first_news.is_set():
            self._first_failure = error
        elif not self._closed and self._refusal() is None:
            log.warning("%s", error)
        self._first_news.set()
        self._changed.set()

    def _disappoint(self, error: SandboxUnavailable) -> None:
        """Handle a failed start that an `acquire` call waits for: nothing has run yet, so retry once before raising."""
        waiter = self._waiters[0]
        waiter.failures += 1
        if waiter.failures >= STARTS_BEFORE_GIVING_UP:
            self._waiters.popleft()
            waiter.error = error
            waiter.arrived.set()
        self._start_missing()

    def _is_old(self, worker: Worker) -> bool:
        return self._now() - worker.ready_at > self._settings.max_worker_age_s

    def _next_check_s(self) -> float | None:
        """Seconds until something is due that no event announces: the oldest process is too old, or a retry."""
        due = []
        if self._ready:
            due.append(self._ready[0].ready_at + self._settings.max_worker_age_s)
        if self._failures and self._settings.pool_size > 0:
            due.append(self._retry_at)
        return max(0.0, min(due) - self._now()) + 0.001 if due else None
