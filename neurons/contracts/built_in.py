"""What the built-in signals carry: what a quarantine invents has the very shape of what comes later."""

from __future__ import annotations

from datetime import datetime
from typing import Any

Data = dict[str, Any]


def tick(number: int, interval_s: float) -> Data:
    """`number` counts from 1 since the layer was started."""
    return {"number": number, "intervalS": interval_s}


def hour_changed(moment: datetime) -> Data:
    """Of a time with its zone: the hour that has begun there, as people there count it."""
    return {"hour": moment.hour, "weekday": moment.isoweekday(), "date": moment.date().isoformat()}


def energy(level: float, before: float) -> Data:
    """From 0 to 1: now, and when the last such signal was sent."""
    return {"level": level, "before": before}


def user_message(text: str) -> Data:
    return {"text": text}
