"""The signals that wait: order, room, and what is dropped."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from neurons.autonomic.signal_limits import Rate, Rates, RecentIds
from neurons.autonomic.signal_queue import Drop, QueuedSignal, SignalQueue


def waiting(name: str, priority: int = 5, until: float = 100.0) -> QueuedSignal:
    return QueuedSignal(id=name, correlation=name, depth=0, priority=priority, until=until, given={"id": name})


def queue(*neurons: str, most: int = 100, each: int = 100) -> SignalQueue:
    made = SignalQueue(most, each)
    for neuron in neurons:
        made.open(neuron)
    return made


def taken(lines: SignalQueue, neuron: str, most: int = 100, now: float = 0.0) -> list[str]:
    return [one.id for one in lines.take_batch(neuron, most, now)]


def test_the_more_important_come_first_and_among_equals_the_older():
    lines = queue("n")
    for name, priority in [("a", 5), ("b", 9), ("c", 5), ("d", 0), ("e", 9)]:
        assert lines.put("n", waiting(name, priority))
    assert taken(lines, "n") == ["b", "e", "a", "c", "d"]
    assert len(lines) == 0


def test_a_batch_has_no_more_than_was_asked_for_and_the_rest_waits():
    lines = queue("n")
    for number in range(5):
        lines.put("n", waiting(str(number)))
    assert taken(lines, "n", most=2) == ["0", "1"]
    assert lines.waiting("n") == 3
    assert taken(lines, "n", most=10) == ["2", "3", "4"]


def test_a_signal_that_waited_longer_than_its_time_to_live_is_dropped_and_counted():
    lines = queue("n")
    lines.put("n", waiting("old", until=10))
    lines.put("n", waiting("new", until=20))
    assert taken(lines, "n", now=10.5) == ["new"]
    assert lines.dropped == Counter({Drop.EXPIRED: 1})


def test_what_expired_takes_no_place_in_a_batch():
    lines = queue("n")
    lines.put("n", waiting("old", until=1))
    lines.put("n", waiting("new"))
    assert taken(lines, "n", most=1, now=50) == ["new"]


def test_a_full_line_keeps_the_newest():
    lines = queue("n", each=3)
    for number in range(5):
        assert lines.put("n", waiting(str(number)))
    assert taken(lines, "n") == ["2", "3", "4"]
    assert lines.dropped == Counter({Drop.FULL: 2})


def test_in_a_full_line_the_least_important_make_way():
    lines = queue("n", each=2)
    lines.put("n", waiting("low", 1))
    lines.put("n", waiting("high", 9))
    assert lines.put("n", waiting("middle", 5))
    assert taken(lines, "n") == ["high", "middle"]


def test_a_signal_less_important_than_all_that_wait_finds_no_room():
    lines = queue("n", each=2)
    lines.put("n", waiting("a", 5))
    lines.put("n", waiting("b", 5))
    assert not lines.put("n", waiting("low", 4))
    assert taken(lines, "n") == ["a", "b"]
    assert lines.dropped == Counter({Drop.FULL: 1})


def test_all_lines_together_have_a_bound_too_and_the_longest_line_gives_way():
    lines = queue("slow", "quick", most=4)
    for number in range(4):
        lines.put("slow", waiting(f"s{number}"))
    assert lines.put("quick", waiting("q"))
    assert taken(lines, "quick") == ["q"]
    assert taken(lines, "slow") == ["s1", "s2", "s3"]


def test_what_waits_for_a_neuron_that_went_to_sleep_is_dropped_and_counted():
    lines = queue("n", "m")
    lines.put("n", waiting("a"))
    lines.put("m", waiting("a"))
    lines.close("n")
    assert len(lines) == 1
    assert lines.dropped == Counter({Drop.ASLEEP: 1})
    assert not lines.put("n", waiting("b"))
    assert taken(lines, "n") == []
    lines.close("n")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 20)),
            st.tuples(st.just("take"), st.sampled_from("ab"), st.integers(1, 5), st.integers(0, 20)),
        ),
        max_size=60,
    ),
    st.integers(1, 8),
    st.integers(1, 8),
)
def test_nothing_is_lost_without_being_counted_and_no_bound_is_passed(steps, most, each):
    lines = queue("a", "b", most=most, each=each)
    put = out = 0
    for number, (step, neuron, size, time) in enumerate(steps):
        if step == "put":
            put += 1
            lines.put(neuron, waiting(str(number), size, until=time))
        else:
            batch = lines.take_batch(neuron, size, time)
            assert len(batch) <= size
            assert [one.priority for one in batch] == sorted((one.priority for one in batch), reverse=True)
            out += len(batch)
        assert len(lines) == lines.waiting("a") + lines.waiting("b") <= most
        assert max(lines.waiting("a"), lines.waiting("b")) <= each
        assert put == out + len(lines) + lines.dropped.total()


def test_a_signal_is_new_once():
    seen = RecentIds(2)
    assert seen.is_new("a")
    assert not seen.is_new("a")


def test_ids_are_remembered_for_a_while_and_not_for_ever():
    seen = RecentIds(100)
    assert all(seen.is_new(str(number)) for number in range(100))
    assert not any(seen.is_new(str(number)) for number in range(100))
    assert all(seen.is_new(str(number)) for number in range(100, 1000))
    assert seen.is_new("0")


def test_a_rate_holds_within_any_span_wherever_it_begins():
    rate = Rate(3, 60)
    assert [rate.allows(at) for at in (0, 30, 59, 59.5)] == [True, True, True, False]
    assert rate.allows(60)
    assert not rate.allows(61)
    assert rate.allows(90)


def test_a_clock_that_was_set_back_does_not_block_the_rate():
    rate = Rate(1, 60)
    assert rate.allows(10_000)
    assert rate.allows(100)


def test_each_type_of_each_neuron_has_a_rate_of_its_own():
    rates = Rates(1)
    assert rates.allows("neuron:a", "x", 0)
    assert not rates.allows("neuron:a", "x", 1)
    assert rates.allows("neuron:a", "y", 1)
    assert rates.allows("neuron:b", "x", 1)


def test_only_the_rates_of_neurons_that_are_awake_are_remembered():
    rates = Rates(1)
    rates.allows("neuron:a", "x", 0)
    rates.allows("neuron:b", "x", 0)
    rates.keep_only(frozenset({"neuron:a"}))
    assert not rates.allows("neuron:a", "x", 1)
    assert rates.allows("neuron:b", "x", 1)


@pytest.mark.parametrize("most", [1, 7])
def test_a_rate_counts_what_it_allowed_and_not_what_it_refused(most):
    rate = Rate(most, 60)
    assert sum(rate.allows(0.001 * step) for step in range(1000)) == most
    assert sum(rate.allows(60 + 0.001 * step) for step in range(1000)) == most
