"""What a trial has counted is sealed: a person who edits a document ends no trial."""

from __future__ import annotations

import pytest

from neurons import Status
from neurons.pipeline.trial import Delivered
from tests.neurons.governance import HOUR_S, Governed


def edited(governed, neuron, **changes):
    governed.storage.flush()
    data = dict(governed.storage.read(f"neurons/{neuron.id}").data)
    data["trial"] = {**data["trial"], **changes}
    governed.storage.write_through(f"neurons/{neuron.id}", data)


def day_old(governed):
    neuron = governed.in_trial()
    governed.clock.forward(hours=24)
    return governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=3, awake_s=60))


ENOUGH = {"awakeS": 24 * HOUR_S, "hours": [1, 2, 3, 4, 5, 6]}


@pytest.mark.parametrize("changes", [{"awakeS": 24 * HOUR_S}, {"hours": [1, 2, 3, 4, 5, 6]}, {"seal": "0" * 64}])
def test_counts_that_were_edited_lead_back_to_quarantine(changes):
    governed = Governed()
    neuron = day_old(governed)
    edited(governed, neuron, **changes)
    # What comes next is not counted on top of it, and makes no new seal.
    governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=100, awake_s=60))
    assert governed.store.get(neuron.id).status is Status.TRIAL
    assert governed.awake() == []
    found = governed.store.get(neuron.id)
    assert found.status is Status.QUARANTINE
    assert found.history[-1].reason == "what its trial has counted was changed by hand, or by another program"


def test_counts_without_a_seal_count_for_nothing():
    governed = Governed()
    neuron = day_old(governed)
    counters = governed.store.get(neuron.id).trial.counters.model_dump(mode="json", by_alias=True)
    edited(governed, neuron, seal="", **ENOUGH, counters={**counters, "signals": 1_000})
    assert governed.judge_trial(neuron.id).status is Status.TRIAL
    (found,) = governed.awake()
    assert (found.trial.awake_s, found.trial.hours, found.trial.counters.signals) == (0, (), 0)
    after = governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=1, awake_s=5))
    assert (after.trial.awake_s, after.trial.counters.signals) == (5, 1)
    assert [one.id for one in governed.awake()] == [neuron.id]


def test_counts_are_sealed_with_every_batch_and_a_trial_without_a_fault_ends():
    governed = Governed()
    neuron = governed.in_trial()
    for _ in range(3):
        neuron = governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=1, awake_s=60))
        assert [one.id for one in governed.restarted().awake()] == [neuron.id]
    assert governed.tried(neuron).status is Status.ACTIVE
    assert len(governed.awake()) == 1
