"""The price of a signal."""

from __future__ import annotations

import pytest

from neurons.contracts.program import cost_of
from neurons.contracts.settings import CostSettings
from sandbox import Work
from tests.neurons.layer import FREE

BUSY = Work(cpu_ms=2_000, fetches=3, fetched_bytes=4 * 1024 * 1024, tool_calls=5)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("per_signal", 7.0),
        ("per_cpu_second", 2.0),
        ("per_fetch", 3.0),
        ("per_fetched_mib", 4.0),
        ("per_tool_call", 5.0),
    ],
)
def test_each_price_is_taken_for_what_it_is_named_after(key, expected):
    assert cost_of(BUSY, 7, CostSettings.model_validate({**FREE, key: 1})) == expected


def test_the_prices_add_up():
    whole = cost_of(BUSY, 7, CostSettings())
    parts = [cost_of(BUSY, 7, CostSettings.model_validate({**FREE, key: getattr(CostSettings(), key)})) for key in FREE]
    assert whole == pytest.approx(sum(parts))


def test_a_signal_that_took_no_work_costs_its_base():
    assert cost_of(Work(), 1, CostSettings()) == CostSettings().per_signal


def test_a_batch_costs_what_its_signals_would_cost_one_by_one():
    one = Work(cpu_ms=1.5, fetches=1, fetched_bytes=100, tool_calls=2)
    four = Work(cpu_ms=6.0, fetches=4, fetched_bytes=400, tool_calls=8)
    assert cost_of(four, 4, CostSettings()) == pytest.approx(4 * cost_of(one, 1, CostSettings()))
