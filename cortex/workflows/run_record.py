"""One run in the memory of the process that leads it: its rows as they are saved, and the events of the next step."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from anyio.to_thread import run_sync as in_thread

from .journal import Claim, DecisionRow, Fenced, NewEvent, RunState, RunStatus, Saved, TaskRow

if TYPE_CHECKING:
    from cortex.turn import Folder, Services

    from .agent_desk import AgentQuestion
    from .journal import EventRow, Journal
    from .kept_files import KeptFiles
    from .plan import Plan
    from .reach import PolicyOf

log = logging.getLogger("motor_cortex")


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
    tell: Callable[[str, Sequence[EventRow], float], None]
    """Told of events that are saved, and how many milliseconds that took."""
    lease_s: float
    policy: PolicyOf
    ask_agent: Callable[[AgentQuestion], str]
    """Puts a question to the agent, once; returns why it cannot, or nothing."""


class RunRecord:
    """The rows of a run, and the only way in which its leader changes them."""

    def __init__(self, parts: Parts, claim: Claim) -> None:
        self.parts = parts
        self.claim = claim
        """Replaced when the lease is renewed."""
        self.is_over = False
        """The run has ended."""
        self.is_fenced = False
        """Another process leads the run, or may; or somebody has stopped it."""
        self.last_event = 0
        """The number of the last event that was saved here; 0 before the first."""
        self._events: list[NewEvent] = []

    @property
    def id(self) -> str:
        return self.claim.run

    async def load(self) -> RunState:
        state = await in_thread(lambda: self.parts.journal.load(self.id))
        self.plan: Plan = state.run.plan
        self.revision = state.run.revision
        self.tasks: dict[str, TaskRow] = dict(state.tasks)
        self.questions: dict[str, DecisionRow] = dict(state.decisions)
        return state

    def require_acting(self) -> None:
        """Raise Killed while the kill switch is on, and AuditError while nothing can be recorded."""
        killed = self.parts.services.switch.refusal()
        if killed is not None:
            raise Killed(killed)
        self.parts.services.spine.journal.require()

    def event(self, kind: str, **data: Any) -> None:
        """Tell of something with the next step that is saved."""
        self._events.append(self.new(kind, **data))

    def new(self, kind: str, **data: Any) -> NewEvent:
        return NewEvent(kind, data, self.parts.now())

    def tell_also(self, events: Sequence[NewEvent]) -> None:
        self._events += events

    async def save(self, *, tasks: Sequence[TaskRow] = (), plan: Plan | None = None, **saved: Any) -> None:
        """Write one step, with the events so far. Raises Fenced and JournalError: then nothing of it has happened."""
        events, self._events = self._events, []
        step = Saved(tasks=tasks, plan=plan, events=events, **saved)
        began = time.perf_counter()
        with anyio.CancelScope(shield=True):
            try:
                told = await in_thread(lambda: self.parts.journal.save(self.claim, step, self.parts.now()))
            except Fenced:
                self.is_fenced = True
                raise
        saved_ms = (time.perf_counter() - began) * 1000
        self.last_event = told[-1].seq if told else self.last_event
        for row in tasks:
            self.tasks[row.id] = row
        for question in step.decisions:
            self.questions.setdefault(question.task, question)
            if self.questions[question.task].shown_hash != question.shown_hash:
                self.questions[question.task] = question
        if plan is not None:
            self.plan, self.revision = plan, self.revision + 1
        self.parts.tell(self.id, told, saved_ms)

    async def end(self, status: RunStatus, reason: str, *, by: str = "", **saved: Any) -> None:
        """Write the last step of the run."""
        self.event(f"run_{status}", reason=reason[:2_000], **({"by": by} if by else {}))
        await self.save(status=status, reason=reason, **saved)
        self.is_over = True
        try:
            await in_thread(self.parts.files.clear, self.id)
        except OSError as error:
            log.warning("Changes of files that were never made cannot be removed: %s", error)
