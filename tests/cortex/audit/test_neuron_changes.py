"""The last change of status of each neuron, as the log has it, found without reading the whole log each time."""

from __future__ import annotations

import json

from cortex.audit import Audit
from cortex.audit.neuron_changes import FILE, NeuronChanges
from cortex.settings.sections import AuditSettings

CHANGE = {"before": "trial", "after": "active", "version": 1, "code_hash": "a" * 64, "by": "cortex"}


def record(audit, neuron, **facts):
    audit.record("neuron", what="neuron consolidate", neuron=neuron, **{**CHANGE, **facts})


def status(changes):
    return {neuron: (facts["after"], facts["version"]) for neuron, facts in changes.items()}


def test_the_last_change_of_each_neuron_is_found_over_all_days_and_processes(audit, folder, clock):
    assert audit.neuron_changes() == {}
    record(audit, "one")
    record(audit, "two", version=3)
    assert status(audit.neuron_changes()) == {"one": ("active", 1), "two": ("active", 3)}
    clock.forward(days=2)
    other = Audit(folder, AuditSettings(), now=clock)
    record(other, "one", after="disabled")
    assert status(audit.neuron_changes()) == {"one": ("disabled", 1), "two": ("active", 3)}
    assert other.neuron_changes() == audit.neuron_changes() == NeuronChanges(folder)()
    other.close()


def test_other_records_about_a_neuron_are_no_changes(audit):
    record(audit, "one")
    audit.record("neuron", what="neuron notify", neuron="one", version=7, code_hash="b" * 64)
    audit.record("files", neuron="one", before="x", after="y", version=7, code_hash="b" * 64)
    audit.record("owner_decision", what="kill one", neuron="one")
    audit.record("refusal", text='"what":"neuron disable"', neuron="one", **CHANGE)
    assert status(audit.neuron_changes()) == {"one": ("active", 1)}


def test_a_long_log_is_read_from_where_it_was_read_last(audit, folder, monkeypatch):
    monkeypatch.setattr("cortex.audit.neuron_changes.KEPT_AFTER_BYTES", 2_000)
    record(audit, "one")
    for _ in range(20):
        audit.record("execution", filler="x" * 500)
    first = NeuronChanges(folder)
    assert status(first()) == {"one": ("active", 1)}
    kept = json.loads((folder / FILE).read_bytes())
    assert kept["offset"] > 2_000
    record(audit, "one", after="disabled")
    # What stands before that position is not read again: a mark in the kept file is still there.
    kept["neurons"]["mark"] = CHANGE
    (folder / FILE).write_text(json.dumps(kept))
    assert status(NeuronChanges(folder)()) == {"one": ("disabled", 1), "mark": ("active", 1)}
    assert audit.verify().damages == ()


def test_what_was_kept_for_another_log_is_not_believed(audit, folder, monkeypatch):
    monkeypatch.setattr("cortex.audit.neuron_changes.KEPT_AFTER_BYTES", 1)
    record(audit, "one")
    NeuronChanges(folder)()
    sound = json.loads((folder / FILE).read_bytes())
    spoilt = [
        {**sound, "neurons": {"one": CHANGE, "two": CHANGE}, **change}
        for change in (
            {"hash": "f" * 64},
            {"offset": sound["offset"] - 1},
            {"offset": 10**9},
            {"name": "2020-01-01.jsonl"},
            {"offset": "x"},
        )
    ]
    for kept in [*map(json.dumps, spoilt), "", "[]", "{" * 100_000]:
        (folder / FILE).write_text(kept)
        assert status(NeuronChanges(folder)()) == {"one": ("active", 1)}, kept[:100]


def test_a_log_that_was_replaced_is_read_anew(audit, folder):
    record(audit, "one")
    record(audit, "two")
    changes = NeuronChanges(folder)
    assert len(changes()) == 2
    (day,) = folder.glob("*.jsonl")
    day.write_bytes(day.read_bytes().splitlines(keepends=True)[0])
    assert status(changes()) == {"one": ("active", 1)}
