"""A folder for a neuron: it comes with one approval, and ends with it, with the code, and with the neuron's sleep."""

from __future__ import annotations

from typing import Any

import pytest

from neurons import ApprovalKey, FileGrant, Neuron, Refused, Status, granted_files, why_not_awake
from neurons.contracts.program import file_need
from tests.neurons.governance import KEY, Governed, report_of, shown

FOLDER = FileGrant(folder="/srv/shop")
CODE = 'emit("price_change", await Deno.readTextFile("price.txt"));'


def granted(pipeline: Governed, grant: FileGrant = FOLDER, **changes: Any) -> Neuron:
    neuron = pipeline.waiting(code=CODE, **changes)
    return pipeline.approve(neuron.id, shown(neuron), files=grant)


def written(pipeline: Governed, neuron: Neuron, **changes: Any) -> None:
    """As somebody with an editor does it."""
    pipeline.storage.update(f"neurons/{neuron.id}", lambda data: {**(data or {}), **changes}, through=True)


def by_hand(neuron: Neuron, part: str) -> Any:
    return neuron.model_dump(mode="json", by_alias=True)[part]


def test_a_grant_is_read_only_by_default_and_holds_for_the_approved_neuron():
    pipeline = Governed()
    neuron = granted(pipeline)
    assert granted_files(neuron) == FileGrant(folder="/srv/shop", write=False)
    assert pipeline.granted(neuron.id) == FOLDER
    assert granted_files(pipeline.restarted().store.get(neuron.id)) == FOLDER
    assert [one.id for one in pipeline.awake()] == [neuron.id]


def test_a_grant_lasts_from_the_trial_into_active_life():
    pipeline = Governed()
    neuron = granted(pipeline)
    neuron = pipeline.tried(neuron)
    assert neuron.status is Status.ACTIVE
    assert pipeline.granted(neuron.id) == FOLDER


def test_the_approval_is_recorded_with_the_kind_of_access_and_a_hash_of_the_folder():
    pipeline = Governed()
    granted(pipeline, FileGrant(folder="/srv/shop", write=True))
    kind, facts = pipeline.audit.lines[-1]
    assert (kind, facts["what"], facts["files"]) == ("owner_decision", "neuron approve", "write")
    assert len(facts["folder_hash"]) == 64
    assert "/srv/shop" not in str(pipeline.audit.lines)


def test_without_a_grant_nothing_is_recorded_of_files():
    pipeline = Governed()
    pipeline.in_trial()
    assert not any("files" in facts for _, facts in pipeline.audit.lines)


@pytest.mark.parametrize("end", ["disable", "emergency", "modify", "reject after modify"])
def test_whatever_ends_the_approved_neuron_ends_the_grant(end):
    pipeline = Governed()
    neuron = granted(pipeline)
    match end:
        case "disable":
            after = pipeline.disable(neuron.id, "enough")
        case "emergency":
            after = pipeline.store.disable(neuron.id, "enough")
        case "modify":
            after = pipeline.modify(neuron.id, CODE + "// mine")
        case _:
            after = pipeline.reject(pipeline.modify(neuron.id, CODE + "// mine").id, "no")
    assert granted_files(after) is None
    assert pipeline.granted(neuron.id) is None
    assert not any(approval.files for approval in after.approvals)


def test_what_was_disabled_gets_its_folder_only_by_a_new_approval():
    pipeline = Governed()
    neuron = granted(pipeline)
    pipeline.disable(neuron.id, "enough")
    again = pipeline.enable(neuron.id)
    assert again.status is Status.QUARANTINE
    waiting = pipeline.judged(again.id, report_of(again, at=pipeline.clock()))
    awake = pipeline.approve(waiting.id, shown(waiting))
    assert awake.is_awake
    assert pipeline.granted(awake.id) is None


def test_a_rollback_brings_no_folder_back():
    pipeline = Governed()
    neuron = granted(pipeline)
    changed = pipeline.modify(neuron.id, CODE + "// mine")
    waiting = pipeline.judged(changed.id, report_of(changed, at=pipeline.clock()))
    pipeline.approve(waiting.id, shown(waiting))
    back = pipeline.rollback(neuron.id, 1)
    assert back.status is Status.QUARANTINE
    assert pipeline.granted(neuron.id) is None


def test_code_that_uses_files_is_not_approved_without_a_folder():
    pipeline = Governed()
    neuron = pipeline.in_quarantine(code=CODE)
    report = report_of(neuron, at=pipeline.clock()).model_copy(update={"files": "read"})
    waiting = pipeline.judged(neuron.id, report)
    with pytest.raises(Refused, match="uses files; say which folder"):
        pipeline.approve(waiting.id, shown(waiting))
    assert pipeline.approve(waiting.id, shown(waiting), files=FOLDER).is_awake


@pytest.mark.parametrize(
    "files",
    [{"folder": "/", "write": False}, {"folder": "/srv/shop", "write": True}, {"folder": "/srv", "write": False}, None],
)
def test_a_grant_that_was_edited_by_hand_ends_the_neuron_instead(files):
    pipeline = Governed()
    neuron = granted(pipeline)
    approvals = by_hand(neuron, "approvals")
    approvals[0]["files"] = files
    written(pipeline, neuron, approvals=approvals)
    assert pipeline.granted(neuron.id) is None
    assert pipeline.awake() == []
    assert pipeline.store.get(neuron.id).status is Status.QUARANTINE


def test_an_older_approval_with_a_folder_that_is_put_back_is_worth_nothing():
    pipeline = Governed()
    neuron = granted(pipeline)
    old = by_hand(neuron, "approvals")
    pipeline.disable(neuron.id, "enough")
    again = pipeline.enable(neuron.id)
    waiting = pipeline.judged(again.id, report_of(again, at=pipeline.clock()))
    awake = pipeline.approve(waiting.id, shown(waiting))
    written(pipeline, awake, approvals=[*by_hand(awake, "approvals"), *old])
    edited = pipeline.store.get(awake.id)
    assert granted_files(edited) == FOLDER, "the document says so"
    assert why_not_awake(edited, KEY) is not None
    # Not even by the decision that comes next, which would seal the document anew.
    with pytest.raises(Refused, match="changed by hand"):
        pipeline.tried(awake)
    assert pipeline.granted(awake.id) is None
    assert pipeline.awake() == []


def test_a_disabled_neuron_does_not_wake_by_an_approval_that_was_put_back():
    pipeline = Governed()
    neuron = granted(pipeline)
    old = by_hand(neuron, "approvals")
    disabled = pipeline.disable(neuron.id, "enough")
    written(pipeline, disabled, approvals=old)
    with pytest.raises(Refused):
        pipeline.enable(neuron.id)
    assert pipeline.granted(neuron.id) is None


def test_a_grant_is_bound_to_the_key_of_the_home():
    pipeline = Governed()
    neuron = granted(pipeline)
    stranger = Governed(pipeline.storage, key=ApprovalKey(b"s" * 32), clock=pipeline.clock)
    assert stranger.granted(neuron.id) is None


@pytest.mark.parametrize("folder", ["", "shop", "../shop", "/srv/../etc", "/srv/shop/", "/srv\0", "/" + "x" * 5000])
def test_a_folder_is_granted_by_its_absolute_path(folder):
    with pytest.raises(ValueError, match=r"folder"):
        FileGrant(folder=folder)


@pytest.mark.parametrize(
    ("code", "need"),
    [
        ("emit('a')", ""),
        ("emit('a', Deno.version)", ""),
        ("state.list.remove(1); emit('a', Deno.pid)", ""),
        ("await Deno.readTextFile('a')", "read"),
        ("Deno.readFileSync('a')", "read"),
        ("await Deno?.stat('a')", "read"),
        ("const { readTextFile } = Deno; await readTextFile('a')", "read"),
        ("await Deno['readDir']('.')", "read"),
        ("await Deno.remove('a')", "write"),
        ("const t = await Deno.readTextFile('a'); await Deno.writeTextFile('b', t)", "write"),
    ],
)
def test_what_code_wants_of_files_is_recognised(code, need):
    assert file_need(code) == need


def test_what_code_was_seen_to_do_counts_whatever_it_names():
    assert file_need("hidden()", ["readFile"]) == "read"
    assert file_need("hidden()", ["readFile", "writeFile"]) == "write"
