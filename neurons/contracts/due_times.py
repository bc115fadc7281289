"""Computes when a schedule is due, across time zones and changes of the clock. Pure.

A local time that a change of the clock skips is due as much later as the clock was put forward; a local time that
occurs twice is due the first time only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import islice

from .schedule import Schedule

MAX_MISSED = 10_000
"""More missed times than this are told as this many."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Due:
    """The latest time at which a schedule was due, and how many earlier ones were missed."""

    at: float
    missed: int


def next_due(schedule: Schedule, after: float, since: float) -> float | None:
    """The first time later than `after` at which the schedule is due. `since` is when it began: spans are counted from
    there, and nothing is due at it or before. None when it will not be due any more."""
    return next(_times(schedule, max(after, since), since), None)


def due_between(schedule: Schedule, after: float, until: float, since: float) -> Due | None:
    """What was due later than `after` and at `until` at the latest; None for nothing."""
    if schedule.every is not None:
        first, last = _turn(schedule, max(after, since), since) + 1, _turn(schedule, until, since)
        return None if last < first else Due(since + last * schedule.every_s, min(last - first, MAX_MISSED))
    missed, found = -1, None
    for at in islice(_times(schedule, max(after, since), since), MAX_MISSED + 1):
        if at > until:
            break
        missed, found = missed + 1, at
    return None if found is None else Due(found, missed)


def _turn(schedule: Schedule, at: float, since: float) -> int:
    """How many whole spans have passed."""
    return max(0, math.floor((at - since) / schedule.every_s + 1e-9))


def _times(schedule: Schedule, after: float, since: float) -> Iterator[float]:
    """All times later than `after` at which the schedule is due, in order."""
    if schedule.every is not None:
        turn = _turn(schedule, after, since)
        while True:
            turn += 1
            yield since + turn * schedule.every_s
    elif schedule.once is not None:
        at = _moment(schedule.moment, schedule)
        if at > after:
            yield at
    else:
        # From the day before: the day of `after` may have begun later elsewhere.
        for day in _days(datetime.fromtimestamp(after, schedule.tz).date() - _DAY):
            at = _moment(datetime.combine(day, schedule.time_of_day), schedule)
            if day.weekday() in schedule.days and at > after:
                yield at


def _days(day: date) -> Iterator[date]:
    while day < date.max:
        yield day
        day += _DAY


def _moment(local: datetime, schedule: Schedule) -> float:
    # Without a zone Python takes the machine's. In both cases a time that occurs twice is the first one, and one that
    # is skipped counts by the offset before the change.
    return local.replace(tzinfo=schedule.tz).timestamp()
