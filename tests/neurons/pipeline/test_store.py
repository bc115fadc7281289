"""Neurons as documents: what is read is checked, and what is changed loses nothing."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from neurons import Conflict, Damage, Neuron, NeuronStore, NoSuchNeuron, Status, StorageError
from tests.neurons.governance import START, Governed
from tests.neurons.places import InFolder, InMemory, Place, wait_until


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return InFolder(tmp_path / "state") if request.param == "folder" else InMemory()


def some(place: Place, *names: str) -> list[Neuron]:
    pipeline = Governed(place.open(), proposals={"max_pending": 100, "max_per_day": 100})
    return [pipeline.in_quarantine(name=name) for name in names]


def edited(place: Place, neuron_id: str, **changes: object) -> None:
    """By hand, as an owner does with an editor."""
    data = json.loads(place.get(f"neurons/{neuron_id}"))
    place.put(f"neurons/{neuron_id}", json.dumps({**data, **changes}).encode())


def test_what_is_persisted_is_loaded_as_it_was(place: Place):
    pipeline = Governed(place.open())
    neuron = pipeline.active()
    pipeline.storage.flush()
    assert NeuronStore(place.open()).load_all() == [neuron]
    assert NeuronStore(place.open()).persist(neuron) == neuron
    assert NeuronStore(place.open()).get(neuron.id) == neuron


def test_a_document_has_the_keys_that_were_agreed_and_can_be_read_by_a_person(place: Place):
    [neuron] = some(place, "CryptoPrice")
    text = place.get(f"neurons/{neuron.id}").decode()
    document = json.loads(text)
    assert {"id", "name", "code", "inputSignals", "outputSignals", "energyBudget", "metadata", "status"} <= set(
        document
    )
    assert {"format", "version", "tier", "hosts", "tools", "state", "history"} <= set(document)
    assert {"author", "createdAt", "codeHash", "purpose"} <= set(document["metadata"])
    assert (document["format"], document["status"], document["revision"]) == (1, "quarantine", 1)
    assert '\n  "name": "CryptoPrice",\n' in text


def test_a_neuron_is_found_by_its_id_its_name_or_the_beginning_of_its_id(place: Place):
    first, second = some(place, "CryptoPrice", "Crypto Alarm")
    store = NeuronStore(place.open())
    assert store.get(first.id).name == "CryptoPrice"
    assert store.get("Crypto Alarm").id == second.id
    assert store.get(second.id[:-2]) == second
    with pytest.raises(NoSuchNeuron, match=f'Cannot tell which neuron "crypto" is: {second.id}, {first.id}'):
        store.get("crypto")
    for name in ("", "nobody", "../energy", "Crypto", "neurons/" + first.id):
        with pytest.raises(NoSuchNeuron, match="There is no neuron"):
            store.get(name)


def test_an_exact_id_wins_over_an_id_that_begins_with_it(place: Place):
    first, second = some(place, "Crypto", "Crypto Price")
    assert second.id.startswith(first.id)
    assert NeuronStore(place.open()).get(first.id) == first


def test_a_second_neuron_of_the_same_id_is_a_conflict(place: Place):
    [neuron] = some(place, "CryptoPrice")
    store = NeuronStore(place.open())
    with pytest.raises(Conflict, match="there is one of this id"):
        store.persist(neuron.model_copy(update={"code": "return 2"}), new=True)
    assert store.get(neuron.id) == neuron


def test_changes_of_two_processes_are_both_there(place: Place):
    [neuron] = some(place, "CryptoPrice")
    mine, other = NeuronStore(place.open()), NeuronStore(place.open())
    mine.change(neuron.id, lambda found: found.model_copy(update={"state": {"last": 1}}), through=False)
    other.change(neuron.id, lambda found: found.model_copy(update={"reason": "of the other"}))
    assert (mine.get(neuron.id).state, mine.get(neuron.id).reason) == ({"last": 1}, "of the other")
    mine.flush()
    assert other.get(neuron.id) == mine.get(neuron.id)


def test_a_change_that_changes_nothing_is_not_written(place: Place):
    [neuron] = some(place, "CryptoPrice")
    storage = place.open()
    store = NeuronStore(storage)
    assert store.change(neuron.id, lambda found: found) == neuron
    assert store.change(neuron.id, lambda found: found.model_copy()) == neuron
    assert storage.read(f"neurons/{neuron.id}").revision == 1


def test_changing_a_neuron_that_does_not_exist_is_refused(place: Place):
    store = NeuronStore(place.open())
    for name in ("nobody", "../energy", "A"):
        for through in (True, False):
            with pytest.raises(NoSuchNeuron):
                store.change(name, lambda found: found, through=through)


def test_disabling_is_durable_and_in_the_history(place: Place):
    pipeline = Governed(place.open())
    neuron = pipeline.in_trial()
    store = NeuronStore(place.open(), now=lambda: START + 5)
    disabled = store.disable(neuron.name, "too loud")
    assert (disabled.status, disabled.reason) == (Status.DISABLED, "too loud")
    line = disabled.history[-1]
    assert (line.at, line.before, line.after, line.by) == (START + 5, Status.TRIAL, Status.DISABLED, "owner")
    assert NeuronStore(place.open()).get(neuron.id) == disabled
    assert store.disable(neuron.id, "again") == disabled
    assert pipeline.awake() == []


DAMAGE = {
    "no code": {"code": None},
    "an unknown status": {"status": "approved"},
    "a key too many": {"autoApprove": True},
    "the id of another": {"id": "another"},
    "an unknown format": {"format": 0},
    "no format": {"format": "one"},
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_no_neuron_is_set_aside_and_reported_and_stops_no_other(place: Place, damage: str):
    first, second, third = some(place, "A one", "B two", "C three")
    edited(place, second.id, **DAMAGE[damage])
    damages: list[Damage] = []
    store = NeuronStore(place.open(damages.append))
    for _ in range(2):
        assert store.load_all() == [first, third]
        with pytest.raises(NoSuchNeuron):
            store.get(second.id)
    [found] = damages
    assert found.key == f"neurons/{second.id}"
    assert found.reason.startswith("it is not a neuron (")
    assert len(place.aside()) == 1


def test_a_document_of_a_newer_version_is_left_untouched_and_reported_once(
    place: Place, caplog: pytest.LogCaptureFixture
):
    first, second = some(place, "A one", "B two")
    edited(place, second.id, format=2, whatItMeans={"nobody": "knows"})
    before = place.get(f"neurons/{second.id}")
    store = NeuronStore(place.open())
    assert store.load_all() == store.load_all() == [first]
    assert caplog.text.count("a newer version of this program has written it") == 1
    for use in (
        lambda: store.get(second.id),
        lambda: store.persist(second),
        lambda: store.disable(second.id),
        lambda: store.change(second.id, lambda found: found.model_copy(update={"reason": "x"})),
        lambda: store.change(second.id, lambda found: found.model_copy(update={"reason": "x"}), through=False),
    ):
        with pytest.raises(StorageError, match="a newer version of this program has written it"):
            use()
    store.flush()
    assert place.get(f"neurons/{second.id}") == before
    assert place.aside() == []


def test_decisions_about_several_neurons_are_made_one_at_a_time(place: Place):
    inside: list[int] = []
    overlaps: list[int] = []

    def decide(store: NeuronStore) -> None:
        for _ in range(20):
            with store.alone():
                inside.append(1)
                overlaps.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=decide, args=(NeuronStore(place.open()),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert overlaps == [1] * 60


def test_the_stamp_tells_that_a_neuron_was_written(place: Place):
    [neuron] = some(place, "CryptoPrice")
    store = NeuronStore(place.open())
    before = store.stamp()
    NeuronStore(place.open()).disable(neuron.id)
    wait_until(lambda: store.stamp() != before)
