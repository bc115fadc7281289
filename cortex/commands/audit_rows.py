"""Formats audit records as lines of at least 80 columns. Pure; no text in a record can control the terminal."""

from __future__ import annotations

from cortex.audit import Record
from cortex.text import fit, padded
from cortex.views import AuditRow, audit_row

from .rows import Paint

MIN_WIDTH = 80
MAX_WIDTH = 160

_KIND_STYLES = {"execution": "cyan", "refusal": "yellow", "owner_decision": "bold", "recovered": "red"}
_ANSWER_STYLES = {"ok": "green", "allowed": "green", "error": "red", "timeout": "red"}
_FIXED_COLUMNS = len("   # time     kind     tier     answer      ms    energy hash  ")


def heading(width: int) -> str:
    what = "what".ljust(_room(width))
    return f"   # time     kind    {what} tier     answer      ms    energy hash"


def line(record: Record, width: int, paint: Paint) -> str:
    """One record as a line of `width` columns (80 to 160); a longer kind or number shortens the text."""
    row = audit_row(record)
    seq = f"{record.seq:>4}"
    kind = fit(row.label, 15).ljust(7)
    room = max(4, _room(width) - (len(seq) - 4) - (len(kind) - 7))
    cells = [
        (padded(fit(row.tier, 8), 8), None),
        (padded(fit(row.answer, 7), 7), _ANSWER_STYLES.get(row.answer, "yellow")),
        (_duration(row).rjust(6), None),
        (_energy(row).rjust(9), None),
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


def _duration(row: AuditRow) -> str:
    ms = row.ms
    if ms is None:
        return ""
    return f"{ms:.1f}" if ms < 1000 else f"{ms:.0f}" if ms < 1_000_000 else "long"


def _energy(row: AuditRow) -> str:
    cost, level = row.cost, row.level
    if level is None or level > 9:
        return ""
    return f"{level:.2f}" if cost is None or cost > 9 else f"{cost:.2f}/{level:.2f}"
