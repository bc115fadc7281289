"""Computes when the signals tick, hour_changed and energy are due. Pure: the caller gives the time and the level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..contracts import energy as energy_data, hour_changed as hour_changed_data, tick as tick_data

# A level that swings around a boundary is not worth a signal each time.
_BOUNDARY = 0.01
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Beat:
    """A built-in signal that is due."""

    type: str
    data: dict[str, Any]


class Heartbeat:
    """Decides which built-in signals are due."""

    def __init__(self, tick_s: float, now: float) -> None:
        self._tick_s = tick_s
        self._next_tick = now + tick_s
        self._ticks = 0
        self._hour = _hour(now)
        self._level: float | None = None
        """The level when the last energy signal was emitted, not when it was last read: else a slow drift would go
        unnoticed."""

    def due(self, now: float, level: float | None) -> list[Beat]:
        """The signals to emit now, in order. After a long gap there is one tick, not all that were missed: a hundred
        ticks at once after the machine has slept for a night are of no use."""
        beats = [*self._tick(now), *self._hour_changed(now)]
        if level is not None:
            beats += self._energy(level)
        return beats

    def seconds_left(self, now: float) -> float:
        """Seconds until the next tick."""
        return max(0.0, min(self._next_tick - now, self._tick_s))

    def _tick(self, now: float) -> list[Beat]:
        if self._next_tick - now > self._tick_s:  # the clock was set back
            self._next_tick = now + self._tick_s
        if now < self._next_tick:
            return []
        self._ticks += 1
        late_s = now - self._next_tick
        # Kept in step with the first tick, so that small delays do not add up.
        self._next_tick += self._tick_s * (1 + math.floor(late_s / self._tick_s))
        return [Beat("tick", tick_data(self._ticks, self._tick_s))]

    def _hour_changed(self, now: float) -> list[Beat]:
        hour = _hour(now)
        if hour == self._hour:
            return []
        self._hour = hour
        return [Beat("hour_changed", hour_changed_data(hour))]

    def _energy(self, level: float) -> list[Beat]:
        before = self._level
        if before is None:
            self._level = level
            return []
        tenth = _tenth(before)
        if tenth / 10 - _BOUNDARY <= level < (tenth + 1) / 10 + _BOUNDARY:
            return []
        self._level = level
        return [Beat("energy", energy_data(level, before))]


def _hour(now: float) -> datetime:
    """The current hour in the machine's time zone, which is the owner's."""
    return datetime.fromtimestamp(now).astimezone().replace(minute=0, second=0, microsecond=0)


def _tenth(level: float) -> int:
    return min(9, math.floor(level * 10 + _SLACK))
