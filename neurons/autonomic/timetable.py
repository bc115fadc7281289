"""When the schedules of the awake neurons are due. Pure: the caller gives the time, and keeps the marks.

What was due several times while no process ran is due once, with the number of times that were missed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..contracts import AWAKE, DAY_S, HOUR_S, SCHEDULE, Json, Schedule, Signal, due_between, next_due, schedule_due

if TYPE_CHECKING:
    from ..contracts import Neuron

# A mark further in the future than this was made by a clock that has been corrected since.
_ODD_S = 2 * DAY_S
_LONG_S = 3_600.0
_SIGNAL_TTL_S = HOUR_S
"""A neuron that rests for want of energy still gets the signal of its schedule within this time."""


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule of a neuron that is due now."""

    neuron: str
    schedule: Schedule
    at: float
    missed: int

    def data(self) -> dict[str, Any]:
        """The data of the signal, with the time in the schedule's own zone."""
        zone = self.schedule.tz
        moment = datetime.fromtimestamp(self.at, UTC).astimezone(zone)
        return schedule_due(str(self.schedule), moment, self.missed)

    def signal(self, now: float) -> Signal:
        return Signal(SCHEDULE, "cortex", self.data(), at=now, ttl_s=_SIGNAL_TTL_S)


@dataclass(slots=True)
class _Entry:
    schedule: Schedule
    since: float
    """When the neuron woke up: the schedule begins then."""
    mark: float
    """The last time that it was due and handed out, or `since`."""
    next: float | None


class Timetable:
    """The schedules of the neurons that are awake."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, _Entry]] = {}
        self._marks: dict[str, dict[str, float]] = {}

    def restore(self, marks: object) -> None:
        """Take over the marks of the process that led before. What is not a mark is skipped: the document may have been
        edited by hand."""
        self._marks = {}
        for neuron, times in marks.items() if isinstance(marks, dict) else ():
            if isinstance(times, dict):
                kept = {str(text): float(at) for text, at in times.items() if isinstance(at, int | float)}
                self._marks[str(neuron)] = kept
        self._entries = {}

    def marks(self) -> Json:
        """The last time that each schedule was handed out."""
        return {neuron: dict(times) for neuron, times in self._marks.items()}

    def adopt(self, neurons: Iterable[Neuron], now: float) -> None:
        """Keep exactly the schedules of these neurons. The marks of others are forgotten: they begin anew."""
        entries: dict[str, dict[str, _Entry]] = {}
        for neuron in neurons:
            for schedule in neuron.schedules:
                entries.setdefault(neuron.id, {})[str(schedule)] = self._entry(neuron, schedule, now)
        self._entries = entries
        self._marks = {
            neuron: {text: entry.mark for text, entry in each.items() if entry.mark > entry.since}
            for neuron, each in entries.items()
        }

    def due(self, now: float) -> list[DueSchedule]:
        """What is due, each schedule once. It counts as handed out; write `marks` before it is delivered."""
        found = []
        for neuron, entries in self._entries.items():
            for text, entry in entries.items():
                if entry.next is None or entry.next > now:
                    continue
                due = due_between(entry.schedule, entry.mark, now, entry.since)
                if due is not None:
                    found.append(DueSchedule(neuron, entry.schedule, due.at, due.missed))
                    entry.mark = due.at
                    self._marks.setdefault(neuron, {})[text] = due.at
                entry.next = next_due(entry.schedule, max(entry.mark, now), entry.since)
        return found

    def seconds_left(self, now: float) -> float:
        """Seconds until a schedule is due; at most an hour, because the clock may be set meanwhile."""
        times = [entry.next for each in self._entries.values() for entry in each.values() if entry.next is not None]
        return min(max(0.0, min(times, default=now + _LONG_S) - now), _LONG_S)

    def next_of(self, neuron: str) -> float | None:
        """When a schedule of the neuron is due next."""
        times = [entry.next for entry in self._entries.get(neuron, {}).values() if entry.next is not None]
        return min(times, default=None)

    def _entry(self, neuron: Neuron, schedule: Schedule, now: float) -> _Entry:
        since = min(_woken_at(neuron), now)
        known = self._entries.get(neuron.id, {}).get(str(schedule))
        if known is not None and known.since == since:
            # A clock that was set back must not make the neuron wait until it has caught up.
            known.next = next_due(schedule, known.mark if known.mark - now < _ODD_S else now, since)
            return known
        mark = self._marks.get(neuron.id, {}).get(str(schedule), since)
        mark = mark if since <= mark < now + _ODD_S else since if mark < since else now
        return _Entry(schedule, since, mark, next_due(schedule, mark, since))


def next_run(neuron: Neuron, now: float) -> float | None:
    """When a schedule of the neuron is due next, if it is awake; None without one."""
    since = min(_woken_at(neuron), now)
    times = [at for one in neuron.schedules if (at := next_due(one, now, since)) is not None]
    return min(times, default=None)


def _woken_at(neuron: Neuron) -> float:
    """When the owner last let it run; passing its trial changes nothing."""
    woken = (one.at for one in reversed(neuron.history) if one.after in AWAKE and one.before not in AWAKE)
    return next(woken, math.inf)
