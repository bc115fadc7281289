"""Several processes on one home decide at the same moment."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from neurons import ApprovalKey, Neuron, NeuronStore, Pipeline, Status
from tests.neurons.governance import MAX_CODE_BYTES, proposal, report_of, shown
from tests.neurons.racers import pipeline_on

SETTINGS = {"proposals": {"max_pending": 20, "max_per_day": 50}}


def race(folder: Path, *races: tuple[str, Any], **settings: Any) -> list[str]:
    order = {"folder": str(folder), "races": races, "settings": {**SETTINGS, **settings}}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.neurons.racers"],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(__file__).parents[3],
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert not any(answer.startswith("raised") for answer in found), found
    return found


def waiting(pipeline: Pipeline, name: str) -> Neuron:
    neuron = pipeline.propose(proposal(name=name), max_code_bytes=MAX_CODE_BYTES)
    return pipeline.judged(neuron.id, report_of(neuron))


def awake(folder: Path) -> list[Neuron]:
    return [neuron for neuron in pipeline_on(folder, **SETTINGS).awake() if neuron.is_awake]


def on_disk(folder: Path) -> Counter[Status]:
    store: NeuronStore = pipeline_on(folder, **SETTINGS).store
    return Counter(neuron.status for neuron in store.load_all())


def test_of_eight_that_are_approved_at_once_five_are_awake(tmp_path):
    pipeline = pipeline_on(tmp_path, **SETTINGS)
    neurons = [waiting(pipeline, f"Sensor {letter}") for letter in "ABCDEFGH"]
    found = race(tmp_path, *(("approve", (neuron.id, shown(neuron))) for neuron in neurons))
    assert found.count("trial") == 5
    assert sum("as many neurons are awake as are allowed" in answer for answer in found) == 3
    assert on_disk(tmp_path) == {Status.TRIAL: 5, Status.AWAITING_OWNER: 3}
    assert len(awake(tmp_path)) == 5


def test_a_race_of_enable_and_rollback_wakes_at_most_five(tmp_path):
    pipeline = pipeline_on(tmp_path, **SETTINGS)
    off = []
    for letter in "ABCDEF":
        neuron = waiting(pipeline, f"Sensor {letter}")
        pipeline.approve(neuron.id, shown(neuron))
        off.append(pipeline.disable(neuron.id, "for a while").id)
    fresh = [waiting(pipeline, f"Fresh {letter}") for letter in "AB"]
    found = race(
        tmp_path,
        *(("enable", one) for one in off[:3]),
        *(("rollback", one) for one in off[3:]),
        *(("approve", (one.id, shown(one))) for one in fresh),
    )
    assert found.count("trial") == 5
    assert on_disk(tmp_path)[Status.TRIAL] == 5


def test_a_question_that_is_answered_twice_at_once_is_answered_once(tmp_path):
    neuron = waiting(pipeline_on(tmp_path, **SETTINGS), "Sensor")
    found = race(tmp_path, *[("approve", (neuron.id, shown(neuron)))] * 6)
    assert found.count("trial") == 1
    (there,) = awake(tmp_path)
    assert len(there.approvals) == 1
    assert [line.event for line in there.history] == ["propose", "passed", "approve"]


def test_of_many_proposals_at_once_as_many_are_taken_as_are_allowed(tmp_path):
    names = [f"Sensor {letter}" for letter in "ABCDEF"]
    found = race(tmp_path, *(("propose", name) for name in names), proposals={"max_pending": 3})
    assert found.count("quarantine") == 3
    assert on_disk(tmp_path) == {Status.QUARANTINE: 3}


def test_processes_that_start_at_once_on_a_new_home_have_the_same_key(tmp_path):
    names = [f"Sensor {letter}" for letter in "ABCDEF"]
    assert race(tmp_path, *(("propose", name) for name in names)) == ["quarantine"] * 6
    key = ApprovalKey.load_or_make(tmp_path)
    assert all(key.is_sealed(neuron) for neuron in pipeline_on(tmp_path).store.load_all())


def test_of_names_that_are_alike_one_is_taken(tmp_path):
    names = ["CryptoPrice", "Crypto Price", "crypto-price", "Crypt0Price"]
    found = race(tmp_path, *(("propose", name) for name in names))
    assert found.count("quarantine") == 1
    assert on_disk(tmp_path) == {Status.QUARANTINE: 1}


def test_counts_of_several_processes_add_up(tmp_path):
    pipeline = pipeline_on(tmp_path, **SETTINGS)
    neuron = waiting(pipeline, "Sensor")
    pipeline.approve(neuron.id, shown(neuron))
    race(tmp_path, *[("deliver", (neuron.id, 20, time.time()))] * 4)
    found = pipeline_on(tmp_path).store.get(neuron.id)
    assert found.trial is not None
    assert found.trial.counters.signals == 80


@pytest.mark.soak
def test_no_race_wakes_a_sixth_neuron(tmp_path):
    for attempt in range(40):
        folder = tmp_path / str(attempt)
        test_of_eight_that_are_approved_at_once_five_are_awake(folder)
