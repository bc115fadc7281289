"""DenoRuntime, the entry point of the sandbox: takes a request, waits for a slot and a process, returns an outcome."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import anyio
import anyio.abc

from .contracts import (
    MIB,
    ErrorType,
    ExecutionError,
    ExecutionOutcome,
    ExecutionRequest,
    Metrics,
    NothingMayRun,
    RunFault,
    RunTerms,
    SandboxUnavailable,
    encode,
    mistake_in,
    refused,
    run_frame,
)
from .guard import Program, ProgramReader
from .jail import Layer, Wall
from .ports import SandboxSettings
from .process import NOT_NOTED, Running, deno_command, find_deno
from .run import (
    Answer,
    Bridge,
    GrantRefused,
    Grants,
    Pool,
    Run,
    RunExchange,
    available_bytes,
    has_room,
    may_vary,
    surely_has_room,
)
from .wall import open_spawner

if TYPE_CHECKING:
    from .contracts import ResidentProgram
    from .network import NetworkPolicy
    from .ports import HostTools, Resident, Store
    from .process import Command, HeadStart, Spawner
    from .run import Worker
    from .workspace import Workspace


# How often a waiting run checks whether other runs have freed enough memory.
MEMORY_LOOK_S = 0.05
NO_MEMORY = "This machine had no memory left for one more execution; try again later, or lower sandbox.max_memory_mb"


class Times(NamedTuple):
    """When the execution was requested, asked for a process, got one, and ended."""

    began: float
    asked: float
    started: float
    ended: float


@dataclass(eq=False, slots=True)
class _Place:
    """Memory that is reserved for a run."""

    wanted_bytes: int
    worker: Worker | None = None
    """Set once the run has a process."""

    def promised_bytes(self) -> int:
        """The part that the run has not taken yet."""
        return self.wanted_bytes if self.worker is None else self.worker.promised_bytes()


class DenoRuntime:
    """Runs each piece of code in a Deno process of its own, from a warm pool.

    Use it as an async context manager: the pool lives inside. `execute` may be called from any number of tasks.
    """

    def __init__(
        self,
        settings: SandboxSettings | None = None,
        *,
        head_start: HeadStart | None = None,
        running: Running = NOT_NOTED,
    ) -> None:
        self.settings = settings or SandboxSettings()
        self._head_start = head_start
        self._slots = anyio.Semaphore(self.settings.max_concurrent, fast_acquire=True)
        self._queued = 0
        self._places: set[_Place] = set()
        """Memory reserved for runs, not for residents: one run may always start, however many residents there are."""
        self._residents: set[Worker] = set()
        self._next_to_begin = anyio.Lock(fast_acquire=True)
        self._programs = ProgramReader()
        self._stack = AsyncExitStack()
        self._running = running.also(lambda: self._stopped)
        self._stopped: str | None = None
        self._tasks: anyio.abc.TaskGroup | None = None
        self._opening: anyio.Event | None = None
        self._trouble: SandboxUnavailable | None = None
        self._pool: Pool | None = None
        self._spawner: Spawner | None = None
        self._version: str | None = None
        self.wall = Wall()
        """The layers behind Deno's permissions; known once the runtime is open."""

    async def __aenter__(self) -> Self:
        """Start the pool. Raises SandboxUnavailable, with what to do, when this machine cannot run Deno.

        While running is forbidden, nothing is started: the pool then starts with the first use after it is allowed.
        """
        if self._tasks is not None:
            raise RuntimeError("the runtime is open already: open another one, or share this one between tasks")
        tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._programs = await self._stack.enter_async_context(ProgramReader())
        try:
            if self.refusal() is None:
                await self._open(tasks)
        except SandboxUnavailable as error:
            # Raise only a fault of the machine. If running is or was forbidden, the pool starts with the first use.
            if not isinstance(error, NothingMayRun) and self.refusal() is None:
                await self._leave(tasks)
                raise
        except BaseException:
            await self._leave(tasks)
            raise
        self._tasks = tasks
        return self

    async def _open(self, tasks: anyio.abc.TaskGroup) -> None:
        head_start, self._head_start = self._head_start, None
        command = self._command()
        self._version = command.version()
        spawner, self.wall = await open_spawner(
            command, self.settings, tasks, self._layers(), head_start, self._running
        )
        pool = Pool(spawner, self.settings, tasks, refusal=self.refusal)
        try:
            tasks.start_soon(pool.maintain)
            await pool.warm_up()
        except BaseException:
            await _end(pool, spawner)
            raise
        self._pool, self._spawner = pool, spawner
        if self._stopped is not None:
            self.stop(self._stopped)

    async def _opened(self) -> Pool:
        """The pool, started now if it was not yet. Raises SandboxUnavailable when it cannot be started."""
        if self._pool is None and self._tasks is not None:
            if self._opening is None:
                # In a task of the runtime: the first caller may be cancelled while others still wait.
                self._opening = anyio.Event()
                self._tasks.start_soon(self._open_late, self._tasks, self._opening)
            await self._opening.wait()
        if self._pool is None:
            closed = SandboxUnavailable("The runtime was closed while the code waited for its turn")
            raise self._trouble or closed
        return self._pool

    async def _open_late(self, tasks: anyio.abc.TaskGroup, done: anyio.Event) -> None:
        self._trouble = None
        try:
            await self._open(tasks)
        except SandboxUnavailable as error:
            self._trouble = error
        finally:
            self._opening = None
            done.set()

    async def __aexit__(self, *exc: object) -> None:
        pool, self._pool = self._pool, None
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            await self._close(pool, tasks)

    @property
    def version(self) -> str:
        """A string that changes when the Deno binary, the harness or a flag changes: the same string, the same
        behaviour. Raises SandboxUnavailable when there is no Deno."""
        if self._version is None:
            self._version = self._command().version()
        return self._version

    def refusal(self) -> str | None:
        """Why nothing may run; None while code may run."""
        return self._running.refusal()

    def stop(self, reason: str) -> None:
        """Kill everything that runs, now, and refuse every new request with this reason, until `allow`."""
        self._stopped = reason
        if self._pool is not None:
            self._pool.pause(reason)  # first: the pool must not replace the killed processes
        if self._spawner is not None:
            self._spawner.kill_all()
        self._programs.kill()

    def allow(self) -> None:
        """Undo `stop`."""
        self._stopped = None
        if self._pool is not None:
            self._pool.resume()

    async def execute(
        self,
        request: ExecutionRequest,
        tools: HostTools | None = None,
        *,
        network: NetworkPolicy | None = None,
        workspace: Workspace | None = None,
        store: Store | None = None,
    ) -> ExecutionOutcome:
        """Run the code once. Never raises for anything that the code, its limits or its tools do.

        In the network tier the code reaches the hosts that `network` allows, or without it those of the settings. A
        workspace is a folder that the code sees and changes: the changes are in `outcome.changes`, and on disk only
        once the caller commits them. With a store, the code keeps values in it, under the name `store`.
        """
        outcome = await self._execute(request, tools, network, workspace, store)
        if outcome.refused:
            return replace(outcome, metrics=Metrics(level=self.wall.level, layers=self.wall.held))
        return outcome

    @asynccontextmanager
    async def resident(
        self,
        program: ResidentProgram,
        tools: HostTools | None = None,
        *,
        network: NetworkPolicy | None = None,
        workspace: Workspace | None = None,
    ) -> AsyncIterator[Resident]:
        """Run a program in a process of its own that stays and answers signals for as long as the block lasts.

        With a workspace it is given one signal at a time, and each answer has the changes that it would make.

        Raises SandboxUnavailable when no process is available, or a secret of the policy is missing. Mistakes in the
        code are reported by its answers.
        """
        # Imported here: a single run does not need them.
        from .resident import (  # noqa: PLC0415
            Source,
            open_resident,
        )

        if self._tasks is None:
            raise RuntimeError("the runtime is not open: use it as `async with DenoRuntime() as runtime`")
        policy = network or self.settings.network
        source = Source(self._take, self._running.of(program.name))
        async with open_resident(program, self.settings, source, self._tasks, tools, policy, workspace) as resident:
            yield resident

    async def _take(self) -> tuple[Worker, Spawner]:
        """Take a process from the pool for a resident; with the spawner that can kill it. Raises SandboxUnavailable."""
        pool = self._pool or await self._opened()
        worker = await pool.acquire()
        worker.on_long_run()  # refills its place in the pool at once
        worker.on_long_run = lambda: None
        self._residents = {other for other in self._residents if other.promised_bytes()} | {worker}
        if self._spawner is None:
            pool.release(worker)
            raise SandboxUnavailable("Cannot start Deno: the runtime is closed")
        return worker, self._spawner

    async def _execute(
        self,
        request: ExecutionRequest,
        tools: HostTools | None,
        network: NetworkPolicy | None,
        workspace: Workspace | None,
        store: Store | None,
    ) -> ExecutionOutcome:
        began = anyio.current_time()
        if self._tasks is None:
            raise RuntimeError("the runtime is not open: use it as `async with DenoRuntime() as runtime`")
        refusal = self._stopped_outcome() or refusal_of(request, self.settings)
        if refusal is not None:
            return refusal
        try:
            context = encode(request.context)
        except ValueError as error:
            return refused(ErrorType.LIMIT, f"Cannot send the context: {error}")
        if len(context) > self.settings.max_context_bytes:
            message = f"{len(context)} bytes are more than {self.settings.max_context_bytes}"
            return refused(ErrorType.LIMIT, f"Cannot send the context: {message}")
        program = await self._programs.program(request.code)
        place = await self._take_turn(request)
        if isinstance(place, str):
            return refused(ErrorType.LIMIT, place)
        try:
            policy, limits = network or self.settings.network, self.settings.workspace
            async with Grants(request.tier, policy, workspace, limits) as grants:
                run = self._prepare(request, program, context, tools, grants, store)
                return await self._run(run, grants, began, place)
        except GrantRefused as error:
            return refused(ErrorType.PERMISSION, str(error))
        finally:
            self._places.discard(place)
            self._slots.release()

    def _prepare(
        self,
        request: ExecutionRequest,
        program: Program,
        context: bytes,
        tools: HostTools | None,
        grants: Grants,
        store: Store | None,
    ) -> Run:
        settings = self.settings
        bridge = Bridge(tools, settings, grants.network, grants.files, self.refusal, store)
        # True from the start when the request is not deterministic, or uses what a run cannot detect, as an import.
        has_varied = not request.deterministic or may_vary(request.code) is not None
        terms = RunTerms(
            tools=bridge.manifest(),
            tier=request.tier,
            workspace=bridge.has_files,
            deterministic=("wholly" if has_varied else "plain") if request.deterministic else None,
            max_result_bytes=settings.max_result_bytes,
            max_output_bytes=settings.max_output_bytes,
            max_frame_bytes=settings.max_frame_bytes,
        )
        timeout_ms = min(request.timeout_ms or settings.default_timeout_ms, settings.max_timeout_ms)
        limits = (settings.max_displays, settings.max_displayed_bytes)
        return Run(
            request.code,
            run_frame(program.code, context, terms, limits, seed=request.seed, clock_ms=request.clock_ms),
            timeout_ms,
            bridge,
            request.tier,
            request.max_memory_mb,
            has_varied=has_varied,
            written_at=program.written_at,
        )

    async def _take_turn(self, request: ExecutionRequest) -> _Place | str:
        """Wait for a free slot and for memory, first come, first served. Returns the reason as a string when the queue
        is full or the wait too long."""
        give_up = anyio.current_time() + self.settings.queue_timeout_ms / 1000
        try:
            self._slots.acquire_nowait()
        except anyio.WouldBlock:
            if self._queued >= self.settings.max_queued:
                return self._no_turn()
            self._queued += 1
            try:
                with anyio.CancelScope(deadline=give_up) as wait:
                    await self._slots.acquire()
            finally:
                self._queued -= 1
            if wait.cancelled_caught:
                return self._no_turn()
        wanted_mb = min(request.max_memory_mb or self.settings.max_memory_mb, self.settings.max_memory_mb)
        place = _Place(wanted_mb * MIB)
        # A run that is alone never waits for memory.
        if self._places and not await self._has_memory(place, give_up):
            self._slots.release()
            return NO_MEMORY
        self._places.add(place)
        return place

    async def _has_memory(self, place: _Place, give_up: float) -> bool:
        """Wait until the machine has enough memory for one more run; False when that takes too long."""
        try:
            with anyio.CancelScope(deadline=give_up):
                async with self._next_to_begin:
                    while self._places and not self._fits(place.wanted_bytes):  # noqa: ASYNC110 - others free it, too
                        await anyio.sleep(MEMORY_LOOK_S)
                    return True
        except BaseException:
            self._slots.release()
            raise
        return False

    def _fits(self, wanted_bytes: int) -> bool:
        others: list[_Place | Worker] = [*self._places, *self._residents]
        if surely_has_room(wanted_bytes, len(others)):
            return True
        return has_room(wanted_bytes, (other.promised_bytes() for other in others), self._available_bytes())

    def _no_turn(self) -> str:
        limit = self.settings.max_concurrent
        if self._queued >= self.settings.max_queued:
            return f"{limit} executions are running and {self._queued} are waiting; try again later"
        return f"{limit} executions were running for {self.settings.queue_timeout_ms} ms; try again later"

    async def _run(self, run: Run, grants: Grants, began: float, place: _Place) -> ExecutionOutcome:
        asked = anyio.current_time()
        try:
            pool = self._pool or await self._opened()
            worker = await (pool.acquire() if run.max_memory_mb is None else self._narrowed(pool, run.max_memory_mb))
        except SandboxUnavailable as error:
            return refused(ErrorType.CRASH, str(error))
        started = anyio.current_time()
        # Checked last: from here on the kill switch kills the process; until here it keeps the run from starting.
        if (stopped := self._stopped_outcome()) is not None:
            pool.release(worker)
            return stopped
        place.worker = worker
        try:
            answer: Answer | RunFault = await RunExchange(worker, run, self.settings).hold()
        except RunFault as fault:
            answer = self._with_reason(fault)
        finally:
            pool.release(worker)
        ended = anyio.current_time()
        cpu_ms = await worker.cpu_ms((ended - started) * 1000)
        metrics = self._metrics(run, worker, Times(began, asked, started, ended), cpu_ms)
        logs = tuple(run.logs)
        same_again = run.has_answered and not run.has_varied
        calls = run.bridge.made.counts()
        if isinstance(answer, RunFault):
            return ExecutionOutcome(
                ok=False,
                error=answer.error,
                logs=logs,
                metrics=metrics,
                deterministic=same_again,
                calls=calls,
                displayed=tuple(run.displays),
            )
        return ExecutionOutcome(
            ok=True,
            result=answer.value,
            logs=logs,
            metrics=metrics,
            result_bytes=answer.original_bytes,
            changes=grants.changes(),
            deterministic=same_again,
            has_value=answer.has_value,
            calls=calls,
            displayed=tuple(run.displays),
        )

    async def _narrowed(self, pool: Pool, max_memory_mb: int) -> Worker:
        """Take a process and lower its memory limit. Raises SandboxUnavailable."""
        worker = await pool.acquire()
        try:
            if self._spawner is not None:
                await worker.narrow(self._spawner, max_memory_mb)
        except BaseException:
            pool.release(worker)
            raise
        return worker

    def _metrics(self, run: Run, worker: Worker, times: Times, cpu_ms: float) -> Metrics:
        network = run.bridge.network
        return Metrics(
            startup_ms=(times.started - times.asked) * 1000,
            execution_ms=(times.ended - times.started) * 1000,
            total_ms=(times.ended - times.began) * 1000,
            cpu_ms=cpu_ms,
            peak_memory_mb=worker.peak_memory_mb(),
            tool_calls=run.bridge.calls,
            fetches=network.requests if network else 0,
            fetched_bytes=network.received_bytes if network else 0,
            failed_calls=run.bridge.failed_calls,
            failed_fetches=run.bridge.failed_fetches,
            level=self.wall.level,
            layers=self.wall.held,
        )

    def _stopped_outcome(self) -> ExecutionOutcome | None:
        reason = self.refusal()
        if reason is None:
            return None
        # The reader of programs runs no code and is in no note, so the kill switch of another process does not find it.
        self._programs.kill()
        return refused(ErrorType.PERMISSION, reason)

    def _with_reason(self, fault: RunFault) -> RunFault:
        """Replace a crash by "The run was stopped", if the process was killed because running is forbidden."""
        stopped = self.refusal()
        if stopped is None or fault.error.type not in {ErrorType.CRASH, ErrorType.MEMORY}:
            return fault
        self._programs.kill()
        return RunFault(ExecutionError(ErrorType.CRASH, f"The run was stopped: {stopped}", stopped=True))

    async def _close(self, pool: Pool | None, tasks: anyio.abc.TaskGroup) -> None:
        try:
            if pool is not None and self._spawner is not None:
                await _end(pool, self._spawner)
        finally:
            # In `finally`: the task group must be left, and wait for its tasks, even when cancelled again.
            await self._leave(tasks)

    async def _leave(self, tasks: anyio.abc.TaskGroup) -> None:
        tasks.cancel_scope.cancel()
        await self._stack.aclose()

    def _available_bytes(self) -> int | None:
        return available_bytes()

    # Not settings. Tests of single layers, or of the layers behind Deno's permissions, override these methods.

    def _command(self) -> Command:
        return deno_command(find_deno(self.settings), self.settings)

    def _layers(self) -> Collection[Layer]:
        return tuple(Layer)


async def _end(pool: Pool, spawner: Spawner) -> None:
    try:
        with anyio.CancelScope(shield=True):
            pool.close()
            await spawner.aclose()
    finally:
        pool.close()  # again: asyncio's own cancellation ignores the shield


def refusal_of(request: ExecutionRequest, settings: SandboxSettings) -> ExecutionOutcome | None:
    """The outcome of a request that must be refused before a process is used; None if it may run."""
    mistake = mistake_in(request.code, settings.max_code_bytes)
    return None if mistake is None else refused(mistake.type, mistake.message)
