"""The runs of workflows as facts for pages: a list, and one run with its tasks, questions and events. Reads only.

Texts are as the journal has them: authors, tools and models chose them. Show them with care.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex.workflows import APPROVAL, DATABASE, JournalError, NoSuchRun, SqliteJournal, states_of, svg, what_of

if TYPE_CHECKING:
    from cortex.settings import Settings
    from cortex.workflows import DecisionRow, EventRow, RunRow, RunState, RunStatus, Task, TaskRow

MAX_EVENTS = 200
_BUSY_S = 2.0


@dataclass(frozen=True, slots=True)
class WorkflowTask:
    """One task of a plan, with its last attempt."""

    id: str
    layer: int
    what: str
    state: str
    attempts: int
    ms: float | None
    cost: float
    error: str


@dataclass(frozen=True, slots=True)
class WorkflowView:
    """All of one run that a page shows."""

    run: RunRow
    tasks: tuple[WorkflowTask, ...]
    questions: tuple[DecisionRow, ...]
    """Those that wait for an answer, the one about the whole plan first."""
    events: tuple[EventRow, ...]
    """The newest last."""
    states: Mapping[str, str]

    def picture(self) -> str:
        """The graph as SVG, which refers to nothing outside of itself."""
        return svg(self.run.plan, self.states)


class HomeWorkflows:
    """Reads the journal of a home. Raises JournalError."""

    def __init__(self, journal: SqliteJournal | None) -> None:
        self._journal = journal

    @classmethod
    @contextmanager
    def opened(cls, settings: Settings) -> Iterator[HomeWorkflows]:
        """Creates nothing in a home without runs."""
        folder = settings.home / "workflows"
        if not (folder / DATABASE).exists():
            yield cls(None)
            return
        journal = SqliteJournal(folder, busy_s=_BUSY_S)
        try:
            yield cls(journal)
        finally:
            journal.close()

    def all(self, most: int = 100, status: RunStatus | None = None) -> list[RunRow]:
        """The newest first."""
        return [] if self._journal is None else list(self._journal.list(limit=most, status=status))

    def one(self, name: str, now: float) -> WorkflowView | None:
        if self._journal is None:
            return None
        try:
            state = self._journal.load(name)
        except NoSuchRun:
            return None
        except JournalError:
            # A name that cannot be the id of a run is told so in the same way as a journal that cannot be read.
            if 1 <= len(name) <= 200 and name.isprintable():
                raise
            return None
        last = max((event.seq for event in self._journal.events(name, 0, 1_000)), default=0)
        events = self._journal.events(name, max(0, last - MAX_EVENTS))
        states = states_of(state, now)
        return WorkflowView(state.run, tuple(_tasks(state, states)), tuple(_open(state)), tuple(events), states)


def _tasks(state: RunState, states: Mapping[str, str]) -> Iterator[WorkflowTask]:
    for number, layer in enumerate(state.run.plan.layers(), 1):
        for task in layer:
            yield _task(number, task, state.tasks.get(task.id), states[task.id])


def _task(layer: int, task: Task, row: TaskRow | None, state: str) -> WorkflowTask:
    if row is None:
        return WorkflowTask(task.id, layer, what_of(task), state, 0, None, 0.0, "")
    error: Mapping[str, Any] = row.error or {}
    told = ": ".join(str(error[name]) for name in ("type", "message") if error.get(name))
    return WorkflowTask(task.id, layer, what_of(task), state, row.attempt, _took_ms(row), round(row.cost, 9), told)


def _took_ms(row: TaskRow) -> float | None:
    if row.ended_at is None:
        return None
    measured = row.metrics.get("duration_ms")
    if isinstance(measured, int | float):
        return float(measured)
    return max(0.0, (row.ended_at - row.started_at) * 1_000)


def _open(state: RunState) -> Iterator[DecisionRow]:
    if state.run.ended_at is not None:
        return
    for name in (APPROVAL, *(task.id for task in state.run.plan.tasks)):
        question = state.decisions.get(name)
        if question is not None and question.said is None:
            yield question
