"""A journal in memory: for tests, and for programs whose runs may end with them. It conforms as the others do."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from .journal import (
    Claim,
    DecisionRow,
    EventRow,
    JournalError,
    NewEvent,
    NoSuchRun,
    RunRow,
    RunState,
    RunStatus,
    Saved,
    TaskRow,
)
from .journal_rules import (
    answered,
    begun,
    claimed,
    could_go_on,
    is_new_question,
    is_news,
    released,
    renewed,
    require_id,
    stepped,
    stopped,
)
from .journal_text import MAX_RESULT_BYTES, text_of, value_of
from .plan import SETTLED


@dataclass
class _Kept:
    """All that there is of a run. Replaced as a whole: a step that fails halfway has changed nothing."""

    run: RunRow
    begun_hash: str
    tasks: dict[str, TaskRow] = field(default_factory=dict)
    questions: dict[str, DecisionRow] = field(default_factory=dict)
    events: list[EventRow] = field(default_factory=list)

    @property
    def has_answer(self) -> bool:
        return any(
            question.said is not None and (id_ not in self.tasks or self.tasks[id_].status not in SETTLED)
            for id_, question in self.questions.items()
        )

    def add(self, events: Sequence[NewEvent]) -> list[EventRow]:
        first = len(self.events) + 1
        added = [
            EventRow(seq, event.kind, _copied(dict(event.data), f"the event {event.kind}"), event.at)
            for seq, event in enumerate(events, first)
        ]
        self.events += added
        return added


class MemoryJournal:
    """A `Journal` of one process. Several objects share their runs: `MemoryJournal(other)`."""

    def __init__(self, other: MemoryJournal | None = None) -> None:
        self._runs: dict[str, _Kept] = {} if other is None else other._runs
        self._lock: threading.Lock = threading.Lock() if other is None else other._lock
        self._is_closed = False

    def begin(self, run: RunRow, events: Sequence[NewEvent]) -> RunRow:
        row = begun(run)
        with self._alone():
            there = self._runs.get(row.id)
            if there is None:
                kept = _Kept(row, row.plan_hash)
                kept.add(events)
                self._runs[row.id] = kept
                return row
            if row.plan_hash not in {there.begun_hash, there.run.plan_hash}:
                raise JournalError(f'there is a run "{row.id}" already, with another plan: choose another id')
            return there.run

    def claim(self, run: str, worker: str, lease_s: float, now: float) -> Claim | None:
        with self._step(run) as kept:
            row = claimed(kept.run, worker, lease_s, now)
            if row is None:
                return None
            kept.run = row
            return Claim(run, worker, row.epoch, row.lease_until)

    def renew(self, claim: Claim, lease_s: float, now: float) -> Claim:
        with self._step(claim.run) as kept:
            kept.run = renewed(kept.run, claim, lease_s, now)
            return replace(claim, lease_until=kept.run.lease_until)

    def release(self, claim: Claim) -> None:
        with self._step(claim.run) as kept:
            kept.run = released(kept.run, claim) or kept.run

    def save(self, claim: Claim, saved: Saved, now: float) -> Sequence[EventRow]:
        with self._step(claim.run) as kept:
            kept.run = stepped(kept.run, claim, saved, now)
            for task in saved.tasks:
                result = _copied(task.result, f'the result of task "{task.id}"', MAX_RESULT_BYTES)
                error = None if task.error is None else _copied(dict(task.error), f'the error of task "{task.id}"')
                row = replace(task, result=result, error=error, metrics=_copied(dict(task.metrics), "metrics"))
                if is_news(kept.tasks.get(task.id), row):
                    kept.tasks[task.id] = row
            for question in saved.decisions:
                if is_new_question(kept.questions.get(question.task), question):
                    kept.questions[question.task] = question
            return kept.add(saved.events)

    def answer(self, run: str, task: str, said: Mapping[str, Any], *, shown_hash: str, by: str, now: float) -> bool:
        answer = _copied(dict(said), f'the answer to task "{task}"')
        with self._step(run) as kept:
            found = answered(kept.run, kept.questions.get(task), task, answer, shown_hash, by, now)
            if found is not None:
                kept.questions[task] = found
            return found is not None

    def stop(self, run: str, reason: str, *, by: str, now: float) -> Sequence[EventRow]:
        with self._step(run) as kept:
            row = stopped(kept.run, reason, now)
            if row is None:
                return ()
            kept.run = row
            return kept.add([NewEvent("run_aborted", {"reason": row.reason, "by": by}, now)])

    def load(self, run: str) -> RunState:
        with self._alone():
            kept = self._of(run)
            return RunState(kept.run, deepcopy(kept.tasks), deepcopy(kept.questions))

    def list(self, *, limit: int = 100, status: RunStatus | None = None) -> Sequence[RunRow]:
        with self._alone():
            found = [kept.run for kept in self._runs.values() if status in {None, kept.run.status}]
            return sorted(found, key=lambda row: row.at)[::-1][: max(0, limit)]

    def events(self, run: str, after: int = 0, limit: int = 1_000) -> Sequence[EventRow]:
        with self._alone():
            first = max(0, after)
            return deepcopy(self._of(run).events[first : first + max(0, limit)])

    def expired(self, now: float, limit: int = 100) -> Sequence[str]:
        with self._alone():
            found = [kept.run for kept in self._runs.values() if could_go_on(kept.run, now, has_answer=kept.has_answer)]
            return [row.id for row in sorted(found, key=lambda row: row.at)[: max(0, limit)]]

    def close(self) -> None:
        self._is_closed = True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._is_closed:
            raise JournalError("The journal is closed")
        with self._lock:
            yield

    @contextmanager
    def _step(self, run: str) -> Iterator[_Kept]:
        with self._alone():
            kept = self._of(run)
            after = replace(kept, tasks=dict(kept.tasks), questions=dict(kept.questions), events=list(kept.events))
            yield after
            self._runs[run] = after

    def _of(self, run: str) -> _Kept:
        kept = self._runs.get(require_id(run))
        if kept is None:
            raise NoSuchRun(f'there is no run "{run}"')
        return kept


def _copied(value: Any, what: str, most: int | None = None) -> Any:
    """The value as a disk would give it back."""
    return value_of(text_of(value, what) if most is None else text_of(value, what, most), what)
