"""A schedule is read as people write it, and nothing else is taken for one."""

from __future__ import annotations

from datetime import datetime, time

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from neurons.contracts import Schedule, schedule_of


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("every 15m", Schedule(every="15m")),
        ("  Every:  6h ", Schedule(every="6h")),
        ("at 09:00", Schedule(at="09:00")),
        ("at 09:00 mon-fri", Schedule(at="09:00 mon-fri")),
        ("at 18:30 Sat,Sun Europe/Berlin", Schedule(at="18:30 sat,sun", zone="Europe/Berlin")),
        ("at 09:00 UTC", Schedule(at="09:00", zone="UTC")),
        ("once 2030-01-31 09:00", Schedule(once="2030-01-31 09:00")),
        ("once 2030-01-31T09:00 America/New_York", Schedule(once="2030-01-31 09:00", zone="America/New_York")),
    ],
)
def test_a_schedule_is_read_as_people_write_it_and_written_back(text, schedule):
    assert schedule_of(text) == schedule
    assert schedule_of(str(schedule)) == schedule


@pytest.mark.parametrize(
    "text",
    [
        *("", "often", "every", "every 5s", "every 0m", "every 400d", "every -1h", "every 1.5h", "every 15 minutes"),
        *("at 9:00", "at 24:00", "at 09:00 someday", "at 09:00 mon-xyz", "at noon", "every 15m Europe/Berlin"),
        *("once 2030-02-31 09:00", "once tomorrow", "once 09:00", "at 09:00 Mars/Base", "at 09:00 ../../etc/passwd"),
        *("once 0001-01-01 00:00", "once 1969-12-31 23:59", "once 9999-12-31 23:59"),
        *("every 9999999999999999999999d", "at " + "09:00 " * 50),
    ],
)
def test_what_is_no_schedule_is_refused_with_what_to_write(text):
    with pytest.raises(ValueError, match=r"\w"):
        schedule_of(text)


@given(st.text(max_size=60))
def test_no_text_is_more_than_refused(text):
    for kind in ("", "every ", "at ", "once "):
        try:
            schedule_of(kind + text)
        except ValueError:
            continue


@pytest.mark.parametrize(
    "fields", [{}, {"every": "15m", "at": "09:00"}, {"zone": "UTC"}, {"every": "15m", "cron": "*"}]
)
def test_a_schedule_has_exactly_one_rule(fields):
    with pytest.raises(ValidationError):
        Schedule(**fields)


def test_days_may_go_over_the_end_of_the_week():
    assert schedule_of("at 07:00 fri-mon").days == {4, 5, 6, 0}
    assert schedule_of("at 07:00").days == set(range(7))


def test_the_parts_of_a_schedule_are_values():
    assert schedule_of("every 15m").every_s == 900
    assert schedule_of("at 07:05").time_of_day == time(7, 5)
    assert schedule_of("once 2030-01-31 09:00").moment == datetime(2030, 1, 31, 9, 0)  # noqa: DTZ001 - without a zone
