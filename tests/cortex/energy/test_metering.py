"""What a measured run costs."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.energy import metered_cost
from cortex.settings.sections import EnergySettings
from sandbox import Metrics, Tier

NOTHING = {"per_cpu_second": 0, "per_peak_gib": 0, "per_fetched_mib": 0, "per_tool_call": 0, "floor": 0, "ceiling": 1}
MIB = 1024 * 1024

measurements = st.builds(
    Metrics,
    cpu_ms=st.floats(0, 1e9),
    peak_memory_mb=st.floats(0, 1e6),
    fetched_bytes=st.integers(0, 10**12),
    tool_calls=st.integers(0, 10**6),
)


def metered(**rates: float) -> EnergySettings:
    return EnergySettings.model_validate({"metered": {"enabled": True, **rates}})


@pytest.mark.parametrize(
    ("rate", "metrics", "cost"),
    [
        ({"per_cpu_second": 0.05}, Metrics(cpu_ms=2000), 0.1),
        ({"per_peak_gib": 0.04}, Metrics(peak_memory_mb=512), 0.02),
        ({"per_fetched_mib": 0.02}, Metrics(fetched_bytes=3 * MIB), 0.06),
        ({"per_tool_call": 0.001}, Metrics(tool_calls=7), 0.007),
    ],
)
def test_each_measure_has_its_rate_and_what_is_not_used_costs_nothing(rate, metrics, cost):
    assert metered_cost(metrics, Tier.ISOLATED, metered(**{**NOTHING, **rate})) == pytest.approx(cost)
    assert metered_cost(metrics, Tier.ISOLATED, metered(**NOTHING)) == 0
    assert metered_cost(Metrics(), Tier.ISOLATED, metered(**{**NOTHING, **rate})) == 0


def test_the_measures_add_up():
    metrics = Metrics(cpu_ms=1000, peak_memory_mb=256, fetched_bytes=MIB, tool_calls=10)
    assert metered_cost(metrics, Tier.NETWORK, metered()) == pytest.approx(0.05 + 0.01 + 0.02 + 0.01)


def test_no_run_costs_less_than_the_floor_or_more_than_the_ceiling():
    settings = metered(floor=0.02, ceiling=0.2)
    assert metered_cost(Metrics(), Tier.ISOLATED, settings) == 0.02
    assert metered_cost(Metrics(cpu_ms=1e12), Tier.ISOLATED, settings) == 0.2
    assert metered_cost(Metrics(cpu_ms=float("nan")), Tier.ISOLATED, settings) == 0.2


def test_while_metering_is_off_a_run_costs_what_its_tier_costs():
    busy = Metrics(cpu_ms=1e6)
    assert metered_cost(busy, Tier.ISOLATED, EnergySettings()) == 0.05
    assert metered_cost(busy, Tier.NETWORK, EnergySettings()) == 0.15


@given(measurements, measurements)
def test_who_uses_more_of_everything_pays_no_less(some, more):
    both = Metrics(
        cpu_ms=some.cpu_ms + more.cpu_ms,
        peak_memory_mb=some.peak_memory_mb + more.peak_memory_mb,
        fetched_bytes=some.fetched_bytes + more.fetched_bytes,
        tool_calls=some.tool_calls + more.tool_calls,
    )
    assert 0.01 <= metered_cost(some, Tier.ISOLATED, metered()) <= metered_cost(both, Tier.ISOLATED, metered()) <= 0.25
