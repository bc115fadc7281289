"""The energy of a home as facts: its course over time, what was spent, and what comes."""

from __future__ import annotations

import anyio
import pytest

from cortex.energy import EnergyReserve
from cortex.settings import EnergySettings
from cortex.views import course, energy_view, expected, level_of
from sandbox import Tier

START = 1_700_000_000.0


class Clock:
    at = START

    def __call__(self) -> float:
        return self.at


def test_a_home_without_a_ledger_has_its_initial_level(tmp_path):
    view = energy_view(tmp_path / "state", EnergySettings(initial_level=0.7), START)
    assert view.level == 0.7
    assert view.entries == ()
    assert [point.level for point in course(view, START - 60)] == [0.7]
    assert not (tmp_path / "state").exists()


@pytest.fixture
def spent(tmp_path):
    clock, settings = Clock(), EnergySettings(recharge_per_minute=0.3)
    reserve = EnergyReserve(tmp_path, settings, now=clock)
    reserve.set(0.5)
    clock.at += 60  # 0.8
    anyio.run(reserve.take, Tier.ISOLATED)  # 0.75
    clock.at += 120  # full after 50 s
    anyio.run(reserve.take, Tier.NETWORK)  # 0.85
    reserve.close()
    return tmp_path, settings, clock


def test_the_course_rises_by_recharging_up_to_full_and_falls_by_entries(spent):
    folder, settings, clock = spent
    view = energy_view(folder, settings, clock.at + 10)
    points = [(round(point.at - START, 3), round(point.level, 4)) for point in course(view, START)]
    assert points[-6:] == [(60, 0.8), (60, 0.75), (110, 1.0), (180, 1.0), (180, 0.85), (190, 0.9)]
    coming = [(round(point.at - START, 3), round(point.level, 4)) for point in expected(view, START + 400)]
    assert coming == [(190, 0.9), (210, 1.0), (400, 1.0)]
    # From the middle of a rise on.
    assert round(course(view, START + 90)[0].level, 4) == 0.9


def test_what_was_spent_is_told_by_origin(spent):
    folder, settings, clock = spent
    view = energy_view(folder, settings, clock.at)
    assert [(one.origin, round(one.amount, 4), one.count) for one in view.spent] == [
        ("code, network", 0.15, 1),
        ("code, isolated", 0.05, 1),
    ]
    assert energy_view(folder, settings, clock.at + 3_601).spent == ()


def test_the_terms_are_those_of_the_program_that_spends_and_not_of_who_looks(spent):
    folder, settings, clock = spent
    other = EnergySettings(recharge_per_minute=0.01, cost_network=0.9, floor_network=0.95)
    view, own = (energy_view(folder, each, clock.at + 10) for each in (other, settings))
    assert (view.rate, view.level) == (0.3, own.level)
    assert view.seen.tiers == own.seen.tiers
    assert level_of(folder, other, clock.at + 10) == own.level
