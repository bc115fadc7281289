"""The legal changes of a neuron's status, in one table. No other module computes a new status."""

from __future__ import annotations

from enum import StrEnum

from ..contracts import Neuron, Refused, Status, StatusChange, storable

MAX_REASON = 500


class Event(StrEnum):
    """What can happen to a neuron's status."""

    PROPOSE = "propose"
    PASSED = "passed"
    FAILED = "failed"
    APPROVE = "approve"
    REJECT = "reject"
    EXPIRE = "expire"
    MODIFY = "modify"
    CONSOLIDATE = "consolidate"
    DISABLE = "disable"
    ENABLE_TRIAL = "enable_trial"
    ENABLE_ACTIVE = "enable_active"
    ENABLE_QUARANTINE = "enable_quarantine"
    ROLLBACK_TRIAL = "rollback_trial"
    ROLLBACK_QUARANTINE = "rollback_quarantine"
    DISTRUST = "distrust"
    """The document is not as the cortex left it."""


_Q, _O, _T, _A, _D = Status.QUARANTINE, Status.AWAITING_OWNER, Status.TRIAL, Status.ACTIVE, Status.DISABLED
_ANY: tuple[Status, ...] = (_Q, _O, _T, _A, _D)

# From which status, by which event, to which status. Anything else is refused.
_ROWS: tuple[tuple[tuple[Status | None, ...], Event, Status], ...] = (
    ((None,), Event.PROPOSE, _Q),
    ((_Q,), Event.PASSED, _O),
    ((_Q,), Event.FAILED, _D),
    ((_O,), Event.APPROVE, _T),
    ((_Q, _O), Event.REJECT, _D),
    ((_O,), Event.EXPIRE, _D),
    (_ANY, Event.MODIFY, _Q),
    ((_T,), Event.CONSOLIDATE, _A),
    ((_Q, _O, _T, _A), Event.DISABLE, _D),
    ((_D,), Event.ENABLE_TRIAL, _T),
    ((_D,), Event.ENABLE_ACTIVE, _A),
    ((_D,), Event.ENABLE_QUARANTINE, _Q),
    (_ANY, Event.ROLLBACK_TRIAL, _T),
    (_ANY, Event.ROLLBACK_QUARANTINE, _Q),
    ((_O, _T, _A), Event.DISTRUST, _Q),
)

TABLE: dict[tuple[Status | None, Event], Status] = {
    (before, event): after for befores, event, after in _ROWS for before in befores
}

_WORDS = {
    Event.PASSED: "pass",
    Event.FAILED: "fail",
    Event.ROLLBACK_TRIAL: "roll back",
    Event.ROLLBACK_QUARANTINE: "roll back",
}
_IN_WORDS = {_Q: "in quarantine", _O: "awaiting its owner", _T: "on trial"}
_HINTS = {"reject": "; to stop it, disable it", "disable": " already", "enable": "; only a disabled one is enabled"}


def in_words(status: Status) -> str:
    """To be said after "it is"."""
    return _IN_WORDS.get(status, status.value)


def after(status: Status | None, event: Event) -> Status:
    """The status that the event leads to. Raises Refused when the event is not allowed in this status."""
    found = TABLE.get((status, event))
    if found is None:
        state = "has no status yet" if status is None else f"is {in_words(status)}"
        what = _WORDS.get(event, event.value.partition("_")[0])
        raise Refused(f"Cannot {what} a neuron that {state}{_HINTS.get(what, '')}")
    return found


def changed(neuron: Neuron, event: Event, *, at: float, by: str, reason: str = "") -> Neuron:
    """The neuron after the event, with one more line in its history. Raises Refused. Changes no code and no policy.

    The seal is removed: a caller that can vouch for the new status puts one on.
    """
    # An empty history alone is not enough: deleting the history by hand must not make a neuron that cannot be disabled.
    before = None if event is Event.PROPOSE and not neuron.history else neuron.status
    status = after(before, event)
    reason = storable(reason, MAX_REASON)
    line = StatusChange(
        at=at,
        before=before,
        after=status,
        event=event.value,
        by=by,
        reason=reason,
        version=neuron.version,
        code_hash=neuron.metadata.code_hash,
    )
    # A permission for files lasts as long as the trial that it was given for goes on, and is then given anew.
    keeps_files = event in {Event.APPROVE, Event.CONSOLIDATE}
    return neuron.model_copy(
        update={
            "approvals": tuple(one for one in neuron.approvals if keeps_files or one.files is None),
            "status": status,
            "reason": reason if status is Status.DISABLED else "",
            "history": (*neuron.history, line),
            # A question is about what was asked then: every change of status closes it.
            "request": None,
            "seal": "",
        }
    )
