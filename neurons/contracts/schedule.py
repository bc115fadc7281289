"""When a neuron is due by the clock: every so often, at a time of day, or once. Plain data and its text form. Pure."""

from __future__ import annotations

import re
from datetime import datetime, time
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, model_validator

MAX_SCHEDULES = 8
MIN_EVERY_S = 10
MAX_EVERY_S = 366 * 86_400
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ALL_DAYS = frozenset(range(7))

# In a zone of the machine, the first and the last year can be others than Python knows.
_FIRST_YEAR, _LAST_YEAR = 1970, 9998
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_EVERY = re.compile(r"([1-9][0-9]{0,7})\s?([smhd])")
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_ONCE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?")
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]{1,60}")
_HOW = (
    'write "every 15m", "at 09:00 mon-fri" or "once 2030-01-31 09:00", with a time zone behind it if not the machine\'s'
)


_Text = Annotated[str | None, Field(max_length=80)]


class Schedule(BaseModel):
    """One rule of the clock. Exactly one of `every`, `at` and `once` is given."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    every: _Text = None
    """A span, like "15m": s, m, h or d."""
    at: _Text = None
    """A time of day, and the days of the week it holds on: "09:00", "09:00 mon-fri", "18:30 sat,sun"."""
    once: _Text = None
    """A date and a time of day: "2030-01-31 09:00"."""
    zone: _Text = None
    """The time zone, like "Europe/Berlin"; None for the machine's."""

    @model_validator(mode="after")
    def _can_be_read(self) -> Schedule:
        if sum(part is not None for part in (self.every, self.at, self.once)) != 1:
            raise ValueError(f"a schedule has exactly one of every, at and once: {_HOW}")
        if self.zone is not None and not _is_zone(self.zone):
            raise ValueError("this machine knows no time zone of this name; write one like Europe/Berlin")
        if self.every is not None:
            if self.zone is not None:
                raise ValueError('a span like "every 15m" has no time zone')
            _ = self.every_s
        elif self.at is not None:
            _ = (self.time_of_day, self.days)
        else:
            _ = self.moment
        return self

    @property
    def every_s(self) -> int:
        """The span in seconds. Only for a schedule with `every`."""
        found = _EVERY.fullmatch(self.every or "")
        seconds = int(found[1]) * _UNITS[found[2]] if found else 0
        if not MIN_EVERY_S <= seconds <= MAX_EVERY_S:
            raise ValueError('"every" is a span of at least 10 seconds and at most a year, like 15m, 6h or 1d')
        return seconds

    @property
    def time_of_day(self) -> time:
        """Only for a schedule with `at`."""
        found = _CLOCK.fullmatch((self.at or "").split(" ", 1)[0])
        if not found:
            raise ValueError('"at" begins with a time of day of 24 hours, like 09:00')
        return time(int(found[1]), int(found[2]))

    @property
    def days(self) -> frozenset[int]:
        """The days of the week that `at` holds on; 0 is Monday."""
        _, _, names = (self.at or "").partition(" ")
        return _days(names) if names.strip() else ALL_DAYS

    @property
    def moment(self) -> datetime:
        """The date and time of `once`, without a zone. Only for a schedule with `once`."""
        if not _ONCE.fullmatch(self.once or ""):
            raise ValueError('"once" is a date and a time of day, like 2030-01-31 09:00')
        moment = datetime.fromisoformat((self.once or "").replace(" ", "T"))
        if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            raise ValueError(f'the year of "once" is at least {_FIRST_YEAR} and at most {_LAST_YEAR}')
        return moment

    @property
    def tz(self) -> ZoneInfo | None:
        """None for the machine's zone."""
        return None if self.zone is None else ZoneInfo(self.zone)

    def __str__(self) -> str:
        kind = "every" if self.every is not None else "at" if self.at is not None else "once"
        zone = "" if self.zone is None else f" {self.zone}"
        return f"{kind} {self.every or self.at or self.once}{zone}"


def schedule_of(text: str) -> Schedule:
    """Parse the text form: "every 15m", "at 09:00 mon-fri Europe/Berlin", "once 2030-01-31 09:00". Raises ValueError
    with what to write."""
    kind, _, rest = " ".join(text.split())[:200].partition(" ")
    kind = kind.lower().rstrip(":")
    rest, zone = _without_zone(rest)
    if kind not in {"every", "at", "once"}:
        raise ValueError(f"this is not a schedule: {_HOW}")
    if kind == "once":
        rest = rest.replace("T", " ")
    return Schedule(**{kind: rest.lower().strip()}, zone=zone)


def _is_zone(name: str) -> bool:
    try:
        return _ZONE.fullmatch(name) is not None and ZoneInfo(name) is not None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False


def _without_zone(text: str) -> tuple[str, str | None]:
    rest, _, last = text.rpartition(" ")
    return (rest, last) if rest and ("/" in last or last == "UTC") else (text, None)


def _days(names: str) -> frozenset[int]:
    days: set[int] = set()
    for part in names.replace(" ", ",").split(","):
        first, _, last = part.partition("-")
        if part and (first not in WEEKDAYS or (last and last not in WEEKDAYS)):
            raise ValueError('days are written like "mon-fri" or "sat,sun"')
        if part:
            begin, end = WEEKDAYS.index(first), WEEKDAYS.index(last or first)
            days.update(day % 7 for day in range(begin, begin + (end - begin) % 7 + 1))
    return frozenset(days)
