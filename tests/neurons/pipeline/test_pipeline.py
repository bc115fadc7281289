"""From a proposal to an active neuron, and everything that the owner can say to it."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, strategies as st

from neurons import Neuron, NoSuchNeuron, Refused, ScenarioResult, Status, code_hash, policy_hash
from neurons.pipeline.hashes import about_hash, shown_hash
from neurons.pipeline.trial import Delivered
from tests.neurons.governance import HOUR_S, KEY, MAX_CODE_BYTES, START, Governed, proposal, report_of, seen_as, shown


def edit(governed: Governed, neuron_id: str, **changes: object) -> None:
    """As somebody does with an editor."""
    data = governed.storage.read(f"neurons/{neuron_id}").data
    governed.storage.write_through(f"neurons/{neuron_id}", {**data, **changes})


# The way there


def test_a_proposal_is_in_quarantine_at_once():
    governed = Governed()
    neuron = governed.propose(proposal(), habit="h1", found=seen_as("s1"), max_code_bytes=MAX_CODE_BYTES)
    assert (neuron.id, neuron.status, neuron.version) == ("crypto-price", Status.QUARANTINE, 1)
    assert (neuron.metadata.habit, neuron.metadata.author) == ("h1", "agent")
    assert neuron.metadata.code_hash == neuron.versions[0].code_hash == code_hash(neuron.code)
    assert governed.quarantined() == [neuron]
    assert governed.restarted().quarantined() == [neuron]
    assert governed.audit.lines[-1] == (
        "neuron",
        {
            "what": "neuron propose",
            "neuron": "crypto-price",
            "name": "CryptoPrice",
            "version": 1,
            "before": None,
            "after": "quarantine",
            "code_hash": neuron.metadata.code_hash,
            "policy_hash": policy_hash(neuron.policy),
            "by": "agent",
            "reason": "",
        },
    )


def test_a_candidate_that_passed_awaits_the_owner_with_a_question():
    governed = Governed()
    neuron = governed.waiting()
    request = neuron.request
    assert neuron.status is Status.AWAITING_OWNER
    assert request is not None
    assert (request.asked_at, request.expires_at) == (START, START + 168 * HOUR_S)
    assert request.shown_hash == shown_hash(
        neuron.id, code_hash(neuron.code), policy_hash(neuron.policy), request.nonce, about_hash(neuron)
    )
    assert governed.pending() == [neuron]
    assert governed.awake() == []


def test_a_candidate_that_failed_is_disabled_with_the_problems_as_the_reason():
    governed = Governed()
    neuron = governed.in_quarantine()
    found = governed.judged(neuron.id, report_of(neuron, "it crashed", "it fetched"))
    assert (found.status, found.reason) == (Status.DISABLED, "quarantine: it crashed; it fetched")
    assert found.request is None


def test_a_report_about_other_code_or_another_policy_says_nothing():
    governed = Governed()
    neuron = governed.in_quarantine()
    report = report_of(neuron)
    for change in ({"code_hash": "0" * 64}, {"policy_hash": "0" * 64}):
        with pytest.raises(Refused, match="other code or another policy"):
            governed.judged(neuron.id, report.model_copy(update=change))
    edit(governed, neuron.id, code="emit('something else')")
    with pytest.raises(Refused, match="other code or another policy"):
        governed.judged(neuron.id, report)


_any_text = st.text(st.characters(exclude_categories=[]), max_size=9)


@given(st.lists(_any_text, max_size=3), st.dictionaries(_any_text, st.integers(), max_size=3), st.floats())
def test_whatever_a_candidate_says_in_its_report_the_question_stands(findings, emitted, energy):
    """The seal covers the report: one that is read back as another would send the neuron to quarantine for ever."""
    governed = Governed()
    neuron = governed.in_quarantine()
    scenario = ScenarioResult(name="typical", signals=1, ok=True, emitted=emitted, energy=energy)
    report = report_of(neuron).model_copy(update={"findings": tuple(findings), "scenarios": (scenario,)})
    found = governed.judged(neuron.id, report)
    if math.isfinite(energy):
        assert governed.pending() == [found]
        assert governed.restarted().approve(found.id, shown(found)).status is Status.TRIAL
        assert len(governed.restarted().awake()) == 1
    else:
        assert (found.status, "cannot be kept" in found.reason) == (Status.DISABLED, True)


def test_a_neuron_is_judged_once():
    governed = Governed()
    neuron = governed.waiting()
    with pytest.raises(Refused, match="Cannot pass a neuron that is awaiting its owner"):
        governed.judged(neuron.id, report_of(neuron))
    assert governed.store.get(neuron.id) == neuron


def test_the_owner_approves_with_the_hash_that_was_shown():
    governed = Governed()
    neuron = governed.waiting()
    governed.clock.forward(hours=1)
    found = governed.approve(neuron.id, shown(neuron))
    assert found.status is Status.TRIAL
    assert (found.metadata.approved_by, found.metadata.approved_at) == ("owner", "2027-01-15T09:00:00+00:00")
    (approval,) = found.approvals
    assert (approval.code_hash, approval.policy_hash) == (code_hash(neuron.code), policy_hash(neuron.policy))
    assert KEY.verify(neuron.id, approval)
    assert found.trial is not None
    assert found.trial.started_at == START + HOUR_S
    assert governed.awake() == governed.restarted().awake() == [found]
    kind, facts = governed.audit.lines[-1]
    assert (kind, facts["what"], facts["by"]) == ("owner_decision", "neuron approve", "owner")
    assert (facts["code_hash"], facts["policy_hash"]) == (approval.code_hash, approval.policy_hash)


def test_an_approval_is_on_disk_when_it_returns():
    governed = Governed()
    neuron = governed.in_trial()
    governed.storage.crash()
    assert [found.id for found in governed.awake()] == [neuron.id]


@pytest.mark.parametrize("case", [str.upper, lambda text: f"  {text}\n"])
def test_a_hash_may_be_typed_as_people_type(case):
    governed = Governed()
    neuron = governed.waiting()
    assert governed.approve(neuron.id, case(shown(neuron, 12))).status is Status.TRIAL


def test_the_whole_hash_is_fine_and_one_that_is_longer_is_not():
    governed = Governed()
    neuron = governed.waiting()
    with pytest.raises(Refused):
        governed.approve(neuron.id, shown(neuron, 64) + "0")
    assert governed.approve(neuron.id, shown(neuron, 64)).status is Status.TRIAL


@pytest.mark.parametrize("wrong", ["", "yes", "approve", "0", "%%%%%%%%", "ÿÿÿÿÿÿÿÿ", "0" * 64, "zzzzzzzz", "١٢٣٤٥٦٧٨"])
def test_nothing_but_the_hash_approves(wrong):
    governed = Governed()
    neuron = governed.waiting()
    with pytest.raises(Refused, match="hash"):
        governed.approve(neuron.id, wrong)
    assert governed.store.get(neuron.id) == neuron
    assert "owner_decision" not in {kind for kind, _ in governed.audit.lines}


def test_seven_characters_are_too_few_and_the_middle_of_the_hash_is_not_its_beginning():
    governed = Governed()
    neuron = governed.waiting()
    for wrong in (shown(neuron, 7), shown(neuron, 64)[1:], shown(neuron, 64)[:-1] + "x"):
        with pytest.raises(Refused):
            governed.approve(neuron.id, wrong)


def test_no_hash_but_the_shown_one_will_do():
    """Neither the code's, nor the policy's, nor the nonce, nor that of another question."""
    governed = Governed()
    neuron, other = governed.waiting(), governed.waiting(name="Other")
    assert neuron.request is not None
    for wrong in (neuron.request.code_hash, neuron.request.policy_hash, neuron.request.nonce, shown(other, 64)):
        with pytest.raises(Refused, match="not the hash"):
            governed.approve(neuron.id, wrong)


def test_a_question_is_answered_once():
    governed = Governed()
    neuron = governed.waiting()
    governed.approve(neuron.id, shown(neuron))
    with pytest.raises(Refused, match="nothing is asked"):
        governed.approve(neuron.id, shown(neuron))
    governed.disable(neuron.id, "enough")
    with pytest.raises(Refused, match="nothing is asked"):
        governed.approve(neuron.id, shown(neuron))


def test_the_same_candidate_is_asked_about_with_another_hash_each_time():
    governed = Governed()
    neuron = governed.waiting()
    governed.disable(neuron.id, "not now")
    governed.enable(neuron.id)
    again = governed.judged(neuron.id, report_of(neuron))
    assert shown(again, 64) != shown(neuron, 64)
    with pytest.raises(Refused, match="not the hash"):
        governed.approve(neuron.id, shown(neuron, 64))


def test_a_question_expires():
    governed = Governed(proposals={"expires_hours": 2})
    neuron = governed.waiting()
    governed.clock.forward(hours=2)
    with pytest.raises(Refused, match="expired"):
        governed.approve(neuron.id, shown(neuron))
    assert governed.pending() == []
    assert [found.id for found in governed.expire()] == [neuron.id]
    found = governed.store.get(neuron.id)
    assert (found.status, found.reason) == (Status.DISABLED, "the owner did not answer within 2 hours")
    assert governed.expire() == []


def test_a_question_can_be_answered_until_it_expires():
    governed = Governed(proposals={"expires_hours": 2})
    neuron = governed.waiting()
    governed.clock.forward(hours=2, seconds=-1)
    assert governed.expire() == []
    assert governed.approve(neuron.id, shown(neuron)).status is Status.TRIAL


def test_what_cannot_be_recorded_is_not_approved_and_not_rejected():
    governed = Governed()
    neuron = governed.waiting()
    governed.audit.broken = "no space left"
    with pytest.raises(OSError, match="no space"):
        governed.approve(neuron.id, shown(neuron))
    with pytest.raises(OSError, match="no space"):
        governed.reject(neuron.id, "no")
    assert governed.store.get(neuron.id) == neuron


def test_a_decision_is_recorded_before_it_is_written():
    governed = Governed()
    neuron = governed.waiting()
    governed.storage.refuses = "no space left"
    with pytest.raises(Exception, match="no space left"):
        governed.approve(neuron.id, shown(neuron))
    assert governed.audit.events("owner_decision") == ["neuron approve"]
    governed.storage.refuses = None
    assert governed.store.get(neuron.id) == neuron


# What was shown is what is approved


@pytest.mark.parametrize(
    "change",
    [
        {"code": "emit('other')"},
        {"hosts": ["evil.example"]},
        {"tools": ["shop.order"]},
        {"tier": "network"},
        {"inputSignals": ["user_message"]},
        {"outputSignals": ["other"]},
        {"energyBudget": 1.0},
        {"name": "Harmless"},
        {"report": None},
    ],
)
def test_what_was_changed_since_it_was_shown_cannot_be_approved(change):
    governed = Governed()
    neuron = governed.waiting()
    edit(governed, neuron.id, **change)
    with pytest.raises(Refused, match="changed by hand"):
        governed.approve(neuron.id, shown(neuron))
    found = governed.store.get(neuron.id)
    assert (found.status, found.request) == (Status.QUARANTINE, None)


def test_a_purpose_that_was_changed_since_it_was_read_cannot_be_approved():
    governed = Governed()
    neuron = governed.waiting()
    meta = governed.storage.read(f"neurons/{neuron.id}").data["metadata"]
    edit(governed, neuron.id, metadata={**meta, "purpose": "Feed the cat"})
    with pytest.raises(Refused, match="changed by hand"):
        governed.approve(neuron.id, shown(neuron))


def test_a_question_that_was_put_into_the_document_by_hand_cannot_be_answered():
    """Also when all its hashes fit: no quarantine has seen it."""
    governed = Governed()
    neuron = governed.waiting()
    code = "emit('other')"
    meta = {**json.loads(neuron.metadata.model_dump_json(by_alias=True)), "codeHash": code_hash(code)}
    forged = neuron.model_copy(
        update={"code": code, "metadata": neuron.metadata.model_copy(update={"code_hash": code_hash(code)})}
    )
    assert neuron.request is not None
    hash_ = shown_hash(neuron.id, code_hash(code), policy_hash(neuron.policy), neuron.request.nonce, about_hash(forged))
    request = {
        **json.loads(neuron.request.model_dump_json(by_alias=True)),
        "codeHash": code_hash(code),
        "shownHash": hash_,
    }
    edit(governed, neuron.id, code=code, metadata=meta, request=request)
    with pytest.raises(Refused, match="changed by hand"):
        governed.approve(neuron.id, hash_)


def test_a_question_cannot_be_made_to_last_longer_by_hand():
    governed = Governed()
    neuron = governed.waiting()
    request = governed.storage.read(f"neurons/{neuron.id}").data["request"]
    edit(governed, neuron.id, request={**request, "expiresAt": START + 1e9})
    assert governed.pending() == []
    assert governed.store.get(neuron.id).status is Status.QUARANTINE


def test_a_status_edited_by_hand_leads_back_to_quarantine(caplog):
    for stage in ("in_quarantine", "waiting"):
        for status in ("trial", "active"):
            governed = Governed()
            neuron = getattr(governed, stage)()
            edit(governed, neuron.id, status=status)
            assert governed.awake() == []
            found = governed.store.get(neuron.id)
            assert found.status is Status.QUARANTINE
            assert found.history[-1].reason == "its code with its policy was never approved"
    assert "in quarantine again" in caplog.text


def test_awake_code_that_was_edited_is_a_version_of_its_own_and_in_quarantine():
    governed = Governed()
    neuron = governed.active()
    edit(governed, neuron.id, code="emit('edited')", state={"kept": "by the other version"})
    assert governed.awake() == []
    found = governed.store.get(neuron.id)
    assert (found.status, found.version, found.code) == (Status.QUARANTINE, 2, "emit('edited')")
    assert [(one.version, one.author) for one in found.versions] == [(1, "agent"), (2, "owner")]
    assert found.versions[0].code == neuron.code
    assert (found.state, found.metadata.approved_by) == ({}, None)
    # And it can be agreed to like any other.
    asked = governed.judged(found.id, report_of(found))
    governed.approve(asked.id, shown(asked))
    assert [one.version for one in governed.awake()] == [2]


def test_a_candidate_that_was_edited_in_quarantine_is_judged_as_it_is():
    governed = Governed()
    neuron = governed.in_quarantine()
    edit(governed, neuron.id, code="emit('edited')")
    edited = governed.store.get(neuron.id)
    asked = governed.judged(neuron.id, report_of(edited))
    assert (asked.version, asked.metadata.author) == (2, "owner")
    assert governed.approve(asked.id, shown(asked)).code == "emit('edited')"


def test_a_document_of_another_home_does_not_run():
    here, there = Governed(), Governed(key=type(KEY)(b"o" * 32))
    neuron = there.active()
    here.storage.write_through(f"neurons/{neuron.id}", there.storage.read(f"neurons/{neuron.id}").data)
    assert here.awake() == []
    assert here.store.get(neuron.id).status is Status.QUARANTINE


# What else the owner says


def test_a_rejected_one_is_disabled_with_the_reason():
    governed = Governed()
    neuron = governed.waiting()
    found = governed.reject(neuron.id, "polls too often")
    assert (found.status, found.reason, found.request) == (Status.DISABLED, "polls too often", None)
    assert governed.audit.lines[-1][0] == "owner_decision"
    with pytest.raises(Refused):
        governed.approve(neuron.id, shown(neuron))


def test_what_runs_is_not_rejected_but_disabled():
    governed = Governed()
    neuron = governed.in_trial()
    with pytest.raises(Refused, match="Cannot reject"):
        governed.reject(neuron.id, "no")
    assert governed.disable(neuron.id, "no").status is Status.DISABLED


def test_rejecting_code_takes_back_its_earlier_approval():
    governed = Governed()
    neuron = governed.in_trial()
    edit(governed, neuron.id, name="Renamed")
    assert governed.awake() == []
    asked = governed.judged(neuron.id, report_of(governed.store.get(neuron.id)))
    governed.reject(asked.id, "no more")
    assert governed.enable(neuron.id).status is Status.QUARANTINE
    assert governed.rollback(neuron.id, 1).status is Status.QUARANTINE


@pytest.mark.parametrize("stage", ["in_quarantine", "waiting", "in_trial", "active"])
def test_what_the_owner_modifies_is_a_new_version_in_quarantine(stage):
    governed = Governed()
    neuron = getattr(governed, stage)()
    found = governed.modify(neuron.id, "emit('mine')")
    assert (found.status, found.version, found.code) == (Status.QUARANTINE, 2, "emit('mine')")
    assert (found.metadata.author, found.metadata.code_hash) == ("owner", code_hash("emit('mine')"))
    assert [one.code for one in found.versions] == [neuron.code, "emit('mine')"]
    assert governed.awake() == []
    if neuron.request is not None:
        with pytest.raises(Refused):
            governed.approve(neuron.id, shown(neuron))
    asked = governed.judged(neuron.id, report_of(found))
    assert governed.approve(neuron.id, shown(asked)).status is Status.TRIAL


def test_a_modification_that_changes_nothing_or_too_much_is_refused():
    governed = Governed()
    neuron = governed.waiting()
    for code in (neuron.code, "", "  \n", "x" * 101, "\udcff"):
        with pytest.raises(Refused, match="Cannot modify"):
            governed.modify(neuron.id, code, max_code_bytes=100)
    assert governed.store.get(neuron.id) == neuron


def test_versions_are_never_forgotten_and_therefore_not_endless():
    governed = Governed()
    neuron = governed.in_quarantine()
    governed.modify(neuron.id, "x" * 600_000)
    with pytest.raises(Refused, match="none is deleted"):
        governed.modify(neuron.id, "y" * 600_000)


def test_a_disabled_neuron_is_enabled_as_it_was():
    governed = Governed()
    neuron = governed.active()
    governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=1), state={"last": 1})
    governed.disable(neuron.id, "for a while")
    assert governed.awake() == []
    found = governed.enable(neuron.id)
    assert (found.status, found.state) == (Status.ACTIVE, {"last": 1})
    assert governed.awake() == [found]


def test_a_trial_that_was_interrupted_begins_anew():
    governed = Governed()
    neuron = governed.in_trial()
    governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=49))
    governed.disable(neuron.id, "for a while")
    governed.clock.forward(hours=48)
    found = governed.enable(neuron.id)
    assert found.trial is not None
    assert (found.status, found.trial.started_at, found.trial.counters.signals) == (Status.TRIAL, governed.clock(), 0)


def test_what_failed_its_trial_can_be_given_another_one():
    governed = Governed()
    neuron = governed.in_trial()
    governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=30, errors=30))
    found = governed.enable(neuron.id)
    assert found.status is Status.TRIAL
    assert governed.judge_trial(neuron.id).status is Status.TRIAL


@pytest.mark.parametrize("change", [{"code": "emit('edited')"}, {"hosts": ["evil.example"]}, {"energyBudget": 0.9}])
def test_an_enabled_neuron_whose_code_or_policy_changed_goes_back_to_quarantine(change):
    governed = Governed()
    neuron = governed.active()
    governed.disable(neuron.id, "for a while")
    edit(governed, neuron.id, **change)
    found = governed.enable(neuron.id)
    assert found.status is Status.QUARANTINE
    assert found.history[-1].reason
    assert governed.awake() == []


def test_what_was_never_approved_is_enabled_into_quarantine():
    governed = Governed()
    neuron = governed.waiting()
    governed.reject(neuron.id, "no")
    assert governed.enable(neuron.id).status is Status.QUARANTINE


def test_only_what_is_disabled_is_enabled():
    governed = Governed()
    for stage in ("in_quarantine", "waiting", "in_trial"):
        neuron = getattr(governed, stage)(name=f"One {stage}")
        with pytest.raises(Refused, match="Cannot"):
            governed.enable(neuron.id)


def two_versions(governed: Governed) -> Neuron:
    """The first was approved; the second is the owner's, and in quarantine."""
    neuron = governed.active()
    governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=1), state={"of": 1})
    return governed.modify(neuron.id, "emit('mine')")


def test_a_rollback_to_an_approved_version_is_a_new_trial():
    governed = Governed()
    neuron = two_versions(governed)
    found = governed.rollback(neuron.id, 1)
    assert (found.status, found.version, found.code) == (Status.TRIAL, 1, neuron.versions[0].code)
    assert (found.metadata.approved_by, found.metadata.author, found.state) == ("owner", "agent", {})
    assert len(found.versions) == 2
    assert found.trial is not None
    assert found.trial.started_at == governed.clock()
    assert governed.awake() == [found]


def test_a_rollback_to_a_version_that_was_never_approved_goes_through_approval():
    governed = Governed()
    neuron = two_versions(governed)
    governed.rollback(neuron.id, 1)
    found = governed.rollback(neuron.id, 2)
    assert (found.status, found.version, found.metadata.approved_by) == (Status.QUARANTINE, 2, None)
    assert governed.awake() == []
    asked = governed.judged(found.id, report_of(found))
    assert governed.approve(found.id, shown(asked)).version == 2


def test_a_version_that_was_edited_in_the_document_is_not_the_approved_one():
    governed = Governed()
    neuron = two_versions(governed)
    versions = governed.storage.read(f"neurons/{neuron.id}").data["versions"]
    edit(governed, neuron.id, versions=[{**versions[0], "code": "emit('edited')"}, *versions[1:]])
    found = governed.rollback(neuron.id, 1)
    assert (found.code, found.status) == ("emit('edited')", Status.QUARANTINE)


def test_a_version_that_is_not_there_cannot_be_rolled_back_to():
    governed = Governed()
    neuron = governed.active()
    for version in (0, 2, -1):
        with pytest.raises(Refused, match="has no version"):
            governed.rollback(neuron.id, version)
    with pytest.raises(Refused, match="awake"):
        governed.rollback(neuron.id, 1)


def test_a_version_after_a_rollback_has_a_number_of_its_own():
    governed = Governed()
    neuron = two_versions(governed)
    governed.rollback(neuron.id, 1)
    assert governed.modify(neuron.id, "emit('third')").version == 3


def test_the_history_tells_it_all():
    governed = Governed()
    neuron = two_versions(governed)
    governed.rollback(neuron.id, 1)
    governed.disable(neuron.id, "enough")
    found = governed.store.get(neuron.id)
    assert [(line.event, line.by, line.version) for line in found.history] == [
        ("propose", "agent", 1),
        ("passed", "cortex", 1),
        ("approve", "owner", 1),
        ("consolidate", "cortex", 1),
        ("modify", "owner", 2),
        ("rollback_trial", "owner", 1),
        ("disable", "owner", 1),
    ]
    events = [facts["what"].removeprefix("neuron ") for _, facts in governed.audit.lines]
    assert events == [line.event for line in found.history]


def test_an_owner_disables_also_while_nothing_can_be_recorded():
    governed = Governed()
    neuron = governed.in_trial()
    governed.audit.broken = "no space left"
    assert governed.disable(neuron.id, "stop").status is Status.DISABLED
    with pytest.raises(OSError, match="no space"):
        governed.enable(neuron.id)
    assert governed.awake() == []


def test_every_decision_about_a_missing_neuron_raises_no_such_neuron():
    governed = Governed()
    for decide in (
        lambda: governed.approve("nobody", "0" * 8),
        lambda: governed.reject("nobody", ""),
        lambda: governed.disable("../../etc/passwd", ""),
        lambda: governed.enable("nobody"),
        lambda: governed.rollback("nobody", 1),
        lambda: governed.modify("nobody", "x"),
    ):
        with pytest.raises(NoSuchNeuron):
            decide()


# How many


def test_at_most_five_neurons_are_awake():
    governed = Governed(proposals={"max_pending": 9})
    neurons = [governed.waiting(name=f"Sensor {letter}") for letter in "ABCDEF"]
    for neuron in neurons[:5]:
        governed.approve(neuron.id, shown(neuron))
    with pytest.raises(Refused, match=r"allowed \(5\); disable one first: sensor-a, sensor-b"):
        governed.approve(neurons[5].id, shown(neurons[5]))
    assert governed.store.get(neurons[5].id) == neurons[5]
    governed.disable(neurons[0].id, "room")
    assert governed.approve(neurons[5].id, shown(neurons[5])).status is Status.TRIAL
    with pytest.raises(Refused, match=r"awake as are allowed \(5\)"):
        governed.enable(neurons[0].id)
    with pytest.raises(Refused, match=r"awake as are allowed \(5\)"):
        governed.rollback(neurons[0].id, 1)
    assert len(governed.awake()) == 5


def test_the_limit_of_awake_neurons_is_a_setting():
    governed = Governed(max_awake=1)
    first, second = governed.in_trial(), governed.waiting(name="Second")
    with pytest.raises(Refused, match=r"awake as are allowed \(1\)"):
        governed.approve(second.id, shown(second))
    assert governed.store.get(first.id).is_awake


def test_functions_have_a_limit_of_their_own_and_take_no_place_of_a_neuron():
    governed = Governed(max_awake=1, max_functions=1)
    neuron = governed.in_trial()
    function = {
        "kind": "function",
        "inputSignals": [],
        "outputSignals": [],
        "parameters": {"type": "object", "properties": {"p": {"type": "number"}}},
    }
    first = governed.in_trial(name="First", code="return args.p", **function)
    second = governed.waiting(name="Second", code="return args.p + 1", **function)
    with pytest.raises(Refused, match=r"as many functions are awake as are allowed \(1\)"):
        governed.approve(second.id, shown(second))
    assert [one.id for one in governed.awake()] == [neuron.id]
    assert [one.id for one in governed.functions()] == [first.id]


def test_no_neuron_can_be_approved_when_max_awake_is_zero():
    governed = Governed(max_awake=0)
    neuron = governed.waiting()
    with pytest.raises(Refused, match=r"allowed \(0\)"):
        governed.approve(neuron.id, shown(neuron))


def test_when_fewer_are_allowed_than_there_are_the_active_and_oldest_run():
    governed = Governed()
    for letter in "ABC":
        governed.clock.forward(seconds=1)
        governed.in_trial(name=f"Sensor {letter}")
    active = governed.active(name="Active")
    fewer = governed.restarted(max_awake=2)
    assert [neuron.id for neuron in fewer.awake()] == [active.id, "sensor-a"]
    assert len(governed.awake()) == 4
