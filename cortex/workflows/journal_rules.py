"""The rules of a journal as pure functions: who may write a run, what a step changes, which answer counts.

Every adapter of `Journal` decides with them, so that all decide alike; it only reads rows, and writes what it is told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cortex.text import beginning, whole

from .journal import TERMINAL, Claim, DecisionRow, Fenced, JournalError, RunRow, Saved, TaskRow
from .plan import SETTLED

MAX_ID_CHARACTERS = 200
MAX_REASON_CHARACTERS = 2_000


def require_id(run: str) -> str:
    """The id itself. Raises JournalError for a text that cannot be one."""
    if not isinstance(run, str) or not 1 <= len(run) <= MAX_ID_CHARACTERS or not run.isprintable():
        raise JournalError(f"the id of a run has 1 to {MAX_ID_CHARACTERS} printable characters")
    return run


def begun(run: RunRow) -> RunRow:
    """The row of a new run: whoever made it, nobody leads it yet."""
    require_id(run.id)
    if run.status in TERMINAL:
        raise JournalError(f'run "{run.id}" cannot begin as {run.status}')
    reason = _short(run.reason)
    return replace(run, plan_hash=run.plan.hash, epoch=0, lease_until=0.0, worker="", reason=reason, ended_at=None)


def claimed(run: RunRow, worker: str, lease_s: float, now: float) -> RunRow | None:
    """The run with its new leader; None if another leads it, or it has ended. Each claim has an epoch of its own, so
    that an earlier claim of the same worker is fenced, too."""
    if not worker:
        raise ValueError("a worker needs a name")
    if run.status in TERMINAL or (run.worker != worker and run.lease_until > now):
        return None
    return replace(run, worker=worker, epoch=run.epoch + 1, lease_until=_lease_end(lease_s, now))


def renewed(run: RunRow, claim: Claim, lease_s: float, now: float) -> RunRow:
    _require_lead(run, claim)
    return replace(run, lease_until=_lease_end(lease_s, now))


def released(run: RunRow, claim: Claim) -> RunRow | None:
    """The run without a leader; None if this claim does not lead it any more."""
    return replace(run, worker="", lease_until=0.0) if _leads(run, claim) else None


def stepped(run: RunRow, claim: Claim, saved: Saved, now: float) -> RunRow:
    """The run after a step. Raises Fenced."""
    _require_lead(run, claim)
    if not (math.isfinite(saved.energy_spent) and saved.energy_spent >= 0):
        raise ValueError("energy is a number of at least 0")
    after = replace(run, energy_spent=run.energy_spent + saved.energy_spent)
    if saved.plan is not None:
        after = replace(after, plan=saved.plan, plan_hash=saved.plan.hash, revision=run.revision + 1)
    if saved.status is None:
        wake_at = run.wake_at if saved.wake_at is None else saved.wake_at
        return replace(after, reason=_short(saved.reason) or run.reason, wake_at=wake_at)
    after = replace(after, status=saved.status, reason=_short(saved.reason), wake_at=saved.wake_at)
    if saved.status in TERMINAL:
        after = replace(after, ended_at=now, worker="", lease_until=0.0, wake_at=None)
    return after


def stopped(run: RunRow, reason: str, now: float) -> RunRow | None:
    """The run as it is after the owner has stopped it, its leader fenced; None if it has ended already."""
    if run.status in TERMINAL:
        return None
    ended = replace(run, status="aborted", reason=_short(reason), ended_at=now, wake_at=None)
    return replace(ended, worker="", lease_until=0.0, epoch=run.epoch + 1)


def is_news(last: TaskRow | None, task: TaskRow) -> bool:
    """Whether the row of a task is to be written. False for one that is there already, as it is. Raises JournalError
    for what would change a task that has ended: a saved result is never undone, and a task that is done is not begun
    again."""
    if task.attempt < 1:
        raise JournalError(f'attempts at task "{task.id}" count from 1')
    if last is None or (task.attempt > last.attempt and last.status != "ok"):
        return True
    if task.attempt == last.attempt and last.status not in SETTLED:
        return True
    if task == last:
        return False
    what = f"attempt {last.attempt} is saved as {last.status}"
    raise JournalError(f'attempt {task.attempt} at task "{task.id}" cannot be saved as {task.status}: {what}')


def is_new_question(last: DecisionRow | None, question: DecisionRow) -> bool:
    """Whether the question is to be written. One that was asked before, in the same words, keeps its answer."""
    return last is None or last.shown_hash != question.shown_hash


def answered(
    run: RunRow, question: DecisionRow | None, task: str, said: Mapping[str, Any], shown_hash: str, by: str, now: float
) -> DecisionRow | None:
    """The question with its answer; None if it has one: the first counts. Raises JournalError if nothing was asked, if
    something else was shown, and if the run has ended."""
    if question is None:
        raise JournalError(f'run "{run.id}" has asked nothing about task "{task}"')
    if question.shown_hash != shown_hash:
        raise JournalError(f'task "{task}" of run "{run.id}" shows something else now: look at it again, then answer')
    if question.said is not None:
        return None
    if run.status in TERMINAL:
        raise JournalError(f'run "{run.id}" has ended ({run.status}): an answer changes nothing any more')
    return replace(question, said=said, by=by, answered_at=now)


def could_go_on(run: RunRow, now: float, *, has_answer: bool) -> bool:
    """Whether a run is for anybody to claim: nobody leads it, and there is something to do. `has_answer`: one of its
    questions is answered, and the task that asked has not ended yet."""
    if run.lease_until > now:
        return False
    match run.status:
        case "queued" | "running":
            return True
        case "waiting" | "resting":
            is_time = run.wake_at is not None and run.wake_at <= now
            return is_time or (run.status == "waiting" and has_answer)
        case _:
            return False


def _leads(run: RunRow, claim: Claim) -> bool:
    return (run.epoch, run.worker) == (claim.epoch, claim.worker) and run.status not in TERMINAL


def _require_lead(run: RunRow, claim: Claim) -> None:
    if run.status in TERMINAL:
        raise Fenced(f'run "{run.id}" has ended ({run.status}): nothing was written')
    if not _leads(run, claim):
        raise Fenced(f'"{claim.worker}" does not lead run "{run.id}" any more: nothing was written')


def _lease_end(lease_s: float, now: float) -> float:
    if not (math.isfinite(lease_s) and lease_s > 0):
        raise ValueError("a lease takes more than 0 seconds")
    return now + lease_s


def _short(reason: str) -> str:
    return beginning(whole(reason), MAX_REASON_CHARACTERS)
