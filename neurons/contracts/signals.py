"""Signals: typed messages between the host, the neurons and the agent; and the data of the built-in ones."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

# Emitted by the cortex itself. No neuron may emit these, so that their origin is certain.
SCHEDULE = "schedule"
BUILT_IN = frozenset({"tick", "hour_changed", "energy", "user_message", SCHEDULE})

LOWEST, NORMAL, HIGHEST = 0, 5, 9
DEFAULT_TTL_S = 60.0


def new_id() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class Signal:
    """A typed message to neurons."""

    type: str
    source: str
    """"cortex", "host", or "neuron:<id>"."""
    data: Any = None
    """JSON."""
    priority: int = NORMAL
    """From 0 to 9; higher ones are delivered first."""
    at: float = 0.0
    """Seconds of the layer's clock."""
    id: str = field(default_factory=new_id)
    correlation: str = ""
    """The id of the first signal of the chain; the signal's own id when it is the first."""
    parent: str | None = None
    """The id of the signal that this one answers."""
    depth: int = 0
    """How many signals came before it in the chain."""
    ttl_s: float = DEFAULT_TTL_S
    """A signal that has waited longer is dropped and counted."""
    origin: str = ""
    """The program on the home that emitted the first signal of the chain; empty for this one, or when it is unknown."""
    said: str = ""
    """For an emission that is told, said or wakes: the text that its owner approved, with the data filled in."""

    def __post_init__(self) -> None:
        if not self.correlation:
            object.__setattr__(self, "correlation", self.id)


def as_given(signal: Signal) -> dict[str, Any]:
    """The signal as the code of a neuron sees it, in quarantine and later. The depth and the time to live are left out:
    they concern only the layer. `at` is in milliseconds, like `Date.now()`."""
    return {
        "type": signal.type,
        "source": signal.source,
        "data": signal.data,
        "priority": signal.priority,
        "at": round(signal.at * 1000),
        "id": signal.id,
        "correlation": signal.correlation,
        "parent": signal.parent,
    }


# The data of the built-in signals. Quarantine uses the same functions, so invented signals look like real ones.


def tick(number: int, interval_s: float) -> dict[str, Any]:
    """`number` counts the ticks from 1, since the layer was started."""
    return {"number": number, "intervalS": interval_s}


def hour_changed(moment: datetime) -> dict[str, Any]:
    """The hour that has begun at `moment`, in the time zone of `moment`."""
    return {"hour": moment.hour, "weekday": moment.isoweekday(), "date": moment.date().isoformat()}


def energy(level: float, before: float) -> dict[str, Any]:
    """Levels from 0 to 1: the level now, and the one in the last such signal."""
    return {"level": level, "before": before}


def user_message(text: str) -> dict[str, Any]:
    return {"text": text}


def schedule_due(schedule: str, due: datetime, missed: int) -> dict[str, Any]:
    """The schedule as text, when it was due, and how many earlier times were missed while no process ran."""
    return {"schedule": schedule, "due": due.isoformat(timespec="seconds"), "missed": missed}
