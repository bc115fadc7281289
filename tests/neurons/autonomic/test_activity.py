"""What each neuron did in each five minutes of a week: counted, bounded, written now and then, and read by anyone."""

from __future__ import annotations

import json

import pytest

from neurons import activity_of
from neurons.autonomic import ActivityLog
from neurons.autonomic.activity import MAX_COUNT, MAX_STEPS, STEP_S, WRITE_S
from neurons.pipeline import Delivered
from neurons.storage import MemoryStorage
from tests.neurons.layer import Layer, settled

NOON = 1_800_000_000.0


class Clock:
    at = 0.0

    def __call__(self) -> float:
        return self.at


def steps(storage, neuron="n"):
    return [(step.at - NOON, step.signals, step.emitted, step.errors) for step in activity_of(storage, neuron)]


def test_what_was_done_is_counted_in_steps_of_five_minutes():
    storage = MemoryStorage()
    log = ActivityLog(storage)
    log.add("n", [Delivered(NOON, signals=3, emitted=1), Delivered(NOON + 299, signals=1, errors=1)])
    log.add("n", [Delivered(NOON + 300, emitted=2), Delivered(NOON + 900, awake_s=60)])
    log.add("other", [Delivered(NOON, signals=9)])
    log.write(now=True)
    assert steps(storage) == [(0, 4, 1, 1), (300, 0, 2, 0)]
    assert steps(storage, "other") == [(0, 9, 0, 0)]
    assert steps(storage, "nobody") == []


def test_it_is_written_once_a_minute_and_goes_on_where_another_process_left_it():
    storage, clock = MemoryStorage(), Clock()
    log = ActivityLog(storage, clock)
    log.add("n", [Delivered(NOON, signals=1)])
    log.write()
    assert steps(storage) == []
    clock.at = WRITE_S
    log.write()
    assert steps(storage) == [(0, 1, 0, 0)]
    other = ActivityLog(storage)
    other.begin(NOON)
    other.add("n", [Delivered(NOON + 1, signals=1)])
    other.write(now=True)
    assert steps(storage) == [(0, 2, 0, 0)]
    # The first one leads again.
    log.begin(NOON)
    log.add("n", [Delivered(NOON + 2, signals=1)])
    log.write(now=True)
    assert steps(storage) == [(0, 3, 0, 0)]


def test_a_week_is_kept_and_fits_into_64_kib():
    storage = MemoryStorage()
    log = ActivityLog(storage)
    for number in range(MAX_STEPS + 50):
        busy = Delivered(NOON + number * STEP_S, signals=10**9, emitted=10**9, errors=10**9)
        log.add("n", [busy])
    log.write(now=True)
    found = activity_of(storage, "n")
    assert len(found) == MAX_STEPS
    assert found[0].at == NOON + 50 * STEP_S
    assert {(step.signals, step.emitted, step.errors) for step in found} == {(MAX_COUNT,) * 3}
    assert len(json.dumps(storage.read("activity/n").data)) <= 65_536


def test_a_clock_that_was_wrong_costs_no_more_than_what_it_counted():
    storage = MemoryStorage()
    log = ActivityLog(storage)
    log.add("n", [Delivered(NOON, signals=1), Delivered(NOON + 10**8, signals=1), Delivered(NOON + 300, signals=1)])
    log.add("n", [Delivered(-5.0, signals=1)])
    log.write(now=True)
    assert steps(storage) == [(300, 1, 0, 0)]


def test_what_is_older_than_a_week_is_deleted_by_the_next_process_that_leads():
    storage = MemoryStorage()
    log = ActivityLog(storage)
    log.add("old", [Delivered(NOON, signals=1)])
    log.add("new", [Delivered(NOON + 6 * 86_400, signals=1)])
    log.write(now=True)
    ActivityLog(storage).begin(NOON + 8 * 86_400)
    assert storage.read("activity/old") is None
    assert storage.read("activity/new") is not None


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"step_s": 1, "from": 0, "steps": [[0, 1, 1, 1]]},
        {"step_s": 300, "from": -1, "steps": [[0, 1, 1, 1]]},
        {"step_s": 300, "from": 10**30, "steps": [[0, 1, 1, 1]]},
        {"step_s": 300, "from": "x", "steps": [[0, 1, 1, 1]]},
        {"step_s": 300, "from": 1, "steps": {"a": 1}},
        {
            "step_s": 300,
            "from": 1,
            "steps": [None, [1], [0, -1, 0, 0], [0, True, 0, 0], [0, 10**9, 0, 0], [9999, 1, 1, 1]],
        },
    ],
    ids=range(7),
)
def test_a_damaged_document_is_no_activity(data):
    storage = MemoryStorage()
    storage.write("activity/n", data)
    assert activity_of(storage, "n") == ()
    log = ActivityLog(storage)
    log.add("n", [Delivered(NOON, signals=1)])
    log.write(now=True)
    assert steps(storage) == [(0, 1, 0, 0)]


async def test_the_layer_counts_what_its_neurons_did_and_writes_it_at_its_end():
    layer = Layer()
    neuron = layer.trial()
    async with layer.open() as autonomic:
        for _ in range(3):
            autonomic.emit("tick")
            await settled(autonomic)
    found = activity_of(layer.governed.storage, neuron.id)
    assert sum(step.signals for step in found) == layer.document(neuron).trial.counters.signals == 3


async def test_a_disk_that_refuses_costs_the_activity_and_nothing_else(monkeypatch):
    layer = Layer()
    neuron = layer.trial()
    read = layer.governed.storage.read

    def broken(key):
        if key.startswith("activity/"):
            raise OSError("no space left")
        return read(key)

    monkeypatch.setattr(layer.governed.storage, "read", broken)
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await settled(autonomic)
    assert layer.document(neuron).trial.counters.signals == 1
