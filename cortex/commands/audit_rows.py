"""Formats audit records as lines of at least 80 columns. Pure; no text in a record can control the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cortex.audit import Record
from cortex.text import fit, padded

from .rows import Paint

MIN_WIDTH = 80
MAX_WIDTH = 160

_LABELS = {"intent": "begun", "execution": "run", "tool_call": "tool", "owner_decision": "owner", "recovered": "repair"}
_KIND_STYLES = {"execution": "cyan", "refusal": "yellow", "owner_decision": "bold", "recovered": "red"}
_ANSWER_STYLES = {"ok": "green", "allowed": "green", "error": "red", "timeout": "red"}
_REPLY_PREFIX = "EXECUTION_"
# Facts that tell what a record is about, the most telling first; the first one present is shown.
_TOPICS = ("purpose", "what", "name", "neuron", "tool", "reason", "message")
_MAX_NUMBER = 2**64
_FIXED_COLUMNS = len("   # time     kind     tier     answer      ms    energy hash  ")


@dataclass(frozen=True, slots=True)
class Row:
    text: str
    answer: str = ""
    tier: str = ""


def without_finished(records: Sequence[Record]) -> list[Record]:
    """Drop the intent of each call that has ended. An intent that stays is still running, or its host was killed."""
    ended = {_call(record) for record in records if record.kind in {"execution", "refusal"}}
    return [record for record in records if record.kind != "intent" or _call(record) not in ended]


def _call(record: Record) -> tuple[object, object]:
    return str(record.facts.get("turn")), str(record.facts.get("call"))


def heading(width: int) -> str:
    what = "what".ljust(_room(width))
    return f"   # time     kind    {what} tier     answer      ms    energy hash"


def line(record: Record, width: int, paint: Paint) -> str:
    """One record as a line of `width` columns (80 to 160); a longer kind or number shortens the text."""
    facts = record.facts
    row = _ROWS.get(record.kind, _any_row)(facts)
    seq = f"{record.seq:>4}"
    kind = fit(_LABELS.get(record.kind, record.kind), 15).ljust(7)
    room = max(4, _room(width) - (len(seq) - 4) - (len(kind) - 7))
    cells = [
        (padded(fit(row.tier, 8), 8), None),
        (padded(fit(row.answer, 7), 7), _ANSWER_STYLES.get(row.answer, "yellow")),
        (_duration(facts).rjust(6), None),
        (_energy(facts).rjust(9), None),
    ]
    # Empty cells before the first filled one leave their columns to the text.
    while cells and not cells[0][0].strip():
        room += len(cells.pop(0)[0]) + 1
    parts = (
        paint(seq, "dim"),
        f"{record.at.astimezone():%H:%M:%S}",
        _painted(paint, kind, _KIND_STYLES.get(record.kind)),
        padded(fit(row.text, room), room),
        *(_painted(paint, text, style if text.strip() else None) for text, style in cells),
        paint(record.hash[:6], "dim"),
    )
    return " ".join(parts)


def _room(width: int) -> int:
    return min(max(width, MIN_WIDTH), MAX_WIDTH) - _FIXED_COLUMNS


def _painted(paint: Paint, text: str, style: str | None) -> str:
    return text if style is None else paint(text, style)


def _execution(facts: Mapping[str, Any]) -> Row:
    answer = _answer(facts.get("reply_code"))
    error = _text(facts.get("error_type")) if answer == "error" else ""
    text = _text(facts.get("purpose")) + (f" ({error})" if error else "")
    return Row(text, answer, _text(facts.get("tier")))


def _refusal(facts: Mapping[str, Any]) -> Row:
    """The tier is left out: no code ran, and the reason needs the columns."""
    reason = _text(facts.get("reason"))
    code, colon, rest = reason.partition(": ")
    is_coded = bool(colon) and code.startswith(_REPLY_PREFIX)
    about = _text(facts.get("purpose")) or _text(facts.get("tool"))
    return Row(_joined(about, rest if is_coded else reason), _answer(code) if is_coded else "refused")


def _tool_call(facts: Mapping[str, Any]) -> Row:
    origin = " (from code)" if facts.get("origin") == "code" else ""
    return Row(_joined(_text(facts.get("tool")) + origin, _text(facts.get("error_code"))), _ok(facts))


def _owner_decision(facts: Mapping[str, Any]) -> Row:
    about = " ".join(_text(facts.get(name)) for name in ("what", "tool", "neuron") if facts.get(name))
    allowed = facts.get("allowed")
    answer = "allowed" if allowed is True else "denied" if allowed is False else ""
    return Row(_joined(about, _text(facts.get("reason"))), answer)


def _recovered(facts: Mapping[str, Any]) -> Row:
    text = _joined(_text(facts.get("what")), _text(facts.get("reason")))
    return Row(text) if text else _any_row(facts)


def _any_row(facts: Mapping[str, Any]) -> Row:
    """A row for a kind of record that this module does not know."""
    topic = next((name for name in _TOPICS if isinstance(facts.get(name), str)), None)
    text = facts[topic] if topic else " ".join(f"{name}={_text(value)}" for name, value in facts.items())
    answer = _answer(facts["reply_code"]) if "reply_code" in facts else _ok(facts)
    return Row(text, answer, _text(facts.get("tier")))


def _neuron(facts: Mapping[str, Any]) -> Row:
    about = " ".join(_text(facts.get(name)) for name in ("what", "neuron") if facts.get(name))
    return Row(_joined(about, _text(facts.get("reason"))) or _any_row(facts).text)


def _emission(facts: Mapping[str, Any]) -> Row:
    about = " ".join(_text(facts.get(name)) for name in ("what", "neuron", "type") if facts.get(name))
    told = _text(facts.get("told"))
    return Row(_joined(about, f"told {told}" if told else "told nobody"))


_ROWS: dict[str, Callable[[Mapping[str, Any]], Row]] = {
    "execution": _execution,
    "refusal": _refusal,
    "neuron": _neuron,
    "emission": _emission,
    "tool_call": _tool_call,
    "owner_decision": _owner_decision,
    "recovered": _recovered,
}


def _answer(code: Any) -> str:
    return _text(code).removeprefix(_REPLY_PREFIX).lower().replace("cancelled", "stopped")


def _ok(facts: Mapping[str, Any]) -> str:
    return {True: "ok", False: "error"}[facts["ok"]] if isinstance(facts.get("ok"), bool) else ""


def _duration(facts: Mapping[str, Any]) -> str:
    ms = _number(facts.get("execution_ms", facts.get("duration_ms")))
    if ms is None:
        return ""
    return f"{ms:.1f}" if ms < 1000 else f"{ms:.0f}" if ms < 1_000_000 else "long"


def _energy(facts: Mapping[str, Any]) -> str:
    cost, level = _number(facts.get("cost")), _number(facts.get("level"))
    if level is None or level > 9:
        return ""
    return f"{level:.2f}" if cost is None or cost > 9 else f"{cost:.2f}/{level:.2f}"


def _number(value: Any) -> float | None:
    # A forged line may hold a number of a thousand digits, and float() would raise OverflowError.
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MAX_NUMBER
    return float(value) if is_one else None


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _joined(about: str, more: str) -> str:
    return ": ".join(filter(None, (about, more)))
