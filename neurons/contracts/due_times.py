"""Computes when a schedule is due, across time zones and changes of the clock. Pure.

A local time that a change of the clock skips is due as much later as the clock was put forward; a local time that
occurs twice is due the first time only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime

from .schedule import Schedule

MAX_MISSED = 10_000
"""More missed times than this are told as this many."""
_WEEK = 10
"""Days within which each day of the week is found, also where a change of the clock leaves one out."""


@dataclass(frozen=True, slots=True)
class Due:
    """The latest time at which a schedule was due, and how many earlier ones were missed."""

    at: float
    missed: int


def next_due(schedule: Schedule, after: float, since: float) -> float | None:
    """The first time later than `after` at which the schedule is due. `since` is when it began: spans are counted from
    there, and nothing is due at it or before. None when it will not be due any more."""
    after = max(after, since)
    if schedule.every is not None:
        return since + (_turn(schedule, after, since) + 1) * schedule.every_s
    if schedule.once is not None:
        at = _moment(schedule.moment, schedule)
        return at if at > after else None
    found = _first_after(schedule, after)
    return None if found is None else found[1]


def due_between(schedule: Schedule, after: float, until: float, since: float) -> Due | None:
    """What was due later than `after` and at `until` at the latest; None for nothing. Takes the same time for a day and
    for decades, which a clock that was wrong can leave between the two."""
    after = max(after, since)
    if schedule.every is not None:
        first, last = _turn(schedule, after, since) + 1, _turn(schedule, until, since)
        return None if last < first else Due(since + last * schedule.every_s, min(last - first, MAX_MISSED))
    if schedule.once is not None:
        at = next_due(schedule, after, since)
        return None if at is None or at > until else Due(at, 0)
    return _days_due(schedule, after, until)


def _days_due(schedule: Schedule, after: float, until: float) -> Due | None:
    earliest, latest = _first_after(schedule, after), _last_until(schedule, until)
    if earliest is None or latest is None or latest[1] <= after:
        return None
    (first, _), (last, at) = earliest, latest
    weeks, rest = divmod((last - first).days + 1, 7)
    count = weeks * len(schedule.days) + sum((first.weekday() + n) % 7 in schedule.days for n in range(rest))
    return Due(at, min(count - 1, MAX_MISSED))


def _turn(schedule: Schedule, at: float, since: float) -> int:
    """How many whole spans have passed."""
    return max(0, math.floor((at - since) / schedule.every_s + 1e-9))


def _first_after(schedule: Schedule, after: float) -> tuple[date, float] | None:
    # From the day before: the day of `after` may have begun later elsewhere.
    return next((found for found in _near(schedule, after, range(-1, _WEEK)) if found[1] > after), None)


def _last_until(schedule: Schedule, until: float) -> tuple[date, float] | None:
    return next((found for found in _near(schedule, until, range(1, -_WEEK, -1)) if found[1] <= until), None)


def _near(schedule: Schedule, at: float, offsets: Iterable[int]) -> Iterator[tuple[date, float]]:
    """The days this far from the day of `at` on which the schedule is due, with the times."""
    today = datetime.fromtimestamp(at, schedule.tz).date()
    for offset in offsets:
        number = today.toordinal() + offset
        if 1 < number < date.max.toordinal() and (day := date.fromordinal(number)).weekday() in schedule.days:
            yield day, _moment(datetime.combine(day, schedule.time_of_day), schedule)


def _moment(local: datetime, schedule: Schedule) -> float:
    # Without a zone Python takes the machine's. In both cases a time that occurs twice is the first one, and one that
    # is skipped counts by the offset before the change.
    return local.replace(tzinfo=schedule.tz).timestamp()
