"""What can be said to a question of a run, and what comes of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from .journal import DecisionRow, JournalError, RunState, TaskRow
from .plan import Plan, PlanError, replanned
from .reach import require_within
from .tasks import DecisionTask, Task, TaskId

if TYPE_CHECKING:
    from .reach import PolicyOf

MAX_REASON_CHARACTERS = 2_000
AGENT = "agent"
"""Who has answered, or has asked for a run."""
CLIENT = "mcp:"
"""Before the name of an MCP client that has asked for a run."""
APPROVAL = "@plan"
"""In place of a task, where the owner is asked whether a run of the agent may begin. No task has this id."""


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Approve(_Said):
    """Yes. To a question about a task of unknown end: start it again."""

    answer: Literal["approve"] = "approve"


class Reject(_Said):
    """No: what depends on the decision is not done. To a question about a task of unknown end: abort the run."""

    answer: Literal["reject"] = "reject"
    reason: str = Field(default="", max_length=MAX_REASON_CHARACTERS)


class Value(_Said):
    """Yes, with a value, which is the result of the task. To a question about a task of unknown end: it is done, and
    this is its result."""

    answer: Literal["value"] = "value"
    value: Any = None


class Replan(_Said):
    """Yes, and these tasks are added and these pending ones removed."""

    answer: Literal["replan"] = "replan"
    add: tuple[Task, ...] = ()
    remove: tuple[TaskId, ...] = ()


Said: TypeAlias = Approve | Reject | Value | Replan
_SAID: TypeAdapter[Said] = TypeAdapter(Annotated[Said, Field(discriminator="answer")])


def said_of(kept: Mapping[str, Any]) -> Said:
    """The answer from parsed JSON. Raises JournalError for what is none."""
    try:
        return _SAID.validate_python(dict(kept))
    except ValidationError as error:
        raise JournalError("the answer is not one of approve, reject, value and replan, or has other fields") from error


def as_kept(said: Said) -> dict[str, Any]:
    return said.model_dump(mode="json", by_alias=True)


def is_agent(by: str) -> bool:
    """Whether this is the agent of the cortex, or a client of its MCP server: never the owner."""
    return by == AGENT or by.startswith((f"{AGENT}:", CLIENT))


def require_fitting(said: Said, state: RunState, task: str) -> None:
    """Raise PlanError if the question about that task cannot be answered like this."""
    if task == APPROVAL and task in state.decisions:
        if not isinstance(said, Approve | Reject):
            raise PlanError("a plan is approved or rejected as it is")
        return
    asks = state.run.plan.task(task)
    if not isinstance(said, Replan):
        return
    if not isinstance(asks, DecisionTask) or not asks.may_replan:
        raise PlanError(f'the question of task "{task}" cannot be answered with a new plan')
    new_plan(said, state.run.plan, state.tasks, state.decisions, state.run.revision)


def require_fitting_of_agent(said: Said, state: RunState, task: str, policy: PolicyOf) -> None:
    """As `require_fitting`, for an answer of the agent: only to a question that is put to the agent, and a new plan
    reaches no further than the old one."""
    question = state.decisions.get(task)
    if question is None or question.kind != "agent":
        raise PlanError(f'the question of task "{task[:64]}" is not put to the agent')
    require_fitting(said, state, task)
    if isinstance(said, Replan):
        plan = state.run.plan
        require_within(plan, said, new_plan(said, plan, state.tasks, state.decisions, state.run.revision), policy)


def new_plan(
    said: Replan, plan: Plan, tasks: Mapping[str, TaskRow], questions: Mapping[str, DecisionRow], revision: int
) -> Plan:
    """The plan after the answer. A task with a question stays. Raises PlanError."""
    begun = frozenset(id_ for id_, row in tasks.items() if row.status != "pending") | questions.keys()
    return replanned(plan, said.add, said.remove, begun, revision=revision + 1)


def ended_by(question: DecisionRow, said: Said, attempt: int, now: float) -> TaskRow:
    """The row of a decision task after its answer."""
    row = TaskRow(question.task, "ok", attempt, started_at=question.asked_at, ended_at=now)
    match said:
        case Approve():
            return replace(row, result={"answer": "approve", "by": question.by})
        case Value(value=value):
            return replace(row, result=value)
        case Replan(add=add, remove=remove):
            changed = {"added": [task.id for task in add], "removed": list(remove)}
            return replace(row, result={"answer": "replan", "by": question.by, **changed})
        case Reject(reason=reason):
            error = {"type": "Rejected", "message": reason or "the answer was no", "by": question.by}
            return replace(row, status="skipped", error=error)
