"""The port of the journal: what is kept of runs, and who may write it. Results are stored once, events in their order.

All methods block, for a thread. What `save` has returned from survives a kill at any moment; what it raised for is not
there. A writer proves by its claim that it still leads the run: after another process has claimed it, `save` raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from .plan import Finished, Plan, TaskStatus

RunStatus: TypeAlias = Literal["queued", "running", "waiting", "resting", "done", "failed", "aborted"]
TERMINAL: frozenset[RunStatus] = frozenset({"done", "failed", "aborted"})
"""A run that has ended stays as it is. To go on from it, fork it."""


class JournalError(Exception):
    """The journal cannot be read or written; says why, and what is safe."""


class WorkflowError(Exception):
    """Something cannot be done with a run; says why."""


class NoSuchRun(JournalError):
    """There is no run of that id."""


class Fenced(JournalError):
    """Another process leads this run now: nothing was written."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write a run, until its lease ends or another process claims it."""

    run: str
    worker: str
    epoch: int
    lease_until: float


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as it stands."""

    id: str
    plan: Plan
    plan_hash: str
    status: RunStatus = "queued"
    revision: int = 1
    epoch: int = 0
    lease_until: float = 0.0
    worker: str = ""
    started_by: str = "owner"
    turn: str | None = None
    """The turn of the agent that asked for it."""
    parent: str | None = None
    """The run that this one was forked from."""
    energy_spent: float = 0.0
    energy_budget: float | None = None
    """The run takes no more than this in all; None for no limit of its own."""
    wake_at: float | None = None
    """When a resting run has enough energy, or a decision is too late."""
    reason: str = ""
    """Why it rests, failed or was aborted."""
    at: float = 0.0
    ended_at: float | None = None


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One attempt at a task. The last attempt counts."""

    id: str
    status: TaskStatus
    attempt: int = 1
    input_hash: str = ""
    result: Any = None
    """Redacted JSON. A large one lies in a file beside the journal; `load` returns it all the same."""
    error: Mapping[str, Any] | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 0.0
    code_hash: str = ""
    started_at: float = 0.0
    ended_at: float | None = None

    @property
    def finished(self) -> Finished | None:
        """How it ended, for those that depend on it; None while it has not."""
        if self.status not in {"ok", "failed", "skipped"}:
            return None
        return Finished(self.status, self.result, self.error)


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A question of a run, and the first answer to it."""

    task: str
    kind: Literal["owner", "agent"]
    shown: str
    """What the one who answers is shown, redacted."""
    shown_hash: str
    asked_at: float
    said: Mapping[str, Any] | None = None
    """`{"answer": "approve" | "reject" | "value" | "replan", …}`; None while it waits."""
    by: str = ""
    answered_at: float | None = None


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event of a run. `seq` counts from 1 without gaps."""

    seq: int
    kind: str
    data: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to be stored; the journal gives it its number."""

    kind: str
    data: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class Saved:
    """What is written in one transaction: all of it or nothing."""

    tasks: Sequence[TaskRow] = ()
    """Attempts, by their number. One that is running or unknown may be saved again; one that has ended stays as it is,
    and no attempt follows one that is ok."""
    decisions: Sequence[DecisionRow] = ()
    """Questions that are asked now. A question of the same hash as the last one about that task keeps the answer that
    it has, if any; a question of another hash takes its place, without an answer."""
    events: Sequence[NewEvent] = ()
    status: RunStatus | None = None
    """None leaves it as it is; else `reason` and `wake_at` are set with it. `done`, `failed` and `aborted` end the
    lead, too."""
    reason: str = ""
    wake_at: float | None = None
    plan: Plan | None = None
    """A new revision."""
    energy_spent: float = 0.0
    """Added to what the run has spent."""


@dataclass(frozen=True, slots=True)
class RunState:
    """All that is known of a run but its events."""

    run: RunRow
    tasks: Mapping[str, TaskRow]
    """The last attempt at each task that has begun."""
    decisions: Mapping[str, DecisionRow]


class Journal(Protocol):
    """Keeps runs. `SqliteJournal` is one. Raises JournalError."""

    def begin(self, run: RunRow, events: Sequence[NewEvent]) -> RunRow:
        """Keep a new run. If there is one of that id that began with this plan, or has it now, return that one. Raises
        JournalError if it has another plan."""
        ...

    def claim(self, run: str, worker: str, lease_s: float, now: float) -> Claim | None:
        """Take the lead of a run whose lease has ended, or that this worker leads already; None if another leads, or
        the run has ended. An earlier claim is fenced, also one of the same worker."""
        ...

    def renew(self, claim: Claim, lease_s: float, now: float) -> Claim:
        """Lengthen the lease. Raises Fenced."""
        ...

    def release(self, claim: Claim) -> None:
        """Give up the lead: the next `claim` succeeds at once. Does nothing if another leads by now."""
        ...

    def save(self, claim: Claim, saved: Saved, now: float) -> Sequence[EventRow]:
        """Write one step of a run; return its events with their numbers. Raises Fenced."""
        ...

    def answer(self, run: str, task: str, said: Mapping[str, Any], *, shown_hash: str, by: str, now: float) -> bool:
        """Keep the answer to the last question about that task; False if it has one already. Stores no event: the
        leader tells of it when it goes on. Raises JournalError for another hash, and for a run that has ended."""
        ...

    def stop(self, run: str, reason: str, *, by: str, now: float) -> Sequence[EventRow]:
        """Mark a run as aborted, whoever leads it: the leader is fenced. Stores `run_aborted` and returns it. Does
        nothing to a run that has ended."""
        ...

    def load(self, run: str) -> RunState:
        """Raises NoSuchRun."""
        ...

    def list(self, *, limit: int = 100, status: RunStatus | None = None) -> Sequence[RunRow]:
        """The runs, the newest first."""
        ...

    def events(self, run: str, after: int = 0, limit: int = 1_000) -> Sequence[EventRow]:
        """The events behind that number, in order."""
        ...

    def expired(self, now: float, limit: int = 100) -> Sequence[str]:
        """Runs that nobody leads and that could go on, the oldest first: queued or running; resting or waiting for a
        time that has come; waiting with an answer to a task that has not ended."""
        ...

    def close(self) -> None: ...
