"""What a candidate is tried on."""

from __future__ import annotations

import json

import pytest

from neurons.contracts import signals as built_in
from neurons.contracts.signals import BUILT_IN, as_given
from neurons.quarantine.scenarios import (
    BURST,
    EDGES,
    FAILURES,
    KEPT_STATE,
    ODD_ANSWERS,
    TYPICAL,
    Scenario,
    scenarios_for,
)
from sandbox import Tier
from tests.neurons.candidates import AT, candidate, exchange, recording, settings

PRICE = "https://prices.example/btc"


def made(neuron=None, recordings=(), **sections) -> dict[str, Scenario]:
    found = scenarios_for(neuron or candidate(), recordings, settings(**sections), at=AT)
    assert len({scenario.name for scenario in found}) == len(found)
    return {scenario.name: scenario for scenario in found}


def data(scenario: Scenario, type_: str) -> list[object]:
    return [signal.data for signal in scenario.signals if signal.type == type_]


def test_every_candidate_gets_typical_signals_edges_and_a_burst():
    assert list(made()) == [TYPICAL, EDGES, BURST]


@pytest.mark.parametrize("type_", [*sorted(BUILT_IN), "price_change"])
def test_every_declared_signal_comes_in_every_scenario_and_no_other_does(type_):
    neuron = candidate(input_signals=(type_, "another"), hosts=("prices.example",), tier=Tier.NETWORK, state={"n": 1})
    for scenario in made(neuron, [recording({"usd": 1}, (exchange(PRICE),))]).values():
        assert {signal.type for signal in scenario.signals} == {type_, "another"}, scenario.name


def test_the_burst_is_as_long_as_the_settings_say_and_comes_at_once():
    burst = made(quarantine={"burst": 17})[BURST]
    assert len(burst.signals) == 17
    assert burst.at_once
    assert data(burst, "tick") == [built_in.tick(number, 60) for number in range(1, 18)]


@pytest.mark.parametrize("type_", sorted(BUILT_IN))
def test_typical_built_in_signals_have_the_shape_that_the_layer_gives_them(type_):
    samples = {
        "tick": built_in.tick(1, 60),
        "energy": built_in.energy(0.5, 0.6),
        "user_message": built_in.user_message("x"),
        "hour_changed": {"hour": 1, "weekday": 1, "date": "2027-01-15"},
        "schedule": {"schedule": "every 15m", "due": "2027-01-15T09:00:00+00:00", "missed": 0},
    }
    for scenario in (TYPICAL, BURST):
        for signal in made(candidate(input_signals=(type_,)))[scenario].signals:
            assert signal.source == "cortex"
            assert {key: type(value) for key, value in signal.data.items()} == {
                key: type(value) for key, value in samples[type_].items()
            }


def test_the_edges_hold_missing_and_odd_data():
    edges = data(made(candidate(input_signals=("price",)))[EDGES], "price")
    for odd in (None, {}, [], "", 0, -1, 1e308, True):
        assert odd in edges
    assert any(isinstance(each, dict) and "unexpected" in each for each in edges)


@pytest.mark.parametrize("type_", sorted(BUILT_IN))
def test_built_in_signals_may_lack_their_data_but_keep_the_types_of_their_fields(type_):
    edges = data(made(candidate(input_signals=(type_,)))[EDGES], type_)
    typical = edges[-1]
    assert edges[:2] == [None, {}]
    for each in edges[2:]:
        assert {key: type(value) for key, value in each.items() if key in typical} == {
            key: type(value) for key, value in typical.items()
        }


def test_the_edges_end_with_typical_signals():
    scenarios = made()
    assert scenarios[EDGES].signals[-2:] == scenarios[TYPICAL].signals


def test_no_invented_signal_is_larger_than_a_real_one_can_be():
    neuron = candidate(input_signals=("user_message", "price"))
    for scenario in made(neuron, autonomic={"max_signal_bytes": 2_000}).values():
        for signal in scenario.signals:
            assert len(json.dumps(signal.data, ensure_ascii=False).encode()) <= 2_000
    longest = max(len(json.dumps(each)) for each in data(made(neuron)[EDGES], "user_message"))
    assert longest > 8_000


def test_signals_of_others_carry_the_fields_that_the_code_reads():
    neuron = candidate("const { usd, eur: e } = signal.data\nif (signal.data?.symbol) {}", input_signals=("price",))
    first, second = data(made(neuron)[TYPICAL], "price")[:2]
    assert set(first) == set(second) == {"symbol", "usd", "eur", "e"}
    assert all(isinstance(value, int) for value in first.values())
    assert all(isinstance(value, str) for value in second.values())


def test_signals_of_others_carry_what_the_habits_executions_were_given():
    context = {"symbol": "btc", "limit": 5}
    scenarios = made(
        candidate(input_signals=("price", "tick")), [recording({"symbol": "old"}, at=AT - 9), recording(context)]
    )
    assert data(scenarios[TYPICAL], "price")[0] == context
    assert data(scenarios["recorded 1"], "price") == [{"symbol": "old"}] * 2
    assert data(scenarios["recorded 2"], "price") == [context] * 2
    assert data(scenarios["recorded 2"], "tick")[0] == built_in.tick(1, 60)
    assert {"limit": 5} in data(scenarios[EDGES], "price")


def test_a_recorded_context_that_no_signal_could_carry_is_left_out():
    scenarios = made(candidate(input_signals=("price",)), [recording({"text": "x" * 20_000})])
    assert data(scenarios["recorded 1"], "price")[0] == {"value": 1}


def test_only_the_newest_recordings_are_given():
    recordings = [recording({"n": number}, (exchange(f"{PRICE}/{number}"),), at=AT + number) for number in (3, 1, 2, 4)]
    scenarios = made(candidate(input_signals=("price",)), recordings, quarantine={"max_recorded": 2})
    assert [name for name in scenarios if name.startswith("recorded")] == ["recorded 1", "recorded 2"]
    assert [each.url for each in scenarios[TYPICAL].exchanges] == [f"{PRICE}/3", f"{PRICE}/4"]
    assert [each.url for each in scenarios["recorded 2"].exchanges] == [f"{PRICE}/4"]


def test_a_neuron_with_hosts_or_tools_meets_a_day_on_which_they_fail():
    recordings = [recording(None, (exchange(PRICE),))]
    assert FAILURES not in made(candidate(), recordings)
    for grants in ({"hosts": ("prices.example",), "tier": Tier.NETWORK}, {"tools": ("clock.now",)}):
        failures = made(candidate(**grants), recordings)[FAILURES]
        assert (failures.exchanges, failures.tool_calls) == ((), ())


def test_every_recorded_request_meets_odd_answers_one_after_the_other():
    recordings = [
        recording(None, (exchange(PRICE), exchange(PRICE, body=b"2"), exchange(f"{PRICE}/2", truncated=True)))
    ]
    odd = made(candidate(hosts=("prices.example",), tier=Tier.NETWORK), recordings)[ODD_ANSWERS]
    of_one = [each for each in odd.exchanges if each.url == PRICE]
    assert [(each.status, each.body) for each in of_one][1:] == [(200, b"{}"), (200, b"null"), (200, b"")]
    assert of_one[0].status == 503
    assert len(odd.exchanges) == 8
    assert len(odd.signals) >= 4
    assert not any(each.truncated for each in odd.exchanges)


def test_a_neuron_that_has_a_state_is_tried_with_it():
    assert KEPT_STATE not in made()
    assert made(candidate(state={"last": 5}))[KEPT_STATE].state == {"last": 5}
    assert made(candidate(state={"last": 5}))[TYPICAL].state == {}


def test_nothing_that_the_code_sees_of_a_signal_says_where_it_is_from():
    keys = {"type", "source", "data", "priority", "at", "id", "correlation", "parent"}
    for scenario in made(candidate(input_signals=("tick", "price"))).values():
        for signal in scenario.signals:
            assert set(as_given(signal)) == keys
            assert signal.source in {"cortex", "host"}
