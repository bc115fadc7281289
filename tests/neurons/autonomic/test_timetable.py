"""Schedules of awake neurons: each due time is delivered once, to its own neuron, and what was missed is told."""

from __future__ import annotations

import pytest

from neurons.autonomic.timetable import Timetable
from neurons.contracts import Status, StatusChange, schedule_of
from tests.neurons.governance import HOUR_S, START
from tests.neurons.layer import Layer, settled

QUARTER = 900.0


def remembering(kept):
    def play(signal, state, emit):
        kept.append(signal)

    return play


def scheduled(layer, *schedules, name="Clockwork", **changes):
    return layer.trial(name, schedules=list(schedules), inputSignals=[], **changes)


async def test_a_schedule_is_delivered_to_its_own_neuron_and_no_other():
    own, other = [], []
    layer = Layer({"Clockwork": remembering(own), "Other": remembering(other)})
    scheduled(layer, "every 15m")
    layer.trial("Other")
    async with layer.open() as autonomic:
        await settled(autonomic)
        for _ in range(3):
            layer.clock.forward(seconds=QUARTER)
            autonomic.beat()
            await settled(autonomic)
    assert [signal["type"] for signal in own] == ["schedule"] * 3
    assert own[0]["source"] == "cortex"
    assert own[0]["data"]["schedule"] == "every 15m"
    assert [signal["data"]["missed"] for signal in own] == [0, 0, 0]
    assert other == []


async def test_what_was_missed_is_told_in_one_signal():
    kept = []
    layer = Layer(remembering(kept))
    scheduled(layer, "every 15m")
    async with layer.open() as autonomic:
        await settled(autonomic)
    layer.clock.forward(hours=8)
    async with layer.open() as autonomic:
        await settled(autonomic)
        autonomic.beat()
        await settled(autonomic)
    assert [signal["data"]["missed"] for signal in kept] == [31]


async def test_a_due_time_is_on_disk_before_it_is_delivered():
    seen = []
    layer = Layer(lambda signal, state, emit: seen.append(layer.governed.storage.read("autonomic/schedules").data))
    neuron = scheduled(layer, "every 15m")
    async with layer.open() as autonomic:
        await settled(autonomic)
        layer.clock.forward(seconds=QUARTER)
        autonomic.beat()
        await settled(autonomic)
    assert seen == [{neuron.id: {"every 15m": layer.clock()}}]


async def test_the_next_process_does_not_repeat_what_was_delivered():
    kept = []
    layer = Layer(remembering(kept))
    scheduled(layer, "every 15m")
    for _ in range(2):
        async with layer.open() as autonomic:
            await settled(autonomic)
            if not kept:
                layer.clock.forward(seconds=QUARTER)
            autonomic.beat()
            await settled(autonomic)
    assert len(kept) == 1


async def test_a_neuron_that_was_asleep_begins_anew():
    kept = []
    layer = Layer(remembering(kept))
    neuron = scheduled(layer, "every 15m")
    async with layer.open() as autonomic:
        await settled(autonomic)
        layer.governed.disable(neuron.id, "enough")
        await settled(autonomic)
        layer.clock.forward(hours=5)
        autonomic.beat()
        await settled(autonomic)
        layer.governed.enable(neuron.id)
        await settled(autonomic)
        layer.clock.forward(seconds=QUARTER - 1)
        autonomic.beat()
        await settled(autonomic)
        assert kept == []
        layer.clock.forward(seconds=1)
        autonomic.beat()
        await settled(autonomic)
    assert [signal["data"]["missed"] for signal in kept] == [0]


class Kept:
    """A neuron, as far as a timetable looks at it."""

    def __init__(self, *schedules, at=START):
        self.id = "clockwork"
        self.schedules = tuple(map(schedule_of, schedules))
        self.history = (StatusChange(at=at, before=None, after=Status.TRIAL, event="", by="", version=1, code_hash=""),)


def opened(*schedules, marks=None, now=START):
    table = Timetable()
    table.restore(marks or {})
    table.adopt([Kept(*schedules)], now)
    return table


def test_each_schedule_of_a_neuron_is_due_by_itself():
    table = opened("every 15m", "every 1h")
    assert [str(due.schedule) for due in table.due(START + HOUR_S)] == ["every 15m", "every 1h"]
    assert table.due(START + HOUR_S) == []
    assert table.seconds_left(START + HOUR_S) == QUARTER


def test_a_clock_that_is_set_back_does_not_repeat_and_does_not_stop_a_schedule():
    table = opened("every 15m")
    assert len(table.due(START + QUARTER)) == 1
    back = START + QUARTER - 300
    table.adopt([Kept("every 15m")], back)
    assert table.due(back + 299) == []
    assert len(table.due(START + 2 * QUARTER)) == 1


def test_a_mark_far_in_the_future_does_not_stop_a_schedule():
    table = opened("every 15m", marks={"clockwork": {"every 15m": START + 365 * 86_400}})
    assert len(table.due(START + QUARTER)) == 1


@pytest.mark.parametrize(
    "marks", [None, [], "x", {"clockwork": 3}, {"clockwork": {"every 15m": "soon"}}, {3: {4: 5}}, {"other": {"x": 1.0}}]
)
def test_marks_that_were_edited_by_hand_are_skipped(marks):
    assert len(opened("every 15m", marks=marks).due(START + QUARTER)) == 1


def test_marks_are_kept_of_awake_neurons_only():
    table = opened("every 15m")
    table.due(START + QUARTER)
    assert table.marks() == {"clockwork": {"every 15m": START + QUARTER}}
    table.adopt([], START + QUARTER)
    assert table.marks() == {}


def test_the_next_time_is_known():
    table = opened("every 15m", "every 1h")
    assert table.next_of("clockwork") == START + QUARTER
    assert table.next_of("nobody") is None
