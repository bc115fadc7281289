"""When the cortex's own signals are due, and who rests when energy is low."""

from __future__ import annotations

import pytest

from neurons import Metadata, Neuron, Status
from neurons.autonomic.energy_account import affordable, floors, most_important_first
from neurons.autonomic.heartbeat import Heartbeat

START = 1_800_000_000.0  # on the hour


def types(heart: Heartbeat, now: float, level: float | None = None) -> list[str]:
    return [beat.type for beat in heart.due(now, level)]


def test_a_tick_comes_each_interval_and_not_before():
    heart = Heartbeat(60, START)
    assert types(heart, START) == types(heart, START + 59.9) == []
    assert types(heart, START + 60) == ["tick"]
    assert types(heart, START + 60.1) == []
    assert types(heart, START + 120) == ["tick"]


def test_a_late_tick_does_not_move_the_next_one():
    heart = Heartbeat(10, START)
    assert types(heart, START + 14) == ["tick"]
    assert heart.seconds_left(START + 14) == pytest.approx(6)
    assert types(heart, START + 20) == ["tick"]


def test_after_a_night_of_the_machine_there_is_one_tick_and_not_all_that_were_missed():
    heart = Heartbeat(60, START)
    assert types(heart, START + 8 * 3600 + 5) == ["tick", "hour_changed"]
    assert types(heart, START + 8 * 3600 + 6) == []


def test_a_clock_that_is_set_back_does_not_stop_the_ticks():
    heart = Heartbeat(60, START)
    assert types(heart, START - 7200) == ["hour_changed"]
    assert heart.seconds_left(START - 7200) <= 60
    assert types(heart, START - 7200 + 60) == ["tick"]


def test_ticks_are_numbered_and_say_how_far_apart_they_are():
    heart = Heartbeat(60, START)
    heart.due(START + 60, None)
    [tick] = heart.due(START + 120, None)
    assert tick.data == {"number": 2, "intervalS": 60}


def test_an_hour_changes_once():
    heart = Heartbeat(1e9, START + 1800)
    assert types(heart, START + 3599) == []
    assert types(heart, START + 3600) == ["hour_changed"]
    assert types(heart, START + 3601) == []


def test_energy_is_told_when_it_crosses_a_tenth_either_way():
    heart = Heartbeat(1e9, START)
    assert types(heart, START, 0.95) == []
    assert types(heart, START, 0.93) == []
    [beat] = heart.due(START, 0.85)
    assert (beat.type, beat.data) == ("energy", {"level": 0.85, "before": 0.95})
    assert types(heart, START, 0.84) == []
    assert types(heart, START, 0.95) == ["energy"]


def test_an_energy_level_that_swings_around_a_boundary_emits_one_signal():
    heart = Heartbeat(1e9, START)
    heart.due(START, 0.52)
    told = [beat for level in (0.499, 0.501, 0.495, 0.505, 0.48, 0.495, 0.505) for beat in types(heart, START, level)]
    assert told == ["energy"]


def test_a_slow_drift_of_the_energy_level_emits_a_signal():
    heart = Heartbeat(1e9, START)
    told = [beat for step in range(500) for beat in types(heart, START, 0.9 - 0.001 * step)]
    assert len(told) >= 4


def test_an_unknown_energy_level_emits_no_signal():
    heart = Heartbeat(1e9, START)
    heart.due(START, 0.9)
    assert types(heart, START, None) == []
    assert types(heart, START, 0.2) == ["energy"]


def neuron(name: str, status: Status = Status.ACTIVE, budget: float = 0.01, created: str = "2026-01-01") -> Neuron:
    metadata = Metadata(created_at=created, code_hash="", purpose="")
    return Neuron(
        id=name,
        name=f"N {name}",
        code="",
        input_signals=("tick",),
        energy_budget=budget,
        metadata=metadata,
        status=status,
    )


def test_neurons_on_trial_rest_before_active_ones_and_expensive_ones_before_cheap_ones():
    awake = [
        neuron("trial", Status.TRIAL, 0.001),
        neuron("a-dear", budget=0.05),
        neuron("cheap"),
        neuron("older", created="2025-01-01"),
    ]
    assert [one.id for one in most_important_first(awake)] == ["older", "cheap", "a-dear", "trial"]


def test_the_least_important_rests_at_the_level_of_the_settings_and_the_others_below_it():
    awake = [neuron("a"), neuron("b", budget=0.02), neuron("c", Status.TRIAL)]
    assert floors(awake, 0.15) == {"a": pytest.approx(0.05), "b": pytest.approx(0.10), "c": 0.15}
    assert floors([], 0.15) == {}


def test_a_neuron_is_given_at_most_the_signals_that_it_can_pay_for_above_its_floor():
    assert affordable(0.5, 0.1, 0.01, 64) == 40
    assert affordable(1.0, 0.1, 0.01, 64) == 64
    assert affordable(0.1, 0.1, 0.01, 64) == 1


def test_a_neuron_rests_below_its_floor_or_budget_and_while_the_level_is_unknown():
    assert affordable(0.099, 0.1, 0.01, 64) == 0
    assert affordable(0.3, 0.1, 0.4, 64) == 0
    assert affordable(None, 0.0, 0.01, 64) == 0
    assert affordable(0.0, 0.0, 0.01, 64) == 0
