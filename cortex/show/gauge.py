"""Energy in a line: `energy ▰▰▰▰▰▰▰▱▱▱ 0.70 → 0.65`."""

from __future__ import annotations

from cortex.energy import rounded_down

from .marks import Marks

_CELLS = 10


def gauge(level: float, marks: Marks, before: float | None = None) -> str:
    """The level, and before it the one that it was. What is drawn is the level as it is now."""
    # It looks full only when it is.
    full = _CELLS if level >= 1 else min(max(int(level * _CELLS + 0.5), 0), _CELLS - 1)
    drawn = f"{marks.full * full}{marks.empty * (_CELLS - full)} " if marks.full else ""
    was = "" if before is None else f"{rounded_down(before)} {marks.to} "
    return f"energy {drawn}{was}{rounded_down(level)}"


def gauge_style(level: float) -> str:
    return "green" if level >= 0.5 else "yellow" if level >= 0.3 else "red"
