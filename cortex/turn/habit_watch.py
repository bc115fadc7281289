"""Watches the agent's runs for habits, in the background after each answer: the turn only appends the run to a
queue."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread

from neurons import Recording, schema_of_value
from sandbox import Work

if TYPE_CHECKING:
    from cortex.runs import ObservedRun
    from neurons import HabitSettings
    from sandbox import ExecutionOutcome, Metrics

log = logging.getLogger("motor_cortex")

MAX_QUEUED = 64
LOOKING_S = 5
QUIET_S = 0.2
"""Wait until no run has ended for this long before looking at runs: that takes CPU and disk, which the next run may
need."""
CLOSING_S = 2


class Noticing(Protocol):
    """The part of the habits that is used here."""

    async def noticed(
        self,
        code: str,
        *,
        code_hash: str,
        purpose: str,
        tier: str,
        tools: tuple[str, ...],
        hosts: tuple[str, ...],
        requests: tuple[tuple[str, str], ...],
        clean: bool,
    ) -> Any | None:
        """Count the run; return the habit if this run has made it one, only once."""
        ...


class Keeping(Protocol):
    def keep(self, recording: Recording) -> object: ...


class Observer(Protocol):
    """What a turn needs to have its runs observed. No method waits or raises."""

    @property
    def max_bytes(self) -> int:
        """How much is to be recorded of what the tools and servers of a run answer."""
        ...

    def ended(self, run: ObservedRun, outcome: ExecutionOutcome) -> None: ...


class HabitWatch:
    """An `Observer`. `run` does the work, in a task of its own, while the cortex is open."""

    def __init__(
        self,
        habits: Noticing,
        recordings: Keeping | None,
        settings: HabitSettings,
        *,
        now: Callable[[], float] = time.time,
        max_queued: int = MAX_QUEUED,
        on_habit: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_habit` is called when a script has become a habit, and returns at once."""
        self._habits = habits
        self._recordings = recordings if settings.record else None
        self.max_bytes = settings.max_recording_bytes if self._recordings is not None else 0
        self._now = now
        self._max_queued = max_queued
        self._waiting: deque[tuple[ObservedRun, ExecutionOutcome, float]] = deque()
        self._on_habit = on_habit
        self._more = anyio.Event()
        self._crowd = anyio.Event()
        self._last_at = 0.0
        self.dropped = 0
        """Number of runs that were not looked at, because too many came at once."""

    def ended(self, run: ObservedRun, outcome: ExecutionOutcome) -> None:
        if not outcome.ok:
            return
        if len(self._waiting) >= self._max_queued:
            self.dropped += 1
            return
        self._waiting.append((run, outcome, self._now()))
        self._last_at = time.monotonic()
        self._more.set()
        if len(self._waiting) * 2 >= self._max_queued:
            self._crowd.set()

    async def run(self) -> None:
        """Look at runs until cancelled. Queued runs are still looked at then, with a timeout: a user who sends one
        message and leaves has run something, too."""
        try:
            while True:
                await self._more.wait()
                await self._quiet()
                self._more, self._crowd = anyio.Event(), anyio.Event()
                await self._look_at_all()
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
                await self._look_at_all()

    async def _quiet(self) -> None:
        """Wait until no run has ended for QUIET_S, or the queue is too long."""
        while (left_s := self._last_at + QUIET_S - time.monotonic()) > 0 and not self._crowd.is_set():
            with anyio.move_on_after(left_s):
                await self._crowd.wait()

    async def _look_at_all(self) -> None:
        while self._waiting:
            run, outcome, at = self._waiting.popleft()
            try:
                # Shielded: a run that is cancelled half way would be counted half, or twice.
                with anyio.CancelScope(shield=True, deadline=anyio.current_time() + LOOKING_S):
                    await self._look_at(run, outcome, at)
            except Exception:
                log.exception("Cannot look at what the agent ran")
            await anyio.lowlevel.checkpoint_if_cancelled()

    async def _look_at(self, run: ObservedRun, outcome: ExecutionOutcome, at: float) -> None:
        payload, clean = run.intent.payload, run.is_clean(outcome)
        if clean and self._recordings is not None:
            # In a thread: it searches up to a quarter of a megabyte for secrets.
            await anyio.to_thread.run_sync(self._keep, run, outcome, at)
        habit = await self._habits.noticed(
            payload.code,
            code_hash=run.code_hash,
            purpose=payload.purpose,
            tier=payload.tier,
            tools=run.tool_names,
            hosts=run.hosts,
            requests=run.requests,
            clean=clean,
        )
        if habit is not None:
            self._on_habit()

    def _keep(self, run: ObservedRun, outcome: ExecutionOutcome, at: float) -> None:
        assert self._recordings is not None
        given, code = run.intent.payload.context, run.intent.payload.code
        has_result = outcome.has_value and not outcome.truncated
        self._recordings.keep(
            Recording(
                run.code_hash,
                at,
                given,
                exchanges=run.exchanges,
                tool_calls=run.tool_calls(),
                code=code,
                returns=schema_of_value(outcome.result) if has_result else None,
                work=_work_of(outcome.metrics),
            )
        )


def _work_of(metrics: Metrics) -> Work | None:
    """What a run took; None of a result that came from the cache."""
    if metrics.cached:
        return None
    return Work(
        cpu_ms=metrics.cpu_ms,
        fetches=metrics.fetches,
        fetched_bytes=metrics.fetched_bytes,
        tool_calls=metrics.tool_calls,
    )
