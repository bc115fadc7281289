"""An old document that is put back has a valid seal: what the audit last said of its neuron decides."""

from __future__ import annotations

import pytest

from neurons import FileGrant, NeuronStore, Pipeline, Status
from tests.neurons.governance import KEY, Governed, report_of, shown


def kept(governed, neuron):
    """The document as it is now, to be put back later."""
    governed.storage.flush()
    return dict(governed.storage.read(f"neurons/{neuron.id}").data)


def put_back(governed, neuron, document):
    governed.storage.write_through(f"neurons/{neuron.id}", document)


@pytest.mark.parametrize("stage", ["in_trial", "active"])
def test_a_document_that_is_put_back_after_disable_does_not_run(stage):
    governed = Governed()
    neuron = getattr(governed, stage)()
    document = kept(governed, neuron)
    governed.disable(neuron.id, "it spams")
    put_back(governed, neuron, document)
    assert governed.restarted().awake() == []
    found = governed.store.get(neuron.id)
    assert found.status is Status.DISABLED
    assert found.reason == (
        f"its document says {document['status']} in version 1, and the audit says disabled in version 1: an older "
        "document was put back, or the cortex was stopped between the record and the document. To let it run, enable it again"
    )
    # The owner is not locked out.
    assert governed.enable(neuron.id).is_awake
    assert [one.id for one in governed.awake()] == [neuron.id]


def test_an_older_version_that_is_put_back_is_in_quarantine():
    governed = Governed()
    neuron = governed.active()
    document = kept(governed, neuron)
    changed = governed.modify(neuron.id, 'emit("price_change", 2)')
    asked = governed.judged(neuron.id, report_of(changed, at=governed.clock()))
    governed.approve(neuron.id, shown(asked))
    put_back(governed, neuron, document)
    assert governed.awake() == []
    found = governed.store.get(neuron.id)
    assert found.status is Status.QUARANTINE
    assert "its document says active in version 1, and the audit says trial in version 2" in found.history[-1].reason
    # It is asked anew, and runs when the owner agrees.
    asked = governed.judged(neuron.id, report_of(found, at=governed.clock()))
    assert governed.approve(neuron.id, shown(asked)).is_awake
    assert len(governed.awake()) == 1


def test_an_older_grant_of_files_that_is_put_back_is_none():
    governed = Governed()
    waiting = governed.waiting()
    neuron = governed.approve(waiting.id, shown(waiting), files=FileGrant(folder="/srv/data", write=True))
    document = kept(governed, neuron)
    governed.rollback(governed.disable(neuron.id, "less").id, 1)
    asked = governed.judged(governed.modify(neuron.id, "1").id, report_of(governed.store.get(neuron.id)))
    governed.approve(neuron.id, shown(asked))
    put_back(governed, neuron, document)
    assert governed.awake() == []


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_decision_that_was_recorded_and_not_written_locks_nobody_out(is_recorded):
    governed = Governed()
    neuron = governed.in_trial()
    before = kept(governed, neuron)
    governed.clock.forward(hours=24)
    governed.disable(neuron.id, "it spams") if is_recorded else None
    put_back(governed, neuron, before)  # as after kill -9 between the two
    assert [one.id for one in governed.awake()] == ([] if is_recorded else [neuron.id])
    if is_recorded:
        assert governed.enable(neuron.id).status is Status.TRIAL


def test_a_trial_whose_end_was_recorded_and_not_written_goes_on():
    governed = Governed()
    neuron = governed.in_trial()
    document = kept(governed, neuron)
    active = {**governed.audit.changes()[neuron.id], "what": "neuron consolidate", "before": "trial", "after": "active"}
    governed.audit("neuron", **active)
    put_back(governed, neuron, document)
    assert [one.status for one in governed.awake()] == [Status.TRIAL]


def test_without_an_audit_documents_are_believed():
    governed = Governed()
    neuron = governed.active()
    document = kept(governed, neuron)
    governed.disable(neuron.id, "it spams")
    put_back(governed, neuron, document)
    plain = Pipeline(NeuronStore(governed.storage), governed.settings, KEY, record=governed.audit, now=governed.clock)
    assert [one.id for one in plain.awake()] == [neuron.id]


def test_what_else_is_recorded_about_a_neuron_is_no_change_of_its_status():
    governed = Governed()
    neuron = governed.active()
    governed.audit("neuron", what="neuron notify", neuron=neuron.id, version=9, code_hash="0")
    governed.audit("files", neuron=neuron.id, state="committed", before=1)
    assert [one.id for one in governed.awake()] == [neuron.id]


def test_an_audit_that_cannot_be_read_wakes_nobody():
    governed = Governed()
    governed.active()

    def unreadable():
        raise OSError("Input/output error")

    pipeline = Pipeline(
        NeuronStore(governed.storage), governed.settings, KEY, record=governed.audit, changes=unreadable
    )
    with pytest.raises(OSError, match="Input/output error"):
        pipeline.awake()
