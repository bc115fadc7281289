"""The run's clock, which pauses while it is held, tested with an artificial time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from sandbox.run.run_clock import NOISE_S, RunClock


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def clock(time):
    return RunClock(time.now + 10, time)


def test_without_a_hold_the_deadline_stays_where_it_was(clock, time):
    time.now += 7
    assert clock.deadline == 110


def test_the_deadline_moves_by_the_time_that_it_was_held(clock, time):
    time.now += 2
    clock.hold("a", 60)
    time.now += 30
    clock.release("a")
    assert clock.deadline == 110 + 30


def test_while_it_is_held_the_deadline_is_where_the_longest_hold_would_put_it(clock, time):
    clock.hold("a", 60)
    assert clock.deadline == 110 + 60
    time.now += 20
    clock.hold("b", 10)
    assert clock.deadline == 110 + 60
    clock.hold("c", 100)
    assert clock.deadline == 110 + 120


def test_holds_that_overlap_count_once(clock, time):
    clock.hold("a", 60)
    time.now += 5
    clock.hold("b", 60)
    time.now += 5
    clock.release("a")
    time.now += 5
    clock.release("b")
    assert clock.deadline == 110 + 15


def test_a_hold_after_another_counts_too(clock, time):
    for _ in range(3):
        clock.hold("a", 60)
        time.now += 4
        clock.release("a")
        time.now += 1
    assert clock.deadline == 110 + 12


def test_no_hold_lasts_longer_than_it_was_said_to(clock, time):
    clock.hold("a", 60)
    time.now += 500
    assert clock.deadline == 110 + 60
    clock.release("a")
    assert clock.deadline == 110 + 60


def test_a_hold_that_has_run_out_does_not_make_the_next_one_longer(clock, time):
    clock.hold("a", 60)
    time.now += 100
    clock.hold("b", 5)
    time.now += 3
    clock.release("b")
    assert clock.deadline == 110 + 63
    clock.release("a")
    assert clock.deadline == 110 + 63


def test_a_hold_that_is_released_twice_was_released_once(clock, time):
    clock.release("a")
    clock.hold("a", 60)
    time.now += 5
    clock.release("a")
    time.now += 5
    clock.release("a")
    assert clock.deadline == 110 + 5


@pytest.mark.parametrize("nothing", [0, -1, math.nan, -math.inf])
def test_a_hold_of_no_time_holds_nothing(clock, time, nothing):
    clock.hold("a", nothing)
    assert clock.deadline == 110
    time.now += 5
    clock.release("a")
    assert clock.deadline == 110


def test_a_hold_without_end_ends_with_its_release(clock, time):
    clock.hold("a", math.inf)
    assert clock.deadline == math.inf
    time.now += 5
    clock.release("a")
    assert clock.deadline == 110 + 5


def test_time_that_is_up_stays_up(clock, time):
    time.now += 11
    clock.hold("a", 60)
    assert clock.deadline == 110


class Processor:
    """Of as many cores as it takes."""

    def __init__(self, time: Time) -> None:
        self.time = time
        self.computed_s: float | None = 7.0

    def __call__(self) -> float | None:
        return self.computed_s

    def compute(self, wall_s: float, cpu_s: float) -> None:
        self.time.now += wall_s
        self.computed_s += cpu_s


@pytest.fixture
def processor(time):
    return Processor(time)


@pytest.fixture
def watched(time, processor):
    return RunClock(time.now + 10, time, processor)


def test_what_is_computed_without_a_hold_is_not_counted(watched, processor):
    processor.compute(5, 20)
    assert watched.deadline == 110
    watched.hold("a", 60)
    processor.compute(30, 0)
    watched.release("a")
    assert watched.deadline == 110 + 30


def test_what_is_computed_during_a_hold_counts(watched, processor):
    watched.hold("a", 60)
    processor.compute(30, 4)
    watched.release("a")
    assert watched.deadline == pytest.approx(110 + 30 - 4 + NOISE_S)
    processor.compute(5, 5)
    assert watched.deadline == pytest.approx(110 + 30 - 4 + NOISE_S)


def test_time_that_is_computed_away_is_up_while_the_hold_lasts(watched, time, processor):
    watched.hold("a", 60)
    for _ in range(99):
        processor.compute(0.1, 0.1)
        assert watched.deadline > time.now + 40
    processor.compute(0.2, 0.2)
    assert watched.deadline <= time.now
    watched.hold("b", 60)
    assert watched.deadline <= time.now
    watched.release("a")
    watched.release("b")
    assert watched.deadline <= time.now


def test_to_be_held_is_never_worse_than_not_to_be(watched, processor):
    watched.hold("a", 60)
    processor.compute(2, 100)
    watched.release("a")
    assert watched.deadline == 110


def test_a_process_that_waits_loses_nothing(watched, processor):
    for _ in range(10):
        watched.hold("a", 60)
        processor.compute(30, NOISE_S / 10)
        watched.release("a")
    assert watched.deadline == pytest.approx(110 + 300)


def test_what_is_excused_is_excused_once_and_not_in_each_hold(watched, processor):
    for _ in range(100):
        watched.hold("a", 60)
        processor.compute(1, NOISE_S)
        watched.release("a")
    assert watched.deadline == pytest.approx(110 + 100 - 99 * NOISE_S)


def test_what_is_computed_after_a_hold_has_run_out_is_not_counted(watched, processor):
    watched.hold("a", 5)
    processor.compute(5, 0)
    assert watched.deadline == 115
    processor.compute(4, 4)
    assert watched.deadline == 115


@pytest.mark.parametrize("known", [(None, 5.0), (5.0, None), (None, None), (5.0, 4.0)])
def test_where_nobody_tells_what_is_computed_a_hold_is_a_hold(watched, time, processor, known):
    processor.computed_s = known[0]
    watched.hold("a", 60)
    time.now += 30
    processor.computed_s = known[1]
    watched.release("a")
    assert watched.deadline == 110 + 30


Step = st.tuples(st.integers(0, 20), st.sampled_from("abc"), st.none() | st.integers(0, 30))


@given(st.lists(Step, max_size=20))
def test_it_stands_still_exactly_while_a_hold_lasts(steps):
    time = Time()
    clock = RunClock(time.now + 1000, time)
    ends: dict[str, float] = {}
    stood = 0
    for wait, name, at_most_s in steps:
        for _ in range(wait):  # second by second
            stood += any(end > time.now for end in ends.values())
            time.now += 1
        if at_most_s is None:
            ends.pop(name, None)
            clock.release(name)
        else:
            ends[name] = time.now + at_most_s
            clock.hold(name, at_most_s)
        assert clock.deadline == 1100 + stood + max(0, max(ends.values(), default=0) - time.now)
