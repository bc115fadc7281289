"""Runs jobs: executions that go on after the turn that asked for them. One process of a home runs its jobs.

A job is an ordinary execution (`cortex.turn.execute`), with the same refusals, energy and audit. It differs in three
points: the turn is answered as soon as the energy is taken and the record is on disk; the run waits here for its turn,
so that a hundred jobs neither fill the queue of the sandbox nor keep ordinary runs from it; and its end is a signal.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.abc
import anyio.to_thread
from pydantic_core import to_json

from cortex.contracts import Denied, ExecutionStarted, Refused, denied, failed, reason_of, reason_of_fault
from cortex.tools import cut
from cortex.turn import Begun, HostFailed, JobLook, NotRun, Ran, execute
from neurons import Signal, StorageError
from sandbox import ErrorType, ExecutionError, ExecutionOutcome, LockBusy

from .job_records import CUT_SHORT, MAY_HAVE_HAPPENED, JobRecord, JobRecords, State, conversation_hash, new_handle
from .left_behind import settle_left

if TYPE_CHECKING:
    from typing import Self

    from cortex.catalogue import Wish
    from cortex.contracts import CortexEvent, RunCodeIntent
    from cortex.energy import Ledger
    from cortex.settings import Settings
    from cortex.turn import Caller, Executed, Services
    from neurons import Lease, Switch, Wake
    from sandbox import CodeRuntime, Displayed, ExecutionRequest, HostTools

log = logging.getLogger("motor_cortex")

T = TypeVar("T")

JOB_ENDED = "core.job_ended"
"""The type of the signal. Names that begin with "core" are reserved: no neuron can emit it."""
MAX_UNDER_WAY = 100
MAX_SIGNAL_REPLY_BYTES = 3_000
HOUR_S = 3_600.0
STOPPING_S = 10.0
_DISK_FAULTS = (OSError, StorageError, LockBusy)


@dataclass(slots=True, eq=False)
class _Job:
    record: JobRecord
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    waiting: anyio.CancelScope | None = None
    """While it waits for its turn."""
    decided: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)
    started: ExecutionStarted | None = None
    is_kept: bool = False
    """Its record is on disk, so its handle may be told."""
    answer: Executed | None = None
    fault: Exception | None = None
    stopped: State | None = None
    why: str = ""

    def stop(self, state: State, why: str) -> None:
        """Give up a job that waits, and cancel one that runs."""
        if self.stopped is None:
            self.stopped, self.why = state, why
        (self.scope if self.waiting is None else self.waiting).cancel()


class Jobs:
    """A `cortex.turn.Later`. Use it as an async context manager."""

    def __init__(
        self,
        records: JobRecords,
        lease: Lease,
        settings: Settings,
        energy: Ledger,
        switch: Switch,
        *,
        emit: Callable[[Signal], bool] = lambda _: False,
        wake: Wake | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`emit` gives the signal to the neurons, and returns whether that starts a turn already."""
        self._records = records
        self._lease = lease
        self._settings = settings
        self._energy = energy
        self._switch = switch
        self._emit = emit
        self._wake = wake
        self._now = now
        self._jobs: dict[str, _Job] = {}
        self._wakes: list[float] = []
        self._leads = self._is_closing = False

    @property
    def wakes(self) -> bool:
        """Whether the end of a job starts a turn."""
        return self._wake is not None

    async def __aenter__(self) -> Self:
        self._disk = anyio.CapacityLimiter(1)
        self._places = anyio.CapacityLimiter(max(1, self._settings.sandbox.max_concurrent // 2))
        self._one_wake, self._leading = anyio.Lock(), anyio.Lock()
        self._tasks = await anyio.create_task_group().__aenter__()
        try:
            await self._take_lead()
            self._tasks.start_soon(self._watch_owner)
        except BaseException:
            self._tasks.cancel_scope.cancel()
            await self._tasks.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._is_closing = True
        for job in list(self._jobs.values()):
            job.stop("cut_short", "The host is stopping")
        with anyio.CancelScope(shield=True), anyio.move_on_after(STOPPING_S):
            for job in list(self._jobs.values()):
                await job.ended.wait()
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(None, None, None)
        if self._leads:
            self._lease.release()
        self._lease.close()
        self._records.close()

    # For turns

    async def begin(self, intent: RunCodeIntent, wish: Wish, services: Services, caller: Caller) -> Begun | Executed:
        """Start a job, and return once its energy is taken and its record is on disk; or return why it does not start.
        Raises what `execute` raises."""
        if not self._leads:
            await self._take_lead()
        if not self._leads:
            return NotRun(Denied("Another process runs the jobs of this home: leave `later` out"))
        if len(self._jobs) >= MAX_UNDER_WAY or self._is_closing:
            return NotRun(Denied(f"{len(self._jobs)} jobs are under way; wait until one has ended"))
        payload, handle = intent.payload, new_handle()
        whose = conversation_hash(caller.conversation)
        job = _Job(JobRecord(handle, whose, payload.purpose, payload.tier, 0.0, "", self._now()))
        self._jobs[handle] = job
        self._tasks.start_soon(self._run, job, intent, wish, services, caller)
        try:
            await job.decided.wait()
        except BaseException:
            job.stop("cancelled", "The call was cancelled")
            raise
        if job.fault is not None:
            raise job.fault
        if job.answer is not None:
            return job.answer
        assert job.started is not None
        return Begun(handle, _as_text(handle, "waiting", limitMs=payload.timeout), job.started.level, self.wakes)

    async def look(self, handle: str, conversation: str | None, *, cancel: bool = False) -> JobLook:
        """How a job of this conversation stands, from its record; its reply once it has ended. Runs nothing."""
        record = await self._in_thread(lambda: self._records.find(handle, conversation))
        if record is None:
            return JobLook(denied("There is no such job in this conversation"), ok=False)
        job = self._jobs.get(handle)
        if cancel and job is not None and record.is_under_way:
            job.stop("cancelled", "The job was cancelled")
            with anyio.move_on_after(STOPPING_S):
                await job.ended.wait()
            record = await self._in_thread(lambda: self._records.find(handle, conversation)) or record
        if record.is_under_way and self._leads and handle not in self._jobs:
            # It has just ended; or its end could not be written down.
            record = await self._in_thread(lambda: self._records.find(handle, conversation)) or record
            if record.is_under_way:
                return JobLook(CUT_SHORT, ok=False)
        if record.reply is not None:
            ended = record
            displayed = await self._in_thread(lambda: self._records.displays(ended))
            return JobLook(record.reply, ok=record.ok, displayed=displayed)
        for_s = max(0.0, self._now() - record.at)
        return JobLook(_as_text(handle, record.state, forSeconds=round(for_s)), ok=True)

    def cancel(self, handle: str) -> bool:
        """Stop a job of this process, for the owner; returns whether it was under way."""
        job = self._jobs.get(handle)
        if job is not None:
            job.stop("cancelled", "The owner cancelled the job")
        return job is not None

    def list(self) -> list[JobRecord]:
        """All jobs that are kept, oldest first. Reads the disk."""
        return self._records.all()

    # The run

    async def _run(self, job: _Job, intent: RunCodeIntent, wish: Wish, services: Services, caller: Caller) -> None:
        def announce(event: CortexEvent) -> None:
            caller.announce(event)
            if isinstance(event, ExecutionStarted):
                job.started = event

        done: Executed | None = None
        try:
            with job.scope:
                runtime = _WaitingRuntime(
                    services.runtime, job, self._kept, self._begun, self._places, self._switch.refusal
                )
                done = await execute(
                    intent, wish, replace(services, runtime=runtime), replace(caller, announce=announce)
                )
        except Exception as error:  # noqa: BLE001 - raised in `begin`, or written into the record
            job.fault = error
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(STOPPING_S):
                await self._end(job, done, intent, caller)
            self._jobs.pop(job.record.handle, None)
            job.decided.set()
            job.ended.set()
        if job.is_kept and not self._is_closing:
            await self._tell(job.record)

    async def _kept(self, job: _Job) -> str | None:
        """Write the record of a job that has its energy. Returns why that was not possible."""
        assert job.started is not None
        started = job.started
        job.record = replace(
            job.record, cost=started.cost, code_hash=started.code_hash, reservation=started.reservation
        )
        try:
            await self._in_thread(lambda: self._records.write(job.record))
        except _DISK_FAULTS as error:
            log.warning("Cannot write a job down: %s", error)
            return "The job cannot be written down"
        job.is_kept = True
        job.decided.set()
        return None

    async def _begun(self, job: _Job) -> None:
        """On disk before anything runs: what has begun stays paid, whatever becomes of the host."""
        job.record = replace(job.record, state="running")
        await self._in_thread(lambda: self._records.write(job.record))

    async def _end(self, job: _Job, done: Executed | None, intent: RunCodeIntent, caller: Caller) -> None:
        if not job.is_kept:
            job.answer = done if done is not None or job.fault is not None else NotRun(Denied(job.why))
            return
        state: State
        ok = False
        displayed: tuple[Displayed, ...] = ()
        match done:
            case Ran(outcome, text):
                state, ok = ("done" if outcome.ok else "failed"), outcome.ok
                displayed = done.displayed
            case NotRun(refusal, code_hash):
                state, text = job.stopped or "refused", reason_of(refusal).text
                caller.announce(Refused("core.execute", text, intent, caller.id, code_hash))
            case HostFailed(error):
                state, text = "failed", reason_of_fault(error).text
            case _:
                state, text = job.stopped or "cut_short", CUT_SHORT
                if job.fault is not None:
                    state, text = "failed", reason_of_fault(job.fault).text
                elif job.stopped == "cancelled":
                    text = failed("CrashError", f"{job.why}; {MAY_HAVE_HAPPENED}")
        if not isinstance(done, Ran):
            text = await caller.show(text)
        try:
            # Before its end is written: who sees that it has ended sees what it displayed.
            job.record = await self._in_thread(lambda: self._records.keep_displays(job.record, displayed))
        except _DISK_FAULTS as error:
            log.warning("Cannot write down what a job displayed: %s", error)
        # A job that ends because the host stops is told by the next process.
        job.record = replace(job.record.ended(state, text, self._now(), ok=ok), is_told=not self._is_closing)
        try:
            await self._in_thread(lambda: self._records.write(job.record))
            await self._in_thread(self._records.forget_old)
        except _DISK_FAULTS as error:
            log.warning("Cannot write the end of a job down: %s", error)

    # Its end

    async def _tell(self, record: JobRecord) -> None:
        """Send the signal of an ended job, once. No failure of a listener ends anything."""
        data = {
            "job": record.handle,
            "purpose": record.purpose,
            "state": record.state,
            "ok": record.ok,
            "reply": cut(record.reply or "", MAX_SIGNAL_REPLY_BYTES),
        }
        signal = Signal(JOB_ENDED, "cortex", data, at=self._now())
        try:
            starts_turn = self._emit(signal)
            if self._wake is None or starts_turn or self._switch.refusal() is not None or not self._may_wake():
                return
            # First on disk: wakes are counted over restarts, too.
            await self._in_thread(lambda: self._records.woke(record))
            async with self._one_wake:
                await self._wake(signal)
        except Exception:
            log.exception("The end of a job could not be told")

    def _may_wake(self) -> bool:
        now = self._now()
        self._wakes = [at for at in self._wakes if 0 <= now - at < HOUR_S]
        if len(self._wakes) >= self._settings.neurons.max_wakes_per_hour:
            log.warning("A job has ended, and the agent was woken often enough this hour")
            return False
        self._wakes.append(now)
        return True

    # One process of a home

    async def _take_lead(self) -> None:
        """Become the process that runs the jobs, if no other one is; then settle what an earlier one left."""
        async with self._leading:
            if self._leads or not self._lease.try_take():
                return
            await self._settle()
            # Last: a job that began before would be taken for one of an earlier process.
            self._leads = True

    async def _settle(self) -> None:
        try:
            await settle_left(self._records, self._energy)
            await self._in_thread(self._records.asked_to_cancel)  # of jobs that have ended now
            await self._in_thread(self._records.forget_old)
            records = await self._in_thread(self._records.all)
            self._wakes += [record.woke_at for record in records if record.woke_at is not None]
            untold = await self._in_thread(self._records.untold)
            for record in untold:
                told = replace(record, is_told=True)
                await self._in_thread(partial(self._records.write, told))
                self._tasks.start_soon(self._tell, told)
        except _DISK_FAULTS as error:
            log.warning("Cannot settle the jobs of an earlier process: %s", error)

    async def _watch_owner(self) -> None:
        """Cancel what the owner asks another process to cancel: `cortex jobs cancel`. Looks as often as for the kill
        switch, and only while there are jobs."""
        seen: object = None
        while True:
            await anyio.sleep(self._settings.neurons.kill_poll_ms / 1_000)
            if not self._jobs:
                continue
            try:
                stamp = await self._in_thread(self._records.stamp_of_requests)
                if stamp != seen:
                    for handle in await self._in_thread(self._records.asked_to_cancel):
                        self.cancel(handle)
                seen = stamp
            except _DISK_FAULTS as error:
                log.warning("Cannot look whether the owner wants a job cancelled: %s", error)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        # Not abandoned: what is being written is written, and only then is anything else.
        return await anyio.to_thread.run_sync(work, limiter=self._disk)


class _WaitingRuntime:
    """A runtime for one job: what it runs waits for a place among the jobs first."""

    def __init__(
        self,
        runtime: CodeRuntime,
        job: _Job,
        kept: Callable[[_Job], Any],
        begun: Callable[[_Job], Any],
        places: anyio.CapacityLimiter,
        refusal: Callable[[], str | None],
    ) -> None:
        self._runtime = runtime
        self._job = job
        self._kept = kept
        self._begun = begun
        self._places = places
        self._refusal = refusal

    async def execute(
        self, request: ExecutionRequest, tools: HostTools | None = None, **given: Any
    ) -> ExecutionOutcome:
        job = self._job
        trouble = await self._kept(job)
        if trouble is not None:
            return _refused(trouble)
        with anyio.CancelScope() as job.waiting:
            if job.stopped is None:
                await self._places.acquire_on_behalf_of(job)
        job.waiting = None
        if job.stopped is not None:
            with suppress(RuntimeError):  # it was stopped before it had a place
                self._places.release_on_behalf_of(job)
            return _refused(job.why)
        try:
            # Not left to the runtime: only what surely has not begun gives its energy back.
            killed = self._refusal()
            if killed is not None:
                return _refused(killed)
            await self._begun(job)
            return await self._runtime.execute(request, tools, **given)
        finally:
            self._places.release_on_behalf_of(job)


def _refused(why: str) -> ExecutionOutcome:
    return ExecutionOutcome(ok=False, error=ExecutionError(ErrorType.LIMIT, why), refused=True)


def _as_text(handle: str, state: str, **more: Any) -> str:
    return to_json({"job": handle, "state": state, **more}).decode()
