"""The table of status changes, read aloud."""

from __future__ import annotations

import pytest

from neurons import Refused, Status
from neurons.pipeline.lifecycle import TABLE, Event, after, changed
from tests.neurons.governance import START, Governed

AWAKE = {Status.TRIAL, Status.ACTIVE}


def test_the_way_of_a_neuron_is_quarantine_owner_trial_active():
    status = after(None, Event.PROPOSE)
    seen = [status]
    for event in (Event.PASSED, Event.APPROVE, Event.CONSOLIDATE):
        status = after(status, event)
        seen.append(status)
    assert seen == [Status.QUARANTINE, Status.AWAITING_OWNER, Status.TRIAL, Status.ACTIVE]


def test_only_an_owner_or_a_passed_trial_leads_to_being_awake():
    leading = {(before, event) for (before, event), status in TABLE.items() if status in AWAKE}
    by_the_cortex = {pair for pair in leading if pair[1] is Event.CONSOLIDATE}
    assert by_the_cortex == {(Status.TRIAL, Event.CONSOLIDATE)}
    assert {event for _, event in leading - by_the_cortex} == {
        Event.APPROVE,
        Event.ENABLE_TRIAL,
        Event.ENABLE_ACTIVE,
        Event.ROLLBACK_TRIAL,
    }


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.DISABLED])
def test_every_neuron_can_be_disabled(status: Status):
    assert after(status, Event.DISABLE) is Status.DISABLED


@pytest.mark.parametrize("event", list(Event))
def test_what_is_not_in_the_table_is_refused(event: Event):
    for status in (None, *Status):
        if (status, event) in TABLE:
            assert after(status, event) is TABLE[status, event]
        else:
            with pytest.raises(Refused, match="Cannot"):
                after(status, event)


def test_each_change_is_a_line_in_the_history_and_closes_the_question():
    neuron = Governed().waiting()
    off = changed(neuron, Event.DISABLE, at=START + 1, by="owner", reason="x" * 1000)
    assert (off.status, off.request, off.seal) == (Status.DISABLED, None, "")
    assert off.history[:-1] == neuron.history
    line = off.history[-1]
    assert (line.before, line.after, line.event, line.by) == (neuron.status, Status.DISABLED, "disable", "owner")
    assert (line.at, line.version, line.code_hash) == (START + 1, 1, neuron.metadata.code_hash)
    assert off.reason == line.reason == "x" * 500


def test_the_reason_is_that_of_being_disabled_and_goes_with_it():
    governed = Governed()
    neuron = governed.in_trial()
    governed.disable(neuron.id, "too loud")
    assert governed.store.get(neuron.id).reason == "too loud"
    assert governed.enable(neuron.id).reason == ""


def test_a_neuron_whose_history_was_deleted_can_be_disabled_all_the_same():
    neuron = Governed().in_trial().model_copy(update={"history": ()})
    assert changed(neuron, Event.DISABLE, at=START, by="owner").status is Status.DISABLED


def test_a_neuron_is_proposed_once():
    neuron = Governed().in_quarantine()
    with pytest.raises(Refused):
        changed(neuron, Event.PROPOSE, at=START, by="agent")
