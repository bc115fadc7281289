"""The data of the built-in signals. Quarantine uses the same functions, so invented signals look like real ones."""

from __future__ import annotations

from datetime import datetime
from typing import Any

Data = dict[str, Any]


def tick(number: int, interval_s: float) -> Data:
    """`number` counts the ticks from 1, since the layer was started."""
    return {"number": number, "intervalS": interval_s}


def hour_changed(moment: datetime) -> Data:
    """The hour that has begun at `moment`, in the time zone of `moment`."""
    return {"hour": moment.hour, "weekday": moment.isoweekday(), "date": moment.date().isoformat()}


def energy(level: float, before: float) -> Data:
    """Levels from 0 to 1: the level now, and the one in the last such signal."""
    return {"level": level, "before": before}


def user_message(text: str) -> Data:
    return {"text": text}
