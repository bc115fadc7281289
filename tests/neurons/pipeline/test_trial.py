"""Trials of a day in milliseconds: what is counted, what ends one, and what it takes to pass."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from neurons import DeferredStorage, Neuron, Status, StorageError, progress
from neurons.contracts.settings import TrialSettings
from neurons.pipeline.trial import Delivered, Failed, Going, Passed, Progress, noted, spread, verdict
from tests.neurons.governance import HOUR_S, START, Governed

SETTINGS = TrialSettings()


def in_trial() -> Neuron:
    return Governed().in_trial()


def after(neuron: Neuron, *batches: Delivered) -> Neuron:
    for batch in batches:
        neuron = noted(neuron, batch)
    return neuron


def fine(at: float, signals: int = 1) -> Delivered:
    return Delivered(at=at, signals=signals, emitted=signals, energy=0.001 * signals, cpu_ms=0.2 * signals)


def awake(hours: float, *, at: float = START) -> Delivered:
    return Delivered(at=at, awake_s=hours * HOUR_S)


def spread_out(hours: int, signals: int) -> list[Delivered]:
    """So many signals in each of so many hours, in which it was awake."""
    return [replace(fine(START + n * HOUR_S + 1, signals), awake_s=HOUR_S) for n in range(hours)]


def test_a_trial_takes_a_day_and_fifty_signals():
    neuron = in_trial()
    day = START + 24 * HOUR_S
    enough = after(neuron, *spread_out(24, 2), fine(day - 10, 2))
    assert verdict(after(neuron, *spread_out(24, 2), fine(day - 10, 1)), day, SETTINGS) == Going()
    assert verdict(enough, day - 1, SETTINGS) == Going()
    assert verdict(enough, day, SETTINGS) == Passed()


def test_a_trial_that_was_slept_through_is_not_over():
    neuron = in_trial()
    later = START + 25 * HOUR_S
    assert verdict(after(neuron, fine(later, 50)), later, SETTINGS) == Going()
    assert verdict(after(neuron, *spread_out(23, 3)), later, SETTINGS) == Going()
    assert verdict(after(neuron, *spread_out(23, 3), awake(1)), later, SETTINGS) == Passed()


def test_signals_in_a_burst_do_not_end_a_trial():
    neuron = after(in_trial(), awake(24))
    day = START + 24 * HOUR_S
    assert verdict(after(neuron, Delivered(at=day, signals=1_000)), day, SETTINGS) == Going()
    assert verdict(after(neuron, *(fine(START + n * HOUR_S, 10) for n in range(5))), day, SETTINGS) == Going()
    assert verdict(after(neuron, *(fine(START + n * HOUR_S, 10) for n in range(6))), day, SETTINGS) == Passed()


@pytest.mark.parametrize(("hours", "signals", "expected"), [(24, 50, 6), (24, 3, 3), (0.01, 1, 1), (1000, 500, 48)])
def test_the_hours_with_signals_that_it_takes_go_by_the_length_of_the_trial(hours, signals, expected):
    neuron = Governed(trial={"min_hours": hours, "min_signals": signals}).in_trial()
    assert spread(neuron.trial) == expected
    many = after(neuron, *spread_out(100, 9))
    assert len(many.trial.hours) == expected


def test_a_function_is_tried_by_its_calls_and_is_not_kept_awake():
    neuron = in_trial().model_copy(update={"kind": "function"})
    calls = [fine(START + n * HOUR_S, 10) for n in range(6)]
    assert verdict(after(neuron, *calls), START + 24 * HOUR_S, SETTINGS) == Passed()
    assert verdict(after(neuron, *calls), START + 23 * HOUR_S, SETTINGS) == Going()
    assert verdict(after(neuron, fine(START + HOUR_S, 60)), START + 24 * HOUR_S, SETTINGS) == Going()


def test_signals_alone_do_not_end_a_trial_and_neither_does_time():
    neuron = in_trial()
    assert verdict(
        after(neuron, *(fine(START + minute * 60, 50) for minute in range(100))), START + 6000, SETTINGS
    ) == (Going())
    assert verdict(neuron, START + 1000 * HOUR_S, SETTINGS) == Going()


def test_a_trial_is_as_long_as_it_was_when_the_owner_agreed():
    neuron = in_trial()
    shorter = TrialSettings(min_hours=1, min_signals=1)
    assert verdict(after(neuron, fine(START + 1)), START + 2 * HOUR_S, shorter) == Going()


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (
            Delivered(at=START + 1, signals=10, errors=6, last_error="TypeError: no"),
            "6 errors within an hour.*TypeError",
        ),
        (Delivered(at=START + 1, signals=10, over_budget=4), "4 signals within an hour cost more than its budget"),
        (Delivered(at=START + 1, signals=10, emitted=61), "61 signals emitted within a minute"),
        (Delivered(at=START + 1, signals=10, restarts=6), "6 restarts within an hour"),
        (Delivered(at=START + 1, signals=20, errors=5), "5 of 20 signals failed, 20% are allowed"),
    ],
)
def test_too_much_of_anything_ends_it_at_once_with_the_reason(batch, words):
    found = verdict(after(in_trial(), batch), START + 1, SETTINGS)
    assert isinstance(found, Failed)
    assert re.search(words, found.reason)


@pytest.mark.parametrize(
    "batch",
    [
        Delivered(at=START + 1, signals=100, errors=5),
        Delivered(at=START + 1, signals=10, over_budget=3),
        Delivered(at=START + 1, signals=10, emitted=60),
        Delivered(at=START + 1, signals=10, restarts=5),
        Delivered(at=START + 1, signals=20, errors=4),
        Delivered(at=START + 1, signals=19, errors=5),
    ],
)
def test_a_batch_within_all_limits_does_not_fail_the_trial(batch):
    assert verdict(after(in_trial(), batch), START + 1, SETTINGS) == Going()


@pytest.mark.parametrize(
    ("setting", "batch"),
    [
        ({"max_errors": 1}, Delivered(at=START + 1, signals=10, errors=2)),
        ({"max_error_share": 0.1, "max_errors": 50}, Delivered(at=START + 1, signals=20, errors=3)),
        ({"max_over_budget": 0}, Delivered(at=START + 1, signals=10, over_budget=1)),
        ({"max_emitted_per_minute": 1}, Delivered(at=START + 1, signals=10, emitted=2)),
        ({"max_restarts_per_hour": 0}, Delivered(at=START + 1, signals=10, restarts=1)),
    ],
)
def test_each_limit_is_the_one_of_the_settings(setting, batch):
    neuron = after(in_trial(), batch)
    assert verdict(neuron, START + 1, SETTINGS) == Going()
    assert isinstance(verdict(neuron, START + 1, TrialSettings(**setting)), Failed)


def test_the_length_is_the_one_of_the_settings():
    governed = Governed(trial={"min_hours": 2, "min_signals": 3})
    neuron = governed.in_trial()
    assert neuron.trial is not None
    assert (neuron.trial.ends_at, neuron.trial.min_signals) == (START + 2 * HOUR_S, 3)


def test_errors_of_more_than_an_hour_ago_are_forgiven():
    early = [Delivered(at=START + minute * 60, signals=20, errors=1) for minute in range(5)]
    later = START + 61 * 60 + 300
    again = after(in_trial(), *early, *(replace(batch, at=batch.at + later - START) for batch in early))
    assert verdict(again, later + 240, SETTINGS) == Going()
    assert isinstance(
        verdict(after(again, Delivered(at=later + 250, signals=1, errors=1)), later + 250, SETTINGS), Failed
    )


def test_a_minute_of_signals_is_a_minute_and_not_a_step_of_the_clock():
    quick = after(in_trial(), *(Delivered(at=START + 30 + second, signals=1, emitted=2) for second in range(50)))
    assert isinstance(verdict(quick, START + 80, SETTINGS), Failed)
    slow = after(in_trial(), *(Delivered(at=START + 2 * second, signals=1, emitted=1) for second in range(500)))
    assert verdict(slow, START + 1000, SETTINGS) == Going()


def test_the_limits_hold_for_active_neurons_too():
    neuron = Governed().active()
    late = START + 30 * HOUR_S
    assert isinstance(verdict(after(neuron, Delivered(at=late, signals=9, errors=6)), late, SETTINGS), Failed)
    assert verdict(after(neuron, fine(late, 60)), late, SETTINGS) == Going()


def test_what_is_not_awake_is_not_counted():
    governed = Governed()
    off = governed.disable(governed.in_trial().id, "enough")
    batch = Delivered(at=START, signals=9, errors=9)
    assert noted(off, batch) is off
    assert verdict(off, START, SETTINGS) == Going()


@given(
    st.lists(
        st.tuples(st.floats(-2 * HOUR_S, 4 * HOUR_S), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=300
    )
)
def test_the_windows_stay_small_whatever_happens_and_whatever_the_clock_does(batches):
    neuron = in_trial()
    for offset, errors, emitted in batches:
        neuron = noted(neuron, Delivered(at=START + offset, signals=1, errors=errors, restarts=1, emitted=emitted))
    assert len(neuron.watch.hour) <= 121
    assert len(neuron.watch.minute) <= 25


def test_times_from_a_wrong_clock_do_not_count_for_ever():
    neuron = after(in_trial(), Delivered(at=START + 900 * HOUR_S, signals=20, errors=4, emitted=50))
    neuron = after(neuron, Delivered(at=START + 1, signals=20, errors=4, emitted=50))
    assert verdict(neuron, START + 1, SETTINGS) == Going()
    assert len(neuron.watch.hour) == 1


def test_progress_says_what_is_left():
    neuron = after(in_trial(), *spread_out(6, 6), fine(START + 1, 4))
    found = progress(neuron, START + 6 * HOUR_S)
    assert (found.hours_left, found.signals_left, found.share, found.spread_left) == (18, 10, 0.25, 0)
    # Closed since then.
    assert progress(neuron, START + 48 * HOUR_S).hours_left == 18
    burst = after(in_trial(), awake(24), fine(START, 50))
    assert progress(burst, START + 48 * HOUR_S) == Progress(0, 0, pytest.approx(1 / 6), 5)
    done = progress(Governed().active(), START)
    assert (done.hours_left, done.signals_left, done.share) == (0, 0, 1)


def test_an_error_text_that_is_too_long_or_not_utf8_is_cut_and_kept():
    neuron = after(in_trial(), Delivered(at=START, signals=1, errors=1, last_error="\ud800" + "x" * 10_000))
    assert neuron.trial is not None
    assert neuron.trial.counters.last_error == "?" + "x" * 299
    neuron = after(neuron, fine(START + 1))
    assert neuron.trial is not None
    assert neuron.trial.counters.last_error.startswith("?x")
    assert neuron.trial.counters.last_signal_at == START + 1


def test_numbers_that_are_none_do_not_keep_a_neuron_from_being_written_and_disabled():
    governed = Governed()
    neuron = governed.in_trial()
    bad = Delivered(at=governed.clock(), signals=9, errors=9, energy=float("inf"), cpu_ms=float("nan"))
    assert governed.deliver(neuron.id, bad).status is Status.DISABLED
    assert governed.restarted().store.get(neuron.id).status is Status.DISABLED


# Through the pipeline


def test_a_day_of_signals_makes_an_active_neuron():
    governed = Governed()
    neuron = governed.in_trial()
    seen = []
    for _ in range(30):
        governed.clock.forward(hours=1)
        neuron = governed.deliver(neuron.id, replace(fine(governed.clock(), 2), awake_s=HOUR_S))
        seen.append(neuron.status)
    assert seen == [Status.TRIAL] * 24 + [Status.ACTIVE] * 6
    assert governed.audit.events("neuron")[-1] == "neuron consolidate"
    assert (neuron.history[-1].by, neuron.counters.signals) == ("cortex", 10)


def test_restarts_reset_neither_the_clock_nor_the_counters(tmp_path):
    governed = Governed(DeferredStorage(tmp_path))
    neuron = governed.in_trial()
    for _ in range(5):
        governed.clock.forward(seconds=60)
        governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=20, errors=1), state={"n": 1})
        governed.storage.flush()
        governed = Governed(DeferredStorage(tmp_path), clock=governed.clock)
        assert [found.id for found in governed.awake()] == [neuron.id]
    found = governed.store.get(neuron.id)
    assert found.trial is not None
    assert (found.trial.started_at, found.trial.counters.signals, found.trial.counters.errors) == (START, 100, 5)
    assert found.state == {"n": 1}
    found = governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=1, errors=1))
    assert found.status is Status.DISABLED
    assert "6 errors within an hour" in found.reason


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ({"errors": 6}, "errors within an hour"),
        ({"signals": 20, "errors": 5}, "5 of 20 signals failed"),
        ({"over_budget": 4}, "cost more than its budget of 0.02"),
        ({"emitted": 61}, "emitted within a minute"),
        ({"restarts": 6}, "restarts within an hour"),
    ],
)
@pytest.mark.parametrize("stage", ["in_trial", "active"])
def test_a_neuron_that_misbehaves_is_disabled_at_once_with_its_reason(stage, batch, words):
    governed = Governed()
    neuron = getattr(governed, stage)()
    found = governed.deliver(neuron.id, Delivered(at=governed.clock(), **{"signals": 6, **batch}))
    assert found.status is Status.DISABLED
    assert words in found.reason
    assert governed.awake() == []
    kind, facts = governed.audit.lines[-1]
    assert (kind, facts["what"], facts["by"]) == ("neuron", "neuron disable", "cortex")
    assert words in facts["reason"]
    # On disk, not behind: a crash now must not wake it.
    governed.storage.crash()
    assert governed.restarted().awake() == []


def test_a_neuron_is_disabled_also_while_nothing_can_be_recorded():
    governed = Governed()
    neuron = governed.in_trial()
    governed.audit.broken = "no space left"
    found = governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=9, errors=9))
    assert found.status is Status.DISABLED


def test_no_neuron_becomes_active_unless_that_is_recorded():
    governed = Governed()
    neuron = governed.in_trial()
    for _ in range(24):
        governed.clock.forward(hours=1)
        governed.deliver(neuron.id, replace(fine(governed.clock(), 2), awake_s=HOUR_S))
    governed.audit.broken = "no space left"
    with pytest.raises(OSError, match="no space"):
        governed.deliver(neuron.id, fine(governed.clock(), 2))
    assert governed.store.get(neuron.id).status is Status.TRIAL
    governed.audit.broken = None
    assert governed.judge_trial(neuron.id).status is Status.ACTIVE


def test_what_an_earlier_version_did_is_not_held_against_this_one():
    governed = Governed()
    neuron = governed.in_trial()
    found = governed.deliver(neuron.id, Delivered(at=START, signals=9, errors=9), version=2, state={"of": "another"})
    assert (found.status, found.state) == (Status.TRIAL, {})


def test_a_failed_verdict_stays_while_it_cannot_be_written():
    governed = Governed()
    neuron = governed.in_trial()
    governed.storage.refuses = "no space left"
    with pytest.raises(StorageError):
        governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=1, emitted=61))
    governed.storage.refuses = None
    governed.clock.forward(hours=48)
    assert governed.judge_trial(neuron.id).status is Status.DISABLED


def test_signals_of_a_quiet_neuron_are_judged_by_the_clock_alone():
    governed = Governed()
    neuron = governed.in_trial()
    for _ in range(10):
        governed.clock.forward(hours=1)
        governed.deliver(neuron.id, fine(governed.clock(), 5))
    governed.deliver(neuron.id, Delivered(at=governed.clock(), awake_s=24 * HOUR_S))
    governed.clock.forward(hours=13.9)
    assert governed.judge_trial(neuron.id).status is Status.TRIAL
    governed.clock.forward(hours=0.2)
    assert governed.judge_trial(neuron.id).status is Status.ACTIVE
