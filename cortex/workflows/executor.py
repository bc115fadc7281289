"""Executes one run that this process leads: layer by layer, each saved as a whole before the next begins.

What is not saved has not happened: a layer whose checkpoint fails is reported nowhere, and its changes of files are
discarded. Work that must not be repeated is saved as running before it starts; if the process ends then, the owner
decides what becomes of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
from anyio.to_thread import run_sync as in_thread

from cortex.audit import AuditError
from cortex.contracts import weight_of_value
from cortex.tools import DECISION, AbsentOwner, Decision, Question, Undecided
from sandbox import SandboxError

from .answers import Approve, Reject, Replan, Value, ended_by, new_plan, require_answerable, said_of
from .attempt_energy import Budget, key_of, taken_before
from .attempts import Attempted, Attempts, Proposal, failed
from .finishing import finish_kept
from .forking import FORKING
from .journal import DecisionRow, Fenced, JournalError, NewEvent, RunState, RunStatus, Saved, TaskRow
from .plan import PlanError, arguments_of, context_of, input_hash
from .progress import finished_of, standing
from .questions import question_about_unknown, question_of
from .tasks import CodeExecutionTask, DecisionTask, McpToolTask, repeats

if TYPE_CHECKING:
    from cortex.contracts import Watch
    from cortex.turn import Folder, Services

    from .journal import Claim, EventRow, Journal
    from .kept_files import KeptFiles
    from .plan import Plan
    from .progress import Standing
    from .tasks import Task

log = logging.getLogger("motor_cortex")

RENEWALS_PER_LEASE = 5
MAX_CONTEXT_BYTES = 32 * 1_048_576
"""What one task is given, about. A sandbox allows less."""
MAX_BACKOFF_S = 5.0


class Killed(Exception):
    """The kill switch is on."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What all runs of one process share."""

    services: Services
    journal: Journal
    folders: Mapping[str, Folder]
    files: KeptFiles
    places: anyio.CapacityLimiter
    """Tasks at a time, of all runs."""
    now: Callable[[], float]
    tell: Callable[[str, Sequence[EventRow]], None]
    """Told of events that are saved."""
    lease_s: float


@dataclass(slots=True)
class _Layer:
    """What came of one layer so far."""

    number: int
    rows: dict[str, list[TaskRow]] = field(default_factory=dict)
    """The attempts at each task, in order. The last one is not settled if nothing ran."""
    events: list[NewEvent] = field(default_factory=list)
    files: dict[str, Proposal] = field(default_factory=dict)
    waits: list[float | None] = field(default_factory=list)
    """Seconds until there is enough energy for a task that lacked it; None for never."""
    why: str = ""

    def drop(self, task: str) -> None:
        proposal = self.files.pop(task, None)
        if proposal is not None and proposal.changes.state == "open":
            proposal.changes.rollback()


class Executor:
    """Executes one run, for as long as the claim holds."""

    def __init__(self, parts: Parts, claim: Claim, watch: Watch | None = None) -> None:
        self._parts = parts
        self._claim = claim
        self._watch = watch
        self._events: list[NewEvent] = []
        self._again: set[str] = set()
        """Tasks whose attempt was made in this process, and is repeated."""
        self._is_over = self._is_fenced = False
        self._asked_owner: set[str] = set()

    async def run(self) -> float | None:
        """Go on until the run ends, waits or rests. Returns when to look at it again; None for not by itself. Raises
        Fenced if another process leads it by now, Killed, JournalError, and what is wrong with the host."""
        fault: Exception | None = None
        wake_at: float | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_lead, tasks.cancel_scope)
                try:
                    wake_at = await self._go_on()
                except Exception as error:  # noqa: BLE001 - raised below: a task group would wrap it
                    fault = error
                tasks.cancel_scope.cancel()
        finally:
            if not (self._is_over or self._is_fenced):
                with anyio.CancelScope(shield=True):
                    await self._release()
        if self._is_fenced:
            raise Fenced(f'another process leads run "{self._claim.run}"')
        if fault is not None:
            raise fault
        return wake_at

    # The lead

    async def _keep_lead(self, scope: anyio.CancelScope) -> None:
        lease_s = self._parts.lease_s
        until = anyio.current_time() + lease_s
        while True:
            await anyio.sleep(lease_s / RENEWALS_PER_LEASE)
            try:
                self._claim = await in_thread(
                    lambda: self._parts.journal.renew(self._claim, lease_s, self._parts.now())
                )
                until = anyio.current_time() + lease_s
            except Fenced:
                self._is_fenced = True
                scope.cancel()
                return
            except JournalError as error:
                log.warning("The lease of a run cannot be renewed: %s", error)
                if anyio.current_time() >= until - lease_s / RENEWALS_PER_LEASE:
                    self._is_fenced = True  # another process may lead it by now
                    scope.cancel()
                    return

    async def _release(self) -> None:
        try:
            await in_thread(lambda: self._parts.journal.release(self._claim))
        except JournalError as error:
            log.warning("The lead of a run cannot be given up before its lease ends: %s", error)

    # The loop

    async def _go_on(self) -> float | None:
        state = await self._load()
        run = state.run
        if await in_thread(lambda: run.plan.hash) != run.plan_hash:
            raise JournalError(f'the plan of run "{run.id}" is not the one that was saved: it is not resumed')
        if run.reason == FORKING:
            await self._end("failed", "the fork was cut short; fork again")
            return None
        self._budget = Budget(run.energy_spent, run.energy_budget)
        self._attempts = Attempts(
            run.id,
            run.plan.name,
            self._parts.services,
            self._parts.folders,
            self._parts.files,
            self._budget,
            self._watch,
            is_repeated=self._claim.epoch > 1,
        )
        self._require_acting()
        await self._take_over()
        while True:
            self._require_acting()
            await self._hear_answers()
            stands = standing(self._plan, self._tasks, self._questions)
            if await self._closed(stands):
                return None
            if not stands.work:
                if stands.to_ask:
                    await self._save(decisions=await self._questions_of(stands))
                    continue
                wake_at = await self._wait(stands)
                if await self._ask_owner(stands):
                    continue
                return wake_at
            rests = await self._layer(stands)
            if rests is not None:
                return rests.wake_at

    def _require_acting(self) -> None:
        killed = self._parts.services.switch.refusal()
        if killed is not None:
            raise Killed(killed)
        self._parts.services.spine.journal.require()

    async def _load(self) -> RunState:
        state = await in_thread(lambda: self._parts.journal.load(self._claim.run))
        self._plan: Plan = state.run.plan
        self._revision = state.run.revision
        self._tasks: dict[str, TaskRow] = dict(state.tasks)
        self._questions: dict[str, DecisionRow] = dict(state.decisions)
        return state

    async def _closed(self, stands: Standing) -> bool:
        """End the run, if it has nothing left to do. Whether it has ended."""
        if self._is_over:
            return True
        if stands.failed is not None:
            await self._end("failed", stands.failed)
        elif stands.is_done:
            await self._end("done", self._rejections(self._tasks), tasks=self._skipped(stands))
        return self._is_over

    def _rejections(self, tasks: Mapping[str, TaskRow]) -> str:
        said = [
            id_ for id_, row in tasks.items() if row.status == "skipped" and (row.error or {}).get("type") == "Rejected"
        ]
        return f"rejected: {', '.join(said)[:500]}" if said else ""

    def _skipped(self, stands: Standing) -> list[TaskRow]:
        now = self._parts.now()
        error = {"type": "Skipped", "message": "a task that it depends on did not succeed"}
        for task in stands.skipped:
            self._event("task_skipped", task=task.id)
        return [
            TaskRow(task.id, "skipped", attempt=self._attempt_after(task.id), error=error, started_at=now, ended_at=now)
            for task in stands.skipped
        ]

    def _attempt_after(self, task: str) -> int:
        row = self._tasks.get(task)
        return 1 if row is None else row.attempt

    # What an earlier process left

    async def _take_over(self) -> None:
        """Settle what was under way when an earlier process ended."""
        unsettled = [row for row in self._tasks.values() if row.status == "running"]
        rows: list[TaskRow] = []
        questions: list[DecisionRow] = []
        spent = 0.0
        for row in unsettled:
            task = self._plan.task(row.id)
            if repeats(task):
                rows.append(replace(row, status="pending"))
                continue
            cost = await self._cost_of(task, row.attempt)
            spent += cost
            rows.append(replace(row, status="unknown", cost=cost))
            questions.append(await in_thread(self._about_unknown, task, row))
            self._event("task_unknown", task=task.id, attempt=row.attempt)
            self._event("decision_asked", task=task.id, shown_hash=questions[-1].shown_hash, by="owner")
        self._event("run_started" if self._claim.epoch == 1 else "run_resumed", epoch=self._claim.epoch)
        await self._save(tasks=rows, decisions=questions, status="running", energy_spent=spent)
        self._budget.spent += spent
        await self._finish_files()

    def _about_unknown(self, task: Task, row: TaskRow) -> DecisionRow:
        finished = finished_of(self._tasks)
        show = self._parts.services.redactor.text
        return question_about_unknown(task, row, finished, self._plan, self._claim.run, self._parts.now(), show)

    async def _cost_of(self, task: Task, attempt: int) -> float:
        if not isinstance(task, CodeExecutionTask):
            return 0.0
        key = key_of(self._claim.run, task.id, attempt)
        taken = await in_thread(lambda: taken_before(self._parts.services.energy, key))
        return 0.0 if taken is None else taken.charged

    async def _finish_files(self) -> None:
        """Make the changes of files whose task is saved, and forget those of others."""
        with anyio.CancelScope(shield=True):
            problem = await finish_kept(
                self._parts.files, self._claim.run, self._plan, self._tasks, self._parts.folders
            )
        if problem is not None:
            await self._end("failed", problem)

    # Questions

    async def _questions_of(self, stands: Standing) -> list[DecisionRow]:
        finished, now = finished_of(self._tasks), self._parts.now()
        show = self._parts.services.redactor.text
        asked = await in_thread(
            lambda: [question_of(task, finished, self._claim.run, now, show) for task in stands.to_ask]
        )
        for question in asked:
            self._event("decision_asked", task=question.task, shown_hash=question.shown_hash, by=question.kind)
        return asked

    async def _hear_answers(self) -> None:
        if any(question.said is None for question in self._questions.values()):
            await self._say_no_to_late_ones()
            await self._load()
        for question in list(self._questions.values()):
            row = self._tasks.get(question.task)
            if question.said is None or question.task not in {task.id for task in self._plan.tasks}:
                continue
            if row is not None and row.status == "unknown":
                await self._hear_about_unknown(question, row)
            elif isinstance(self._plan.task(question.task), DecisionTask) and (row is None or row.finished is None):
                await self._hear(question)
            if self._is_over:
                return

    async def _hear(self, question: DecisionRow) -> None:
        said = said_of(question.said or {})
        row = ended_by(question, said, 1, self._parts.now())
        plan: Plan | None = None
        if isinstance(said, Replan):
            try:
                given = (said, self._plan, self._tasks, self._questions, self._revision)
                plan = require_answerable(await in_thread(lambda: new_plan(*given)))
                self._event("replanned", task=question.task, plan_hash=plan.hash, revision=self._revision + 1)
            except PlanError as error:
                problem = {"type": "PlanError", "message": str(error)[:2_000]}
                row = replace(row, status="failed", result=None, error=problem)
        self._event("decision_answered", task=question.task, answer=said.answer, by=question.by)
        finished = finished_of(self._tasks)
        task = self._plan.task(question.task)
        row = replace(row, input_hash=await in_thread(lambda: input_hash(task, self._plan, finished)))
        await self._save(tasks=[row], plan=plan, status="running")

    async def _hear_about_unknown(self, question: DecisionRow, row: TaskRow) -> None:
        said = said_of(question.said or {})
        self._event("decision_answered", task=question.task, answer=said.answer, by=question.by)
        match said:
            case Approve():
                again = TaskRow(row.id, "pending", row.attempt + 1, started_at=self._parts.now())
                await self._save(tasks=[again], status="running")
            case Value(value=value):
                now = self._parts.now()
                self._event("task_completed", task=row.id, attempt=row.attempt, by=question.by)
                done = replace(row, status="ok", result=value, error=None, ended_at=now)
                await self._save(tasks=[done], status="running")
            case Reject(reason=reason):
                why = f'nobody knows whether task "{row.id}" took effect: {reason or "aborted by the answer"}'
                await self._end("aborted", why, by=question.by)
            case Replan():
                raise JournalError(f'the question about task "{row.id}" has an answer that does not fit')

    async def _say_no_to_late_ones(self) -> None:
        now = self._parts.now()
        for question in self._questions.values():
            at = self._too_late_at(question)
            if question.said is None and at is not None and at <= now:
                said = Reject(reason="nobody answered in time").model_dump(mode="json")
                about = (self._claim.run, question.task, said)
                shown = question.shown_hash
                answer = partial(self._parts.journal.answer, *about, shown_hash=shown, by="timeout", now=now)
                await in_thread(answer)

    def _too_late_at(self, question: DecisionRow) -> float | None:
        task = next((task for task in self._plan.tasks if task.id == question.task), None)
        limit = task.timeout_s if isinstance(task, DecisionTask) else None
        return None if limit is None else question.asked_at + limit

    async def _wait(self, stands: Standing) -> float | None:
        late = [self._too_late_at(self._questions[id_]) for id_ in stands.asked]
        wake_at = min((at for at in late if at is not None), default=None)
        reason = f"it waits for an answer to: {', '.join(stands.asked)[:500]}"
        self._event("run_waiting", tasks=list(stands.asked))
        await self._save(status="waiting", reason=reason, wake_at=wake_at)
        return wake_at

    async def _ask_owner(self, stands: Standing) -> bool:
        """Ask an owner who is there, each question once. Whether there is an answer."""
        services = self._parts.services
        if isinstance(services.owner, AbsentOwner):
            return False
        has_answer = False
        for id_ in stands.asked:
            question = self._questions[id_]
            if question.kind != "owner" or question.shown_hash in self._asked_owner:
                continue
            self._asked_owner.add(question.shown_hash)
            asked = {"run": self._claim.run, "task": id_, "shown": question.shown, "hash": question.shown_hash}
            decision: object = None
            with anyio.move_on_after(services.settings.tools.owner_timeout_s):
                async with services.asking:
                    try:
                        decision = await services.owner.decide(Question(DECISION, asked, "workflow"))
                    except Undecided:
                        pass
                    except Exception:
                        log.exception("The owner could not be asked")
            if not isinstance(decision, Decision):
                continue  # it waits for another way to answer
            no = Reject(reason=str(decision.reason)[:500])
            said = (Approve() if decision.allowed is True else no).model_dump(mode="json")
            shown = question.shown_hash
            answer = partial(self._parts.journal.answer, self._claim.run, id_, said, shown_hash=shown, by="owner")
            await in_thread(partial(answer, now=self._parts.now()))
            has_answer = True
        return has_answer

    # A layer

    async def _layer(self, stands: Standing) -> _Resting | None:
        number = _number_of(self._plan, stands.work)
        given = await in_thread(lambda: {task.id: self._given(task) for task in stands.work})
        layer = _Layer(number)
        self._event("layer_started", layer=number, tasks=[task.id for task in stands.work])
        begun = [self._begun(task, given[task.id]) for task in stands.work]
        careful = [row for task, row in zip(stands.work, begun, strict=True) if not repeats(task)]
        questions = await self._questions_of(stands)
        if careful or questions:
            # Before anything starts: whoever finds them running knows that they may have taken effect.
            await self._save(tasks=careful, decisions=questions)
        try:
            async with anyio.create_task_group() as tasks:
                for task, row in zip(stands.work, begun, strict=True):
                    tasks.start_soon(self._task, task, row, given[task.id], layer)
            return await self._checkpoint(stands, layer)
        finally:
            for id_ in list(layer.files):
                layer.drop(id_)

    def _begun(self, task: Task, given: _Given) -> TaskRow:
        row = self._tasks.get(task.id)
        attempt = 1 if row is None else row.attempt  # it is pending: a task that has ended is not begun again
        self._event("task_started", task=task.id, attempt=attempt)
        if isinstance(task, CodeExecutionTask):
            self._event("code_execution_started", task=task.id, attempt=attempt)
        return TaskRow(task.id, "running", attempt, given.hash, started_at=self._parts.now())

    def _given(self, task: Task) -> _Given:
        finished = finished_of(self._tasks)
        try:
            match task:
                case CodeExecutionTask():
                    value = context_of(task, self._plan, finished)
                case McpToolTask():
                    value = arguments_of(task, finished)
                case _:
                    value = {}
            if weight_of_value(value, MAX_CONTEXT_BYTES) >= MAX_CONTEXT_BYTES:
                raise PlanError(f'task "{task.id}" would be given more than {MAX_CONTEXT_BYTES} bytes')
            return _Given(value, input_hash(task, self._plan, finished))
        except PlanError as error:
            return _Given({}, input_hash(task, self._plan, finished), str(error))

    async def _task(self, task: Task, row: TaskRow, given: _Given, layer: _Layer) -> None:
        """Make attempts at the task until one succeeds or no more are left."""
        rows = layer.rows[task.id] = []
        retries = 0 if isinstance(task, DecisionTask) else task.retries
        while True:
            async with self._parts.places:
                done = await self._attempt(task, row, given)
            row = replace(
                row,
                status=done.status,
                result=done.result,
                error=done.error,
                metrics=done.metrics,
                cost=done.cost,
                code_hash=str(done.metrics.get("code_hash", "")),
                ended_at=None if done.status == "pending" else self._parts.now(),
            )
            self._tell_end(task, row, done, layer)
            rows.append(row)
            if done.files is not None:
                layer.files[task.id] = done.files
                kept = {"kept": done.files.hash, "count": len(done.files.changes)}
                rows[-1] = replace(row, metrics={**row.metrics, "files": kept})
            if done.status != "failed" or done.is_final or row.attempt > retries or not repeats(task):
                return
            layer.events.append(self._new("task_retried", task=task.id, attempt=row.attempt + 1))
            await anyio.sleep(min(MAX_BACKOFF_S, 0.1 * 2 ** (row.attempt - 1)))
            row = TaskRow(task.id, "running", row.attempt + 1, given.hash, started_at=self._parts.now())

    async def _attempt(self, task: Task, row: TaskRow, given: _Given) -> Attempted:
        if given.problem:
            return failed("PlanError", given.problem, is_final=True)
        try:
            match task:
                case CodeExecutionTask():
                    again = task.id in self._again
                    return await self._attempts.code(task, given.value, row.attempt, again=again)
                case McpToolTask():
                    return await self._attempts.tool(task, given.value, row.attempt)
                case _:
                    raise AssertionError("a question is not attempted")
        except Exception:
            log.exception("The host failed in a task of a workflow")
            return failed("HostFailed", "the host failed; the task may have taken effect")

    def _tell_end(self, task: Task, row: TaskRow, done: Attempted, layer: _Layer) -> None:
        about: dict[str, Any] = {"task": task.id, "attempt": row.attempt}
        if done.lacking is not None:
            layer.waits.append(done.lacking.wait_s)
            layer.why = str(done.lacking)
            return
        if done.error is not None:
            about["error"] = dict(done.error)
        about |= {"cost": done.cost, "duration_ms": done.metrics.get("duration_ms", 0.0)}
        ended = "completed" if done.status == "ok" else "failed"
        if isinstance(task, CodeExecutionTask):
            layer.events.append(self._new(f"code_execution_{ended}", **about))
        layer.events.append(self._new(f"task_{ended}", **about))

    async def _checkpoint(self, stands: Standing, layer: _Layer) -> _Resting | None:
        self._part_overlaps(stands, layer)
        self._require_acting()
        rows = [row for task in stands.work for row in self._worth_saving(layer.rows[task.id])]
        self._events += layer.events
        saved: dict[str, Any] = {"tasks": rows, "energy_spent": sum(row.cost for row in rows)}
        self._event("checkpoint_saved", layer=layer.number, tasks=[row.id for row in rows if row.finished is not None])
        if layer.waits:
            rests = _Resting.after(layer.waits, self._parts.now())
            self._event("run_resting", wake_at=rests.wake_at)
            with anyio.CancelScope(shield=True):
                await self._save(status="resting", reason=layer.why, wake_at=rests.wake_at, **saved)
                await self._commit(layer)
            return None if self._is_over else rests
        after = {**self._tasks, **{row.id: row for row in rows}}
        then = standing(self._plan, after, self._questions)
        if not layer.files and then.failed is not None:
            await self._end("failed", then.failed, **saved)
        elif not layer.files and then.is_done:
            skipped = self._skipped(then)
            await self._end("done", self._rejections(after), **{**saved, "tasks": [*rows, *skipped]})
        else:
            # As one: what is saved is committed, whoever cancels meanwhile.
            with anyio.CancelScope(shield=True):
                await self._save(**saved)
                await self._commit(layer)
        return None

    def _worth_saving(self, rows: Sequence[TaskRow]) -> list[TaskRow]:
        """All attempts, and a pending one only if the journal has it as running."""
        known = self._tasks.get(rows[0].id)
        return [row for row in rows if row.status != "pending" or (known is not None and known.status == "running")]

    def _part_overlaps(self, stands: Standing, layer: _Layer) -> None:
        """Of two tasks that have changed the same file, the first in the plan counts. The other is done again, with
        what the first wrote before its eyes; or has failed, if it must not be repeated."""
        taken: dict[str, set[str]] = {}
        for task in stands.work:
            proposal = layer.files.get(task.id)
            if proposal is None or not isinstance(task, CodeExecutionTask):
                continue
            paths = {change.path.rstrip("/") for change in proposal.changes}
            others = taken.setdefault(task.workspace or "", set())
            if not any(_overlap(path, other) for path in paths for other in others):
                others |= paths
                continue
            layer.drop(task.id)
            row = layer.rows[task.id][-1]
            if repeats(task):
                self._again.add(task.id)
                layer.rows[task.id][-1] = replace(row, status="pending", result=None, metrics={}, cost=0.0)
                layer.events = [one for one in layer.events if one.data.get("task") != task.id]
                layer.events.append(self._new("task_retried", task=task.id, attempt=row.attempt))
                self._budget.spent -= row.cost
            else:
                said = "another task of the same layer has changed the same files"
                layer.rows[task.id][-1] = replace(
                    row, status="failed", result=None, error={"type": "FilesNotWritten", "message": said}
                )

    async def _commit(self, layer: _Layer) -> None:
        """Make the changes of the files of a layer that is saved."""
        problem: str | None = None
        files, run, announce = self._parts.files, self._claim.run, self._parts.services.spine.announce
        for id_, proposal in list(layer.files.items()):
            attempt = self._tasks[id_].attempt
            reason = problem or ""
            try:
                if problem is None:
                    announce(proposal.proposed)
                    await proposal.changes.commit()
            except (AuditError, SandboxError) as error:
                reason = str(error)
                problem = f'the files of task "{id_}" were not written: {error}'
            is_made = proposal.changes.state == "committed"
            state = "committed" if is_made else "not committed"
            announce(replace(proposal.proposed, state=state, reason=reason))  # type: ignore[arg-type]
            await in_thread(files.forget, run, id_, attempt)
        if problem is not None:
            await self._end("failed", problem)

    # Small things

    async def _end(self, status: RunStatus, reason: str, *, by: str = "", **saved: Any) -> None:
        self._event(f"run_{status}", reason=reason[:2_000], **({"by": by} if by else {}))
        await self._save(status=status, reason=reason, **saved)
        self._is_over = True
        try:
            await in_thread(self._parts.files.clear, self._claim.run)
        except OSError as error:
            log.warning("Changes of files that were never made cannot be removed: %s", error)

    async def _save(self, *, tasks: Sequence[TaskRow] = (), plan: Plan | None = None, **saved: Any) -> None:
        events, self._events = self._events, []
        step = Saved(tasks=tasks, plan=plan, events=events, **saved)
        with anyio.CancelScope(shield=True):
            try:
                told = await in_thread(lambda: self._parts.journal.save(self._claim, step, self._parts.now()))
            except Fenced:
                self._is_fenced = True
                raise
        for row in tasks:
            self._tasks[row.id] = row
        for question in step.decisions:
            self._questions.setdefault(question.task, question)
            if self._questions[question.task].shown_hash != question.shown_hash:
                self._questions[question.task] = question
        if plan is not None:
            self._plan, self._revision = plan, self._revision + 1
        self._parts.tell(self._claim.run, told)

    def _event(self, kind: str, **data: Any) -> None:
        self._events.append(self._new(kind, **data))

    def _new(self, kind: str, **data: Any) -> NewEvent:
        return NewEvent(kind, data, self._parts.now())


@dataclass(frozen=True, slots=True)
class _Given:
    """What a task is given."""

    value: dict[str, Any]
    hash: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Resting:
    wake_at: float | None

    @classmethod
    def after(cls, waits: Sequence[float | None], now: float) -> _Resting:
        known = [wait for wait in waits if wait is not None]
        return cls(None if len(known) < len(waits) else now + max(known))


def _number_of(plan: Plan, work: Sequence[Task]) -> int:
    """The number of the layer of the plan, from 1, to which the last of these tasks belongs."""
    ids = {task.id for task in work}
    return max(number for number, layer in enumerate(plan.layers(), 1) if any(task.id in ids for task in layer))


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
