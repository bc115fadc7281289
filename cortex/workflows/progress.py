"""Where a run stands: what to do next, whom it waits for, or how it ends. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .answers import APPROVAL
from .journal import DecisionRow, TaskRow
from .plan import Finished, Plan, never_to_run, next_layer, stops_run
from .tasks import DecisionTask, Task


@dataclass(frozen=True, slots=True)
class Standing:
    """All of it in plan order."""

    work: tuple[Task, ...] = ()
    """Calls and code that can start now."""
    to_ask: tuple[DecisionTask, ...] = ()
    """Questions that were not asked yet."""
    asked: tuple[str, ...] = ()
    """Tasks whose question waits for its answer."""
    skipped: tuple[Task, ...] = ()
    """Tasks that can never start."""
    failed: str | None = None
    """Why the run has failed."""

    @property
    def is_done(self) -> bool:
        return self.failed is None and not (self.work or self.to_ask or self.asked)


def finished_of(tasks: Mapping[str, TaskRow]) -> dict[str, Finished]:
    return {id_: ended for id_, row in tasks.items() if (ended := row.finished) is not None}


def standing(plan: Plan, tasks: Mapping[str, TaskRow], questions: Mapping[str, DecisionRow]) -> Standing:
    """What is to be done, from the rows of the journal alone."""
    finished = finished_of(tasks)
    if APPROVAL in questions and APPROVAL not in finished:
        return Standing(asked=(APPROVAL,))
    for task in plan.tasks:
        ended = finished.get(task.id)
        if ended is not None and stops_run(task, ended):
            message = str((ended.error or {}).get("message", "it gave no reason"))
            return Standing(failed=f'task "{task.id}" failed: {message}')
    ready = next_layer(plan, finished)
    unknown = {id_ for id_, row in tasks.items() if row.status == "unknown"}
    waiting = {id_ for id_, question in questions.items() if question.said is None}
    decisions = [task for task in ready if isinstance(task, DecisionTask)]
    return Standing(
        work=tuple(task for task in ready if not isinstance(task, DecisionTask) and task.id not in unknown),
        to_ask=tuple(task for task in decisions if task.id not in questions),
        asked=tuple(task.id for task in ready if task.id in waiting and (_asks(task) or task.id in unknown)),
        skipped=never_to_run(plan, finished),
    )


def to_take_over(plan: Plan, tasks: Mapping[str, TaskRow], at: str, other: Plan) -> tuple[str, ...]:
    """The tasks whose results a fork takes over, in plan order: those that were done, and neither are the task at which
    it begins nor depend on it. `other` is the plan of the fork. Raises PlanError if there is no such task."""
    plan.task(at)
    behind = {at}
    for layer in plan.layers():
        behind |= {task.id for task in layer if behind.intersection(task.dependencies)}
    there = {task.id for task in other.tasks}
    return tuple(
        task.id
        for task in plan.tasks
        if task.id not in behind and task.id in there and task.id in tasks and tasks[task.id].status == "ok"
    )


def _asks(task: Task) -> bool:
    return isinstance(task, DecisionTask)
