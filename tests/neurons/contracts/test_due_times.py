"""When a schedule is due, against a reference that looks at the clock on the wall minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from neurons.contracts import Schedule, due_between, due_times, next_due, schedule_of

MINUTE = 60.0
# Two changes of the clock in each direction, of an hour and of half an hour, at midnight and later; zones without any.
PLACES = [
    ("Europe/Berlin", datetime(2026, 3, 28, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 24, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 10, 31, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 3, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 2, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 4, 22, tzinfo=UTC)),
    ("Asia/Kathmandu", datetime(2026, 5, 1, tzinfo=UTC)),
    ("Pacific/Chatham", datetime(2026, 9, 25, tzinfo=UTC)),
    ("UTC", datetime(2026, 2, 27, tzinfo=UTC)),
]


def by_the_wall(schedule, start, end):
    """Every moment at which the clock on the wall shows the time, the first time on that day; for a time that the clock
    skips, as many minutes behind it as the clock was put forward."""
    zone, found, seen = schedule.tz, [], set()
    at = start.timestamp()
    while at < end.timestamp():
        at += MINUTE
        now, before = (datetime.fromtimestamp(moment, zone).replace(tzinfo=None) for moment in (at, at - MINUTE))
        wanted = [now]
        jump = now - before - timedelta(minutes=1)
        if jump > timedelta():
            skipped = [before + timedelta(minutes=n) for n in range(1, int(jump.total_seconds() // 60) + 1)]
            for each in skipped:
                if each.time() == schedule.time_of_day and each.weekday() in schedule.days:
                    found.append(at + (each - before).total_seconds() - MINUTE)
                    seen.add(each.date())
        for each in wanted:
            if each.time() == schedule.time_of_day and each.weekday() in schedule.days and each.date() not in seen:
                found.append(at)
                seen.add(each.date())
    return sorted(found)


@pytest.mark.parametrize(("zone", "start"), PLACES)
@pytest.mark.parametrize("at", ["00:00", "00:30", "01:45", "02:15", "02:30", "03:00", "12:00", "23:59"])
def test_a_time_of_day_is_due_when_the_clock_on_the_wall_shows_it(zone, start, at):
    schedule = Schedule(at=at, zone=zone)
    end = start + timedelta(days=4)
    expected = by_the_wall(schedule, start, end)
    found, after = [], start.timestamp()
    while (after := next_due(schedule, after, 0)) is not None and after <= end.timestamp():
        found.append(after)
    assert found == expected
    due = due_between(schedule, start.timestamp(), end.timestamp(), 0)
    assert (due.at, due.missed) == (expected[-1], len(expected) - 1)


def test_the_days_are_those_of_the_zone():
    schedule = schedule_of("at 08:00 mon Pacific/Auckland")
    sunday_in_utc = datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp()
    found = datetime.fromtimestamp(next_due(schedule, sunday_in_utc, 0), ZoneInfo("Pacific/Auckland"))
    assert (found.isoweekday(), found.hour) == (1, 8)


def test_a_span_is_counted_from_the_beginning_and_does_not_drift():
    schedule = schedule_of("every 15m")
    assert next_due(schedule, 1_000.0, 1_000.0) == 1_900.0
    assert next_due(schedule, 1_950.5, 1_000.0) == 2_800.0
    assert next_due(schedule, 5.0, 1_000.0) == 1_900.0


def test_what_was_missed_is_counted_and_due_once():
    schedule = schedule_of("every 15m")
    due = due_between(schedule, 1_000.0, 1_000.0 + 10 * 900, 1_000.0)
    assert (due.at, due.missed) == (10_000.0, 9)
    assert due_between(schedule, 10_000.0, 10_899.0, 1_000.0) is None


def test_a_hundred_years_of_missed_spans_are_counted_at_once_and_bounded():
    due = due_between(schedule_of("every 10s"), 0.0, 3.2e9, 0.0)
    assert (due.at, due.missed) == (3.2e9, 10_000)


@pytest.mark.parametrize(("text", "days"), [("at 09:00 UTC", 7), ("at 09:00 mon,fri Europe/Berlin", 2)])
def test_decades_of_a_wrong_clock_are_counted_in_a_few_steps(text, days, monkeypatch):
    schedule, steps = schedule_of(text), []
    plain = due_times._moment
    monkeypatch.setattr(due_times, "_moment", lambda *given: steps.append(1) or plain(*given))
    after, until = (datetime(year, 1, 4, 12, tzinfo=UTC).timestamp() for year in (1970, 1995))
    due = due_between(schedule, after, until, 0)
    weeks = int((until - after) // (7 * 86_400))
    assert abs(due.missed + 1 - weeks * days) <= days
    assert until - due.at < 7 * 86_400
    assert due_between(schedule, 0, 4e9, 0).missed <= 10_000
    assert next_due(schedule, until, 0) > until
    assert len(steps) < 100


@given(
    st.sampled_from(["at 02:30 Europe/Berlin", "at 09:00 sat America/New_York", "at 00:00 mon-wed Pacific/Apia"]),
    st.floats(1.3e9, 1.4e9),
    st.floats(0, 2e7),
)
def test_what_is_counted_is_what_one_finds_step_by_step(text, after, span):
    schedule, found, at = schedule_of(text), [], after
    while (at := next_due(schedule, at, 0)) <= after + span:
        found.append(at)
    due = due_between(schedule, after, after + span, 0)
    assert (due.at, due.missed) == (found[-1], len(found) - 1) if found else due is None


def test_once_is_due_once_and_never_when_it_lies_before_the_beginning():
    schedule = schedule_of("once 2030-01-31 09:00 UTC")
    at = datetime(2030, 1, 31, 9, tzinfo=UTC).timestamp()
    assert next_due(schedule, 0, 0) == at
    assert next_due(schedule, at, 0) is None
    assert next_due(schedule, 0, at + 1) is None
    assert due_between(schedule, 0, at + 5, 0).at == at


def test_without_a_zone_the_clock_is_that_of_the_machine(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        found = next_due(schedule_of("at 09:00"), datetime(2026, 1, 1, tzinfo=UTC).timestamp(), 0)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert datetime.fromtimestamp(found, UTC).hour == 0


@given(
    st.sampled_from(["every 15m", "at 02:30 Europe/Berlin", "at 09:00 sat America/New_York", "at 00:00 UTC"]),
    st.floats(1.6e9, 2.0e9),
    st.floats(0, 3e6),
)
def test_nothing_is_due_twice_and_nothing_is_left_out(text, after, span):
    """Looking now and then finds what one look finds."""
    schedule, since = schedule_of(text), 1.5e9
    middle, until = after + span / 3, after + span
    whole = due_between(schedule, after, until, since)
    parts = [
        due for due in (due_between(schedule, after, middle, since), due_between(schedule, middle, until, since)) if due
    ]
    assert sum(due.missed + 1 for due in parts) == (whole.missed + 1 if whole else 0)
    assert (parts[-1].at if parts else None) == (whole.at if whole else None)
