"""Records of the audit as facts: what each is about, how it ended, what it took. Pure; texts are as written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cortex.audit import Record

REPLY_PREFIX = "EXECUTION_"
# Facts that tell what a record is about, the most telling first; the first one present is shown.
_TOPICS = ("purpose", "what", "name", "neuron", "tool", "reason", "message")
_MAX_NUMBER = 2**64
_LABELS = {"intent": "begun", "execution": "run", "tool_call": "tool", "owner_decision": "owner", "recovered": "repair"}


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One record. A text may come from an agent, or from a forged line: show it with care."""

    seq: int
    at: float
    kind: str
    label: str
    """A word for the kind."""
    text: str
    answer: str
    """How it ended, in a word: ok, error, timeout, allowed, denied; empty where that says nothing."""
    tier: str
    ms: float | None
    cost: float | None
    level: float | None
    hash: str
    code_hash: str
    turn: str
    call: str
    cached: bool = False
    """No code ran: the result came from the cache."""


@dataclass(frozen=True, slots=True)
class _Row:
    text: str
    answer: str = ""
    tier: str = ""


def audit_row(record: Record) -> AuditRow:
    facts = record.facts
    row = _ROWS.get(record.kind, _any_row)(facts)
    return AuditRow(
        record.seq,
        record.at.timestamp(),
        record.kind,
        _LABELS.get(record.kind, record.kind),
        row.text,
        row.answer,
        row.tier,
        _number(facts.get("execution_ms", facts.get("duration_ms"))),
        _rounded(facts.get("cost")),
        _rounded(facts.get("level")),
        record.hash,
        _text(facts.get("code_hash")),
        *call_of(record),
        facts.get("cached") is True,
    )


def without_finished(records: Sequence[Record]) -> list[Record]:
    """Drop the intent of each call that has ended. An intent that stays is still running, or its host was killed."""
    ended = {call_of(record) for record in records if record.kind in {"execution", "refusal"}}
    return [record for record in records if record.kind != "intent" or call_of(record) not in ended]


def call_of(record: Record) -> tuple[str, str]:
    """The turn and the number of the call in it that the record is about."""
    return _text(record.facts.get("turn")), _text(record.facts.get("call"))


def _execution(facts: Mapping[str, Any]) -> _Row:
    answer = _answer(facts.get("reply_code"))
    error = _text(facts.get("error_type")) if answer == "error" else ""
    text = _text(facts.get("purpose")) + (f" ({error})" if error else "")
    return _Row(text, answer, _text(facts.get("tier")))


def _refusal(facts: Mapping[str, Any]) -> _Row:
    """The tier is left out: no code ran, and the reason needs the columns."""
    reason = _text(facts.get("reason"))
    code, colon, rest = reason.partition(": ")
    is_coded = bool(colon) and code.startswith(REPLY_PREFIX)
    about = _text(facts.get("purpose")) or _text(facts.get("tool"))
    return _Row(_joined(about, rest if is_coded else reason), _answer(code) if is_coded else "refused")


def _tool_call(facts: Mapping[str, Any]) -> _Row:
    origin = " (from code)" if facts.get("origin") == "code" else ""
    return _Row(_joined(_text(facts.get("tool")) + origin, _text(facts.get("error_code"))), _ok(facts))


def _owner_decision(facts: Mapping[str, Any]) -> _Row:
    about = " ".join(_text(facts.get(name)) for name in ("what", "tool", "neuron") if facts.get(name))
    allowed = facts.get("allowed")
    answer = "allowed" if allowed is True else "denied" if allowed is False else ""
    return _Row(_joined(about, _text(facts.get("reason"))), answer)


def _recovered(facts: Mapping[str, Any]) -> _Row:
    text = _joined(_text(facts.get("what")), _text(facts.get("reason")))
    return _Row(text) if text else _any_row(facts)


def _any_row(facts: Mapping[str, Any]) -> _Row:
    """A row for a kind of record that this module does not know."""
    topic = next((name for name in _TOPICS if isinstance(facts.get(name), str)), None)
    text = facts[topic] if topic else " ".join(f"{name}={_text(value)}" for name, value in facts.items())
    answer = _answer(facts["reply_code"]) if "reply_code" in facts else _ok(facts)
    return _Row(text, answer, _text(facts.get("tier")))


def _neuron(facts: Mapping[str, Any]) -> _Row:
    about = " ".join(_text(facts.get(name)) for name in ("what", "neuron") if facts.get(name))
    return _Row(_joined(about, _text(facts.get("reason"))) or _any_row(facts).text)


def _emission(facts: Mapping[str, Any]) -> _Row:
    about = " ".join(_text(facts.get(name)) for name in ("what", "neuron", "type") if facts.get(name))
    told = _text(facts.get("told"))
    return _Row(_joined(about, f"told {told}" if told else "told nobody"))


def _details(facts: Mapping[str, Any]) -> _Row:
    """The hash of what is kept of a run. Not in the row: it would fill three lines."""
    return _Row(_joined("kept of run", _text(facts.get("run"))))


_ROWS: dict[str, Callable[[Mapping[str, Any]], _Row]] = {
    "execution": _execution,
    "refusal": _refusal,
    "neuron": _neuron,
    "emission": _emission,
    "tool_call": _tool_call,
    "owner_decision": _owner_decision,
    "recovered": _recovered,
    "details": _details,
}


def _answer(code: Any) -> str:
    return _text(code).removeprefix(REPLY_PREFIX).lower().replace("cancelled", "stopped")


def _ok(facts: Mapping[str, Any]) -> str:
    return {True: "ok", False: "error"}[facts["ok"]] if isinstance(facts.get("ok"), bool) else ""


def _number(value: Any) -> float | None:
    # A forged line may hold a number of a thousand digits, and float() would raise OverflowError.
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MAX_NUMBER
    return float(value) if is_one else None


def _rounded(value: Any) -> float | None:
    """Without the dust of floating point: 0.05 is 0.050000000000000044 after a subtraction."""
    found = _number(value)
    return None if found is None else round(found, 9)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _joined(about: str, more: str) -> str:
    return ": ".join(filter(None, (about, more)))
