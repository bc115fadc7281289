"""Each decision holds by itself, also when nobody has looked at the seal of the document before."""

from __future__ import annotations

import pytest

from neurons import ApprovalKey, Neuron, Refused, Status, code_hash
from neurons.contracts.settings import TrialSettings
from neurons.pipeline.decisions import approved, enabled, rolled_back, settled, taken_in
from neurons.pipeline.hashes import about_hash
from tests.neurons.governance import KEY, START, Governed, shown

TRIAL = TrialSettings()


def approve(neuron: Neuron, hash_: str) -> Neuron:
    return approved(neuron, hash_, key=KEY, settings=TRIAL, now=START, by="owner")


@pytest.mark.parametrize(
    "change", [{"code": "emit('other')"}, {"hosts": ("evil.example",)}, {"name": "Other"}, {"report": None}]
)
def test_the_hash_is_that_of_the_document_as_it_is_and_not_of_what_the_question_says(change):
    neuron = Governed().waiting()
    with pytest.raises(Refused, match="not the hash"):
        approve(neuron.model_copy(update=change), shown(neuron, 64))
    assert approve(neuron, shown(neuron)).status is Status.TRIAL


def test_a_request_whose_hash_was_edited_cannot_be_approved():
    neuron = Governed().waiting()
    assert neuron.request is not None
    forged = neuron.request.model_copy(update={"shown_hash": "0" * 64})
    for hash_ in ("0" * 64, shown(neuron, 64)):
        with pytest.raises(Refused, match="not the hash"):
            approve(neuron.model_copy(update={"request": forged}), hash_)


def test_an_answer_counts_once_also_when_the_question_is_put_back():
    governed = Governed()
    asked = governed.waiting()
    answered = governed.approve(asked.id, shown(asked))
    again = answered.model_copy(update={"status": asked.status, "request": asked.request, "trial": None})
    assert about_hash(again) == about_hash(asked)
    with pytest.raises(Refused, match="answered before"):
        approve(again, shown(asked))


def test_nothing_is_awake_without_an_approval_whatever_was_decided():
    neuron = Governed().waiting()
    for status in (Status.TRIAL, Status.ACTIVE):
        with pytest.raises(Refused, match="never approved"):
            settled(neuron.model_copy(update={"status": status}), KEY)
    with pytest.raises(Refused, match="not signed by this home"):
        settled(Governed().in_trial(), ApprovalKey(b"o" * 32))


def test_what_another_home_approved_is_enabled_into_quarantine():
    governed = Governed()
    off = governed.disable(governed.active().id, "enough")
    other = ApprovalKey(b"o" * 32)
    assert enabled(off, key=other, settings=TRIAL, now=START, by="owner").status is Status.QUARANTINE
    assert rolled_back(off, 1, key=other, settings=TRIAL, now=START, by="owner").status is Status.QUARANTINE


def test_an_active_neuron_whose_code_was_never_active_is_enabled_into_trial():
    governed = Governed()
    neuron = governed.active()
    off = governed.disable(neuron.id, "enough")
    last = off.history[-1].model_copy(update={"code_hash": code_hash("other")})
    off = off.model_copy(update={"history": (*off.history[:-1], last)})
    assert enabled(off, key=KEY, settings=TRIAL, now=START, by="owner").status is Status.TRIAL


def test_an_unchanged_document_gets_no_new_version():
    neuron = Governed().active()
    assert taken_in(neuron, START) is neuron
    edited = taken_in(neuron.model_copy(update={"hosts": ("a.example",)}), START)
    assert (edited.version, edited.versions[-1].policy.hosts, edited.hosts) == (2, ("a.example",), ("a.example",))
