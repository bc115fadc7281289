"""`cortex workflow run, resume` and `fork`: begin a run in the journal, then go on with it here or in a process of its
own.

The main thread serves the person: it asks questions and handles Ctrl-C. The cortex runs in a second thread, with an
event loop of its own, as in a chat.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, nullcontext, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio
from anyio.to_thread import run_sync as in_thread

from cortex.settings import Settings, load_settings
from cortex.text import fit, local_time, visible
from cortex.workflows import (
    TERMINAL,
    WORKSPACE,
    JournalError,
    NewEvent,
    RunRow,
    begin_fork,
    checked,
    inputs_from,
    new_id,
    read_plan,
    states_of,
    told_plan,
    with_inputs,
)

from .exits import CODE_FAILED, INTERRUPTED, REFUSED, SUCCESS, WAITING, CommandError
from .options import folder_of, load_existing, own_toolbox, refuse_if_killed, said_again
from .workflow_detach import WAIT_S, detached, noted
from .workflow_journal import chosen_run, journal_of, kept_files
from .workflow_progress import RunProgress
from .workflow_rows import open_questions, question_lines, result_lines, state_facts
from .workflow_tools import found_problems

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from cortex.chat import Asked, Interrupts
    from cortex.motor_cortex import MotorCortex
    from cortex.tools import Owner, Toolbox
    from cortex.turn import Folder
    from cortex.workflows import Plan, RunState, SqliteJournal, Workflows

LOOK_S = 0.25
TICK_S = 1.0
MAX_REASON = 400
"""Characters of the reason at the end of a run. `show --json` has all of it."""
_ENDED = {"done": "is done", "failed": "has failed", "aborted": "was aborted"}
_STANDS_ANEW = frozenset({"run_started", "run_resumed", "checkpoint_saved", "decision_answered", "replanned"})

Left: TypeAlias = Literal["ended", "waits", "interrupted"]
"""Why this process does not go on with the run any more."""
_Inbox: TypeAlias = "SimpleQueue[Asked | Future[Left] | None]"


def run(options: Namespace) -> int:
    settings = load_settings(options.config, home=options.home, **options.changed)
    plan = checked(read_plan(options.file))
    plan = with_inputs(plan, inputs_from(options.input, plan))
    folder = folder_of(options)
    _require_right(plan, options, settings, folder)
    refuse_if_killed(settings)
    if not options.json:
        folders = {} if folder is None else {WORKSPACE: folder}
        print(told_plan(plan, settings, folders=folders).text, file=sys.stderr, flush=True)
    now = time.time()
    new = RunRow(options.id or new_id(), plan, plan.hash, energy_budget=options.energy_budget, at=now)
    told = NewEvent("run_queued", {"plan": plan.name, "plan_hash": plan.hash, "by": new.started_by}, now)
    with journal_of(settings, makes=True) as journal:
        begun = _begun(journal, new, told)
        if begun.status in TERMINAL:
            raise CommandError(f'run "{begun.id}" has ended already ({begun.status}): choose another --id', REFUSED)
    return _go_on(begun.id, options, settings)


def _begun(journal: SqliteJournal, new: RunRow, told: NewEvent) -> RunRow:
    """The new run, or that of the same id. Raises CommandError, with an exit code that no run has, for another plan."""
    try:
        return journal.begin(new, [told])
    except JournalError as error:
        with suppress(JournalError):
            if journal.load(new.id).run.plan_hash != new.plan_hash:
                raise CommandError(str(error), REFUSED) from error
        raise


def resume(options: Namespace) -> int:
    if options.background:
        settings = load_settings(options.config, home=options.home, **options.changed)
    else:
        settings = load_existing(options)
    with journal_of(settings) as journal:
        state = chosen_run(journal, options.run)
    if state.run.status in TERMINAL:
        again = f"cortex workflow fork {state.run.id} --at TASK"
        raise CommandError(f'run "{state.run.id}" has ended ({state.run.status}): {again} goes on from it', REFUSED)
    refuse_if_killed(settings)
    return _go_on(state.run.id, options, settings)


def fork(options: Namespace) -> int:
    settings = load_existing(options)
    with journal_of(settings) as journal:
        state = chosen_run(journal, options.run)
        plan = state.run.plan
        if options.file is not None:
            plan = checked(read_plan(options.file))
            plan = with_inputs(plan, inputs_from(options.input, plan))
        elif options.input:
            raise CommandError("--input needs the FILE of a plan: the plan of the run has its inputs already")
        _require_right(plan, options, settings, folder_of(options))
        refuse_if_killed(settings)
        id_ = options.id or new_id()
        given = (journal, kept_files(settings), state, options.at, plan, id_)
        if begin_fork(*given, worker=f"fork-{new_id()}", now=time.time()) is None:
            raise CommandError(f'another process forks "{id_}" at this moment', REFUSED)
        begun = journal.load(id_).run
    if begun.status in TERMINAL:
        raise CommandError(f'run "{id_}" has ended already ({begun.status}): choose another --id', REFUSED)
    return _go_on(id_, options, settings)


def _require_right(plan: Plan, options: Namespace, settings: Settings, folder: Folder | None) -> None:
    """Before anything is kept: what is certain to go wrong."""
    wrong = [str(problem) for problem in found_problems(plan, options, settings, folder) if problem.is_certain]
    if wrong:
        raise CommandError("; ".join(wrong[:10]) + (f"; and {len(wrong) - 10} more" if len(wrong) > 10 else ""))


def _go_on(run_id: str, options: Namespace, settings: Settings) -> int:
    if options.detach:
        pid, log = detached(run_id, options, settings)
        if options.json:
            print(json.dumps({"run": run_id, "status": "queued", "pid": pid, "log": str(log)}))
        else:
            print(visible(run_id))
            look = f"cortex workflow show {run_id}{said_again(options)}"
            print(f'It goes on in process {pid}, whose log is "{log}". Look: {look}', file=sys.stderr)
        return SUCCESS
    if not options.json:
        print(f"Run {visible(run_id)}", file=sys.stderr, flush=True)
    with journal_of(settings) as journal:
        after = _last_event(journal, run_id)
    with noted(settings) if options.background else nullcontext():
        left = _here(run_id, after, options, settings)
    with journal_of(settings) as journal:
        state = journal.load(run_id)
    return _tell_end(state, left, options)


def _last_event(journal: SqliteJournal, run_id: str) -> int:
    last = 0
    while found := journal.events(run_id, last):
        last = found[-1].seq
    return last


def _here(run_id: str, after: int, options: Namespace, settings: Settings) -> Left:
    """Go on with the run in this process, until it ends, waits too long, or Ctrl-C."""
    from anyio.from_thread import start_blocking_portal

    from cortex.chat import ConsoleOwner, Interrupts
    from sandbox import SandboxError

    toolbox = own_toolbox(options.tools) if options.tools is not None else None
    folder = folder_of(options)
    progress = RunProgress(sys.stderr, is_quiet=options.json)
    # Questions go to a terminal, never into JSON that a program reads.
    is_there = sys.stdin.isatty() and sys.stderr.isatty() and not options.json
    inbox: _Inbox = SimpleQueue()
    owner = ConsoleOwner(inbox.put, progress.held, is_there=is_there)
    with ExitStack() as stack:
        stack.enter_context(progress.beside_logs())
        interrupts = stack.enter_context(Interrupts(lambda: inbox.put(None)))
        cortex = _cortex(settings, toolbox, owner, folder)
        portal = stack.enter_context(start_blocking_portal())
        try:
            stack.enter_context(portal.wrap_async_context_manager(cortex))
        except SandboxError as error:
            raise CommandError(str(error), REFUSED) from error
        follower = portal.call(_Follower, run_id, after, progress, options.wait)  # it needs the event loop
        done = portal.start_task_soon(follower.follow, cortex)
        done.add_done_callback(inbox.put)
        return _served(inbox, done, portal, follower, interrupts)


def _cortex(settings: Settings, toolbox: Toolbox | None, owner: Owner, folder: Folder | None) -> MotorCortex:
    from cortex.motor_cortex import MotorCortex
    from sandbox import WorkspaceError

    try:
        return MotorCortex(settings, toolbox=toolbox, owner=owner, workspace=folder)
    except WorkspaceError as error:
        raise CommandError(f"--workspace: {error}") from error


def _served(
    inbox: _Inbox, done: Future[Left], portal: BlockingPortal, follower: _Follower, interrupts: Interrupts
) -> Left:
    """Answer questions and interrupts until the follower is done."""
    from cortex.chat import ask

    while True:
        match inbox.get():
            case None:
                portal.call(follower.stop)
            case Future():
                return done.result()
            case asked:
                try:
                    with interrupts.raised():
                        asked.decision = ask(asked, sys.stdin, sys.stderr)
                except KeyboardInterrupt:
                    portal.call(follower.stop)
                portal.call(asked.closed.set)


class _Follower:
    """Goes on with one run in the thread of the cortex, and tells what happens behind the event `after`."""

    def __init__(self, run_id: str, after: int, progress: RunProgress, wait_s: int | None) -> None:
        self._run = run_id
        self._after = after
        self._progress = progress
        self._wait_s = wait_s
        self._scope = anyio.CancelScope()
        self._rests = anyio.Event()
        self._told = anyio.Event()
        self._left: Left = "ended"

    def stop(self) -> None:
        self._left = "interrupted"
        self._scope.cancel()

    async def follow(self, cortex: MotorCortex) -> Left:
        """Return when the run has ended, waits, or is to be left. Raises what stops this process from going on."""
        flows = cortex.workflows
        fault: Exception | None = None
        with self._scope:
            await flows.resume(self._run)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._tell, flows)
                tasks.start_soon(self._tick)
                tasks.start_soon(self._watch_rest, flows)
                try:
                    await flows.wait(self._run)
                except Exception as error:  # noqa: BLE001 - raised below: a task group would wrap it
                    fault = error
                with anyio.move_on_after(TICK_S):
                    await self._told.wait()
                tasks.cancel_scope.cancel()
        if fault is not None:
            raise fault
        return self._left

    async def _tell(self, flows: Workflows) -> None:
        async for event in flows.events(self._run, self._after):
            self._progress.tell(event)
            if event.kind in _STANDS_ANEW:
                state = await in_thread(flows.show, self._run)
                states = states_of(state, time.time())
                self._progress.runs([id_ for id_, each in states.items() if each == "running"])
            if event.kind in {"run_waiting", "run_resting"}:
                self._progress.runs(())
                self._rests.set()
        self._told.set()

    async def _tick(self) -> None:
        while True:
            await anyio.sleep(TICK_S)
            self._progress.tick()

    async def _watch_rest(self, flows: Workflows) -> None:
        """Leave the run when it has waited or rested for long enough, and no question is being asked here."""
        while True:
            await self._rests.wait()
            since, look_s = anyio.current_time(), LOOK_S
            while True:
                row = (await in_thread(flows.show, self._run)).run
                if row.status not in {"waiting", "resting"}:
                    break
                if not row.worker and anyio.current_time() - since >= self._patience_s(row):
                    self._left = "waits"
                    self._scope.cancel()
                    return
                await anyio.sleep(look_s)
                look_s = min(2 * look_s, TICK_S)
            self._rests = anyio.Event()

    def _patience_s(self, row: RunRow) -> float:
        if row.status == "resting" and row.wake_at is None:
            return 0  # it does not wake by itself
        if self._wait_s is not None:
            return self._wait_s
        return WAIT_S if row.status == "resting" else 0


def _tell_end(state: RunState, left: Left, options: Namespace) -> int:
    run = state.run
    if left == "interrupted" and run.status in TERMINAL:
        left = "ended"
    if options.json:
        print(json.dumps({**state_facts(state), "left": left}))
    elif left == "ended":
        reason = f": {fit(run.reason, MAX_REASON)}" if run.reason else ""
        print(f"Run {visible(run.id)} {_ENDED.get(run.status, run.status)}{reason}", file=sys.stderr, flush=True)
        for line in result_lines(state):
            print(line)
    else:
        print("\n".join(_left_lines(state, left, options)), file=sys.stderr, flush=True)
    if left == "interrupted":
        return INTERRUPTED
    if left == "waits":
        return WAITING
    return SUCCESS if run.status == "done" else CODE_FAILED


def _left_lines(state: RunState, left: Left, options: Namespace) -> Iterator[str]:
    run = state.run
    for question in open_questions(state):
        yield from question_lines(state, question, options)
    if left == "interrupted":
        yield f"Run {visible(run.id)} stays at its last checkpoint"
    elif run.status == "resting":
        until = "" if run.wake_at is None else f", about until {local_time(run.wake_at, '%H:%M:%S')}"
        yield f"Run {visible(run.id)} rests{until}: {visible(run.reason)}"
        if run.wake_at is None:
            yield f"cortex energy top-up AMOUNT{said_again(options)}"
    else:
        yield f"Run {visible(run.id)} waits for the answer"
    yield f"To go on: cortex workflow resume {visible(run.id)}{said_again(options)}"
