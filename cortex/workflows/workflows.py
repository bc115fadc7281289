"""Workflows, the door to runs of an open cortex: start, resume, decide, abort, fork, wait, and look.

A run goes on in this process only after `start`, `resume` or `fork` here. Nothing begins by itself: neither when a
cortex is opened, nor when the kill switch is turned off again.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import anyio
from anyio.to_thread import run_sync as in_thread

from cortex.contracts import WorkflowStepped
from cortex.energy import EnergyError, Insufficient
from cortex.mcp_config import servers_of
from cortex.tools import policy_of

from .agent_desk import AgentDesk, AgentQuestion
from .answers import AGENT, Replan, Said, as_kept, is_agent, require_fitting, require_fitting_of_agent
from .checking import folder_problem
from .dispatch import DispatchFull, InProcess
from .executor import Executor
from .finishing import finish_kept
from .forking import begin_fork
from .journal import (
    TERMINAL,
    EventRow,
    Fenced,
    JournalError,
    NewEvent,
    RunRow,
    RunState,
    RunStatus,
    TaskRow,
    WorkflowError,
)
from .plan import Plan, PlanError, folded, require_sound
from .plan_text import require_shown_whole
from .progress import finished_of
from .run_record import Killed, Parts
from .single_task import SingleTasks, TaskResult
from .tasks import CodeExecutionTask, McpToolTask

if TYPE_CHECKING:
    from cortex.contracts import Watch
    from cortex.settings import Policy
    from cortex.turn import Folder, Services
    from neurons import Wake
    from sandbox import Tier

    from .dispatch import Dispatch
    from .journal import Journal
    from .kept_files import KeptFiles

log = logging.getLogger("motor_cortex")

LEASE_S = 10.0
SLOTS = 4
"""Runs at a time in one process."""
FOLLOWED_AT_ONCE = 100
"""Events that one who follows a run holds at a time."""
LOOK_S = 0.25
"""How often this process looks for what other processes did to its runs."""
WORKSPACE = "workspace"
"""The name by which a plan means the workspace of the cortex."""
_LAST = frozenset({"run_done", "run_failed", "run_aborted"})


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended."""

    run: RunRow
    tasks: Mapping[str, TaskRow]
    state: Mapping[str, Any]
    """`tasks`, `context`, `decisions` and `messages`, folded in the order of the plan."""

    @property
    def ok(self) -> bool:
        return self.run.status == "done"


@dataclass(slots=True)
class _Mine:
    """A run that this process goes on with, since somebody started or resumed it here."""

    watch: Watch | None = None
    asked: set[str] = field(default_factory=set)
    """Hashes of the questions that an owner who is here was asked: each once."""


class Workflows:
    """The runs of one home, as this process sees and executes them."""

    def __init__(
        self,
        services: Services,
        journal: Journal,
        files: KeptFiles,
        *,
        folders: Mapping[str, Folder] | None = None,
        dispatch: Dispatch | None = None,
        wake: Wake | None = None,
        now: Callable[[], float] = time.time,
        lease_s: float = LEASE_S,
    ) -> None:
        self.lease_s = lease_s
        """How long a process leads a run without a sign of life."""
        self.services = services
        self._journal = journal
        self._files = files
        self._folders = dict(folders or {})
        self._dispatch: Dispatch = InProcess(now) if dispatch is None else dispatch
        self._now = now
        self._desk = AgentDesk(wake, services.settings, now, self._is_open)
        self._worker = f"{socket.gethostname()[:60]}-{os.getpid()}-{secrets.token_hex(4)}"
        self._places = anyio.CapacityLimiter(max(1, services.settings.sandbox.max_concurrent // 2))
        self._single_tasks = SingleTasks(services, self._folders)
        self._mine: dict[str, _Mine] = {}
        # Only as long as somebody waits for one: runs that were followed once leave nothing here.
        self._news: WeakValueDictionary[str, anyio.Event] = WeakValueDictionary()
        self._faults: dict[str, Exception] = {}
        self._hungry: dict[str, tuple[Tier, ...]] = {}
        """Runs that rest here, and the tiers for which the energy was too low."""
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()
        self._is_working = False

    def grant(self, name: str, folder: Folder) -> None:
        """Let code tasks use the folder by that name. Raises WorkspaceError for one in which the home lies."""
        folder.require_apart(self.services.settings.home)
        self._folders[name] = folder

    # What the owner and a program do

    async def start(
        self,
        plan: Plan,
        *,
        id: str | None = None,  # noqa: A002 - as everybody calls it
        by: str = "owner",
        watch: Watch | None = None,
        energy_budget: float | None = None,
        turn: str | None = None,
    ) -> RunRow:
        """Start a run; with the id of a run of the same plan, go on with that one. A run by "agent" waits until the
        owner approves its plan; `turn` is the turn that asked for it. Raises PlanError, JournalError, and WorkflowError
        while the kill switch is on."""
        self._require_acting()
        await in_thread(lambda: self._require_possible(plan))
        if is_agent(by):
            await in_thread(require_shown_whole, plan)
        if energy_budget is not None and not 0 <= energy_budget <= 1_000:
            raise ValueError(f"the energy of a run is a number from 0 to 1000, not {energy_budget}")
        now = self._now()
        hash_ = await in_thread(lambda: plan.hash)
        new = RunRow(id or new_id(), plan, hash_, started_by=by, turn=turn, energy_budget=energy_budget, at=now)
        told = [NewEvent("run_queued", {"plan": plan.name, "plan_hash": hash_, "by": by}, now)]
        run = await in_thread(lambda: self._journal.begin(new, told))
        await self._tell_begun(run.id, now)
        if run.status not in TERMINAL:
            await self._submit(run.id, watch)
        return run

    async def resume(self, run: str, *, watch: Watch | None = None) -> RunRow:
        """Go on with a run in this process, as soon as no other process leads it. Raises NoSuchRun, and WorkflowError
        for a run that has ended and while the kill switch is on."""
        self._require_acting()
        state = await in_thread(lambda: self._journal.load(run))
        if state.run.status in TERMINAL:
            raise WorkflowError(f'run "{run}" has ended ({state.run.status}): fork it to go on from it')
        await in_thread(lambda: self._require_possible(state.run.plan))
        await self._submit(run, watch)
        return state.run

    async def decide(self, run: str, task: str, said: Said, *, shown_hash: str, by: str) -> None:
        """Answer a question of a run: `shown_hash` is that of the question that was shown. Raises PlanError for a new
        plan that is not possible, JournalError if something else is asked by now, and WorkflowError if another answer
        came first."""
        if not by or is_agent(by):
            raise WorkflowError("a question to the owner is answered by the owner: say who that is")
        state = await in_thread(lambda: self._journal.load(run))
        await in_thread(require_fitting, said, state, task)
        await self._answer(run, task, said, shown_hash, by)

    async def decide_as_agent(self, run: str, task: str, said: Said, *, shown_hash: str) -> None:
        """As `decide`, for the agent: only a question that is put to it, and with no plan that reaches further."""
        state = await in_thread(lambda: self._journal.load(run))
        policy = self._policies()
        await in_thread(require_fitting_of_agent, said, state, task, policy)
        await self._answer(run, task, said, shown_hash, AGENT)

    async def _answer(self, run: str, task: str, said: Said, shown_hash: str, by: str) -> None:
        if isinstance(said, Replan):
            await in_thread(lambda: self._require_folders(said.add))
        kept = await in_thread(as_kept, said)
        is_first = await in_thread(
            lambda: self._journal.answer(run, task, kept, shown_hash=shown_hash, by=by, now=self._now())
        )
        if not is_first:
            raise WorkflowError(f'the question of task "{task}" has an answer already: the first one counts')
        if run in self._mine:
            await self._dispatch.submit(run)

    async def abort(self, run: str, reason: str, *, by: str) -> None:
        """Stop a run for good: its processes are killed, the changes of files of the layer under way are discarded. It
        stays at its last checkpoint. Does nothing to a run that has ended."""
        # First on disk: from now on nothing of it can be saved, whoever leads it.
        events = await in_thread(lambda: self._journal.stop(run, reason, by=by, now=self._now()))
        self._tell(run, events)
        await self._dispatch.abort(run)
        state = await in_thread(lambda: self._journal.load(run))
        with anyio.CancelScope(shield=True):
            problem = await finish_kept(self._files, run, state.run.plan, state.tasks, self._folders)
            if problem is not None:
                log.warning("Run %s was aborted, and files of a task that is saved were not written", run)
                await in_thread(self._files.discard, run)

    async def fork(self, run: str, at: str, *, plan: Plan | None = None, id: str | None = None) -> RunRow:  # noqa: A002
        """Start a new run that takes over the results of another one, and begins at that task. A result counts only for
        a task that is given the same. Raises PlanError, JournalError and WorkflowError."""
        self._require_acting()
        state = await in_thread(lambda: self._journal.load(run))
        new = state.run.plan if plan is None else plan
        await in_thread(lambda: self._require_possible(new))
        fork, now = id or new_id(), self._now()
        given = (self._journal, self._files, state, at, new, fork)
        events = await in_thread(partial(begin_fork, *given, worker=self._worker, now=now, lease_s=self.lease_s))
        if events is None:
            raise WorkflowError(f'another process forks "{fork}" at this moment')
        if events:
            await self._tell_begun(fork, now)
            self._tell(fork, events)
            await self._submit(fork, None)
        return (await in_thread(lambda: self._journal.load(fork))).run

    async def wait(self, run: str) -> Result:
        """Wait until the run has ended, wherever it is executed; one that waits for an answer has not. Raises
        NoSuchRun, and what has stopped this process from going on with it."""
        async for _ in self._followed(run, 0, until_fault=True):
            pass
        state = await in_thread(lambda: self._journal.load(run))
        finished = finished_of(state.tasks)
        return Result(state.run, state.tasks, await in_thread(lambda: folded(state.run.plan, finished)))

    async def run_task(
        self,
        task: McpToolTask | CodeExecutionTask,
        context: Mapping[str, Any],
        *,
        key: str | None = None,
        watch: Watch | None = None,
    ) -> TaskResult:
        """Make one attempt at one task, without a run and without a journal: for programs with an orchestrator of their
        own. `context` has the results that the task needs, by name. What goes wrong is in the result. Attempts with the
        same `key`, which names one attempt of the caller, take energy once. Raises PlanError for a task that cannot be
        run with this context, and while another attempt with the same key is under way."""
        return await self._single_tasks.run(task, context, key=key, watch=watch)

    def events(self, run: str, after: int = 0) -> AsyncGenerator[EventRow, None]:
        """The events of a run behind that number, then those that come, until the run has ended: each one once, in
        order, also those of other processes. Who stops before the end closes it: `contextlib.aclosing`."""
        return self._followed(run, after, until_fault=False)

    def past(self, run: str, after: int = 0, limit: int = 1_000) -> Sequence[EventRow]:
        """The events of a run behind that number that there are by now, the first ones. Reads the disk. Raises
        NoSuchRun."""
        return self._journal.events(run, after, limit)

    def list(self, *, limit: int = 100, status: RunStatus | None = None) -> Sequence[RunRow]:
        """The runs, the newest first. Reads the disk."""
        return self._journal.list(limit=limit, status=status)

    def show(self, run: str) -> RunState:
        """All that is known of a run. Reads the disk. Raises NoSuchRun."""
        return self._journal.load(run)

    # What goes on behind

    async def work(self) -> None:
        """Execute the runs of this process until `aclose`."""
        self._is_working = True
        try:
            with self._scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._dispatch.work, self._handle, SLOTS)
                    tasks.start_soon(self._look)
                    tasks.start_soon(self._desk.work)
        finally:
            self._ended.set()

    async def aclose(self) -> None:
        """Stop executing. What was under way goes on with the next `resume`: see `unknown`."""
        self._scope.cancel()
        if self._is_working:
            await self._ended.wait()
        with anyio.CancelScope(shield=True):
            await in_thread(self._journal.close)

    async def _handle(self, run: str) -> None:
        """Claim a run and execute it as far as it goes. Raises nothing but a cancellation."""
        self._hungry.pop(run, None)
        try:
            self._require_acting()
            claim = await in_thread(lambda: self._journal.claim(run, self._worker, self.lease_s, self._now()))
            if claim is None:
                await self._try_later(run)
                return
            self._faults.pop(run, None)
            mine = self._mine.get(run) or _Mine()
            executor = Executor(self._parts(), claim, mine.watch, mine.asked)
            wake_at = await executor.run()
            if executor.lacking:
                self._hungry[run] = executor.lacking
            if wake_at is not None:
                await self._dispatch.submit(run, at=wake_at)
        except Fenced:
            log.info("Run %s has ended, or another process leads it", run)
        except (Killed, WorkflowError) as error:
            await self._kill(run, str(error))
        except Exception as error:
            log.error("Run %s cannot go on in this process: %s", run, error, exc_info=error)
            self._mine.pop(run, None)  # not again and again: until somebody resumes it
            self._faults[run] = error
            self._ring(run)

    async def _try_later(self, run: str) -> None:
        """Another process leads the run, or it has ended."""
        row = (await in_thread(lambda: self._journal.load(run))).run
        if row.status in TERMINAL:
            self._mine.pop(run, None)
        else:
            await self._dispatch.submit(run, at=max(row.lease_until, self._now() + LOOK_S))

    async def _look(self) -> None:
        """Look for answers that other processes have kept, and for the kill switch."""
        poll_s = min(LOOK_S, self.services.settings.neurons.kill_poll_ms / 1_000)
        is_killed = False
        seen = self._now()
        while True:
            await anyio.sleep(poll_s)
            killed = self.services.switch.refusal()
            if killed is not None and not is_killed:
                await self._kill_all(killed)
            is_killed = killed is not None
            if self._mine and not is_killed and abs(self._now() - seen) >= LOOK_S:
                seen = self._now()
                await self._take_up()
                await self._feed()

    async def _take_up(self) -> None:
        try:
            for run in await in_thread(lambda: self._journal.expired(self._now(), 1_000)):
                if run in self._mine:
                    await self._dispatch.submit(run)
        except (JournalError, DispatchFull) as error:
            log.warning("Cannot look for runs that could go on: %s", error)

    async def _feed(self) -> None:
        """Go on with runs that rest, when there is enough energy before the forecast: the owner has topped it up."""

        def lacks(tiers: Sequence[Tier]) -> bool:
            return any(isinstance(self.services.energy.weigh(tier), Insufficient) for tier in tiers)

        for run, tiers in list(self._hungry.items()):
            try:
                if run not in self._mine:
                    self._hungry.pop(run, None)
                elif not await in_thread(lacks, tiers) and self._hungry.pop(run, None) is not None:
                    await self._dispatch.submit(run)
            except (EnergyError, DispatchFull) as error:
                log.warning("Cannot look whether there is enough energy for run %s: %s", run, error)

    async def _kill_all(self, why: str) -> None:
        """Abort every run of this home: none goes on by itself when the switch is turned off."""
        mine = list(self._mine)
        # First of all, and whatever becomes of the journal: what this process executes ends, and is not taken up again.
        self._mine.clear()
        self._hungry.clear()
        async with anyio.create_task_group() as tasks:
            for run in mine:
                tasks.start_soon(self._dispatch.abort, run)
            for run in mine:  # each on its own: one that cannot be read keeps no other from being marked
                await self._kill(run, why)
            try:
                for status in ("running", "queued", "waiting", "resting"):
                    for row in await in_thread(partial(self._journal.list, limit=10_000, status=status)):
                        await self._kill(row.id, why)
                        await self._dispatch.abort(row.id)
            except JournalError as error:
                log.error("Runs cannot be marked as aborted: %s", error)

    async def _kill(self, run: str, why: str) -> None:
        with anyio.CancelScope(shield=True):
            try:
                stop = self._journal.stop
                self._tell(run, await in_thread(lambda: stop(run, why, by="kill switch", now=self._now())))
            except JournalError as error:
                log.error("Run %s cannot be marked as aborted: %s", run, error)
        self._mine.pop(run, None)

    async def _submit(self, run: str, watch: Watch | None) -> None:
        self._mine[run] = _Mine(watch)
        self._faults.pop(run, None)
        await self._dispatch.submit(run)

    def _parts(self) -> Parts:
        return Parts(
            self.services,
            self._journal,
            self._folders,
            self._files,
            self._places,
            self._now,
            self._tell,
            self.lease_s,
            self._policies(),
            self._desk.ask,
        )

    async def _is_open(self, question: AgentQuestion) -> bool:
        state = await in_thread(lambda: self._journal.load(question.run))
        kept = state.decisions.get(question.task)
        is_asked = kept is not None and kept.said is None and kept.shown_hash == question.shown_hash
        return is_asked and state.run.status not in TERMINAL and self.services.switch.refusal() is None

    def _policies(self) -> Callable[[str], Policy | None]:
        """The policy of a tool by its name, in a thread: also of a server that has not been started yet."""
        services = self.services
        limits = services.settings.tools

        @cache
        def policy(name: str) -> Policy | None:
            own = services.toolbox.get(name)
            if own is not None:
                return policy_of(own, limits)
            server = services.workbench.server_of(name)
            known = None if server is None else servers_of(services.settings).get(server)
            return None if known is None else policy_of(_ServerTool(name, known.settings.policy, server), limits)

        return policy

    # Events

    async def _followed(self, run: str, after: int, *, until_fault: bool) -> AsyncGenerator[EventRow, None]:
        at = max(0, after)
        if at:
            last = await in_thread(self._journal.events, run, at - 1, 1)
            if last and last[0].kind in _LAST:
                return
            at = at if last else 0  # nothing has that number yet, and the run may end before
        while True:
            # Before looking: what is saved from now on rings.
            news = self._news.setdefault(run, anyio.Event())
            found = await in_thread(self._journal.events, run, at, FOLLOWED_AT_ONCE)
            for event in found:
                at = event.seq
                if at > after:
                    yield event
                if event.kind in _LAST:
                    return
            if found:
                continue
            if until_fault and run in self._faults:
                raise self._faults[run]
            with anyio.move_on_after(LOOK_S):
                await news.wait()

    async def _tell_begun(self, run: str, now: float) -> None:
        """Announce the first event of a run, if it has just begun here."""
        first = await in_thread(self._journal.events, run, 0, 1)
        if run not in self._mine and first and first[0].at == now:
            self._tell(run, first)

    def _tell(self, run: str, events: Sequence[EventRow], saved_ms: float = 0.0) -> None:
        for event in events:
            stepped = WorkflowStepped(run, event.seq, event.kind, event.data, event.at, saved_ms)
            self.services.spine.announce(stepped)
        if events:
            self._ring(run)
            if events[-1].kind in _LAST:
                self._mine.pop(run, None)

    def _ring(self, run: str) -> None:
        news = self._news.pop(run, None)
        if news is not None:
            news.set()

    # Checks

    def _require_acting(self) -> None:
        killed = self.services.switch.refusal()
        if killed is not None:
            raise WorkflowError(killed)

    def _require_possible(self, plan: Plan) -> None:
        require_sound(plan)
        self._require_folders(plan.tasks)

    def _require_folders(self, tasks: Sequence[Any]) -> None:
        for task in tasks:
            if isinstance(task, CodeExecutionTask) and (problem := folder_problem(task, self._folders)) is not None:
                raise PlanError(f'task "{task.id}": {problem}')


@dataclass(frozen=True, slots=True)
class _ServerTool:
    """A tool as its policy sees it."""

    name: str
    policy: Policy
    server: str | None


def new_id() -> str:
    return f"r{secrets.token_hex(6)}"
