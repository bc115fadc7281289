"""Format the energy level as a line: `energy ▰▰▰▰▰▰▰▱▱▱ 0.70 → 0.65`."""

from __future__ import annotations

from cortex.energy import drawn, rounded_down

from .marks import Marks


def gauge(level: float, marks: Marks, before: float | None = None) -> str:
    """The line. `before` is the earlier level, shown as a number; the gauge draws the level now."""
    row = f"{drawn(level, marks.full, marks.empty)} " if marks.full else ""
    was = "" if before is None else f"{rounded_down(before)} {marks.to} "
    return f"energy {row}{was}{rounded_down(level)}"


def gauge_style(level: float) -> str:
    return "green" if level >= 0.5 else "yellow" if level >= 0.3 else "red"
