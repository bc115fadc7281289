"""One layer of a run: starts its tasks at the same time, makes attempts at each, and gathers what came of them.

Nothing of it has happened until the checkpoint: see `checkpoint`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio
from anyio.to_thread import run_sync as in_thread

from cortex.contracts import weight_of_value

from .attempts import Attempted, Attempts, Proposal, failed
from .journal import NewEvent, TaskRow
from .plan import PlanError, arguments_of, context_of, input_hash
from .progress import finished_of
from .tasks import CodeExecutionTask, DecisionTask, McpToolTask, repeats

if TYPE_CHECKING:
    from cortex.energy import Insufficient

    from .journal import DecisionRow
    from .plan import Plan
    from .run_record import RunRecord
    from .tasks import Task

log = logging.getLogger("motor_cortex")

MAX_CONTEXT_BYTES = 32 * 1_048_576
"""What one task is given, about. A sandbox allows less."""
MAX_BACKOFF_S = 5.0


@dataclass(slots=True)
class LayerResult:
    """What came of one layer so far."""

    number: int
    rows: dict[str, list[TaskRow]] = field(default_factory=dict)
    """The attempts at each task, in order. The last one is not settled if nothing ran."""
    events: list[NewEvent] = field(default_factory=list)
    files: dict[str, Proposal] = field(default_factory=dict)
    lacking: list[Insufficient] = field(default_factory=list)
    """The energy that each task lacked that could not start."""

    def drop(self, task: str) -> None:
        proposal = self.files.pop(task, None)
        if proposal is not None and proposal.changes.state == "open":
            proposal.changes.rollback()

    def drop_all(self) -> None:
        for id_ in list(self.files):
            self.drop(id_)


@dataclass(frozen=True, slots=True)
class TaskInput:
    """What a task is given."""

    value: dict[str, Any]
    hash: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class BegunTask:
    """A task that is about to start."""

    task: Task
    row: TaskRow
    given: TaskInput


class LayerRunner:
    """Runs the tasks of one layer after the other."""

    def __init__(self, record: RunRecord, attempts: Attempts) -> None:
        self._record = record
        self._attempts = attempts
        self._now = record.parts.now
        self.again: set[str] = set()
        """Tasks whose attempt was made in this process, and is repeated."""

    async def begin(self, work: Sequence[Task]) -> list[BegunTask]:
        """What each of the tasks is given, and its row. Nothing has started yet."""
        given = await in_thread(lambda: [self._given(task) for task in work])
        return [BegunTask(task, self._row_of(task, found), found) for task, found in zip(work, given, strict=True)]

    async def run(self, begun: Sequence[BegunTask], questions: Sequence[DecisionRow], layer: LayerResult) -> None:
        """Run the tasks at the same time. The questions are saved before, with the rows of what must not be repeated:
        whoever finds them running knows that they may have taken effect."""
        careful = [one.row for one in begun if not repeats(one.task)]
        if careful or questions:
            await self._record.save(tasks=careful, decisions=questions)
        async with anyio.create_task_group() as tasks:
            for one in begun:
                tasks.start_soon(self._task, one.task, one.row, one.given, layer)

    def _row_of(self, task: Task, given: TaskInput) -> TaskRow:
        row = self._record.tasks.get(task.id)
        attempt = 1 if row is None else row.attempt  # it is pending: a task that has ended is not begun again
        self._record.event("task_started", task=task.id, attempt=attempt)
        if isinstance(task, CodeExecutionTask):
            self._record.event("code_execution_started", task=task.id, attempt=attempt)
        return TaskRow(task.id, "running", attempt, given.hash, started_at=self._now())

    def _given(self, task: Task) -> TaskInput:
        plan, finished = self._record.plan, finished_of(self._record.tasks)
        try:
            match task:
                case CodeExecutionTask():
                    value = context_of(task, plan, finished)
                case McpToolTask():
                    value = arguments_of(task, finished)
                case _:
                    value = {}
            if weight_of_value(value, MAX_CONTEXT_BYTES) >= MAX_CONTEXT_BYTES:
                raise PlanError(f'task "{task.id}" would be given more than {MAX_CONTEXT_BYTES} bytes')
            return TaskInput(value, input_hash(task, plan, finished))
        except PlanError as error:
            return TaskInput({}, input_hash(task, plan, finished), str(error))

    async def _task(self, task: Task, row: TaskRow, given: TaskInput, layer: LayerResult) -> None:
        """Make attempts at the task until one succeeds or no more are left."""
        rows = layer.rows[task.id] = []
        retries = 0 if isinstance(task, DecisionTask) else task.retries
        while True:
            async with self._record.parts.places:
                done = await self._attempt(task, row, given)
            row = self._ended(row, done)
            rows.append(row)
            self._tell_end(task, row, done, layer)
            if done.files is not None:
                layer.files[task.id] = done.files
            if done.status != "failed" or done.is_final or row.attempt > retries or not repeats(task):
                return
            layer.events.append(self._record.new("task_retried", task=task.id, attempt=row.attempt + 1))
            if isinstance(task, CodeExecutionTask):
                layer.events.append(self._record.new("code_execution_started", task=task.id, attempt=row.attempt + 1))
            await anyio.sleep(min(MAX_BACKOFF_S, 0.1 * 2 ** (row.attempt - 1)))
            row = TaskRow(task.id, "running", row.attempt + 1, given.hash, started_at=self._now())

    async def _attempt(self, task: Task, row: TaskRow, given: TaskInput) -> Attempted:
        if given.problem:
            return failed("PlanError", given.problem, is_final=True)
        try:
            match task:
                case CodeExecutionTask():
                    return await self._attempts.code(task, given.value, row.attempt, again=task.id in self.again)
                case McpToolTask():
                    return await self._attempts.tool(task, given.value, row.attempt)
                case _:
                    raise AssertionError("a question is not attempted")
        except Exception:
            log.exception("The host failed in a task of a workflow")
            return failed("HostFailed", "the host failed; the task may have taken effect")

    def _ended(self, row: TaskRow, done: Attempted) -> TaskRow:
        metrics = dict(done.metrics)
        if done.files is not None:
            metrics["files"] = {"kept": done.files.hash, "count": len(done.files.changes)}
        return replace(
            row,
            status=done.status,
            result=done.result,
            error=done.error,
            metrics=metrics,
            cost=done.cost,
            code_hash=str(metrics.get("code_hash", "")),
            ended_at=None if done.status == "pending" else self._now(),
        )

    def _tell_end(self, task: Task, row: TaskRow, done: Attempted, layer: LayerResult) -> None:
        about: dict[str, Any] = {"task": task.id, "attempt": row.attempt}
        if done.lacking is not None:
            layer.lacking.append(done.lacking)
            return
        if done.error is not None:
            about["error"] = dict(done.error)
        about |= {"cost": done.cost, "duration_ms": done.metrics.get("duration_ms", 0.0)}
        ended = "completed" if done.status == "ok" else "failed"
        if isinstance(task, CodeExecutionTask):
            layer.events.append(self._record.new(f"code_execution_{ended}", **about))
        layer.events.append(self._record.new(f"task_{ended}", **about))


def number_of(plan: Plan, work: Sequence[Task]) -> int:
    """The number of the layer of the plan, from 1, to which the last of these tasks belongs."""
    ids = {task.id for task in work}
    return max(number for number, layer in enumerate(plan.layers(), 1) if any(task.id in ids for task in layer))
