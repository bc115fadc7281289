"""The key of a home, what it signs, and what does not run for want of it."""

from __future__ import annotations

import logging
import stat

import pytest

from neurons import ApprovalKey, Neuron, StorageError, why_not_awake
from neurons.pipeline.approval import why_not_approved
from sandbox import Tier
from tests.neurons.governance import KEY, START, Governed

OTHER_KEY = ApprovalKey(b"o" * 32)


def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path):
    first = ApprovalKey.load_or_make(tmp_path / "home")
    path = tmp_path / "home" / "approval.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_bytes()) == 32
    approval = first.sign("x", "nonce", "code", "policy", by="owner", at=START)
    assert ApprovalKey.load_or_make(tmp_path / "home").verify("x", approval)


def test_a_key_that_others_can_read_is_closed_again(tmp_path):
    ApprovalKey.load_or_make(tmp_path)
    (tmp_path / "approval.key").chmod(0o644)
    ApprovalKey.load_or_make(tmp_path)
    assert stat.S_IMODE((tmp_path / "approval.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("data", [b"", b"short", b"x" * 33])
def test_a_damaged_key_is_set_aside_and_what_it_signed_is_worth_nothing(tmp_path, data, caplog):
    old = ApprovalKey.load_or_make(tmp_path)
    (tmp_path / "approval.key").write_bytes(data)
    with caplog.at_level(logging.WARNING, logger="motor_cortex"):
        new = ApprovalKey.load_or_make(tmp_path)
    assert "approved again" in caplog.text
    assert not new.verify("x", old.sign("x", "n", "c", "p", by="owner", at=START))
    assert [path.read_bytes() for path in tmp_path.glob("approval.key.damaged-*")] == [data]


def test_a_key_that_points_elsewhere_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_bytes(b"x" * 32)
    (tmp_path / "approval.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="Cannot read or make"):
        ApprovalKey.load_or_make(tmp_path)


def test_the_key_does_not_show_itself():
    assert "kkk" not in repr(KEY)
    assert not hasattr(KEY, "__dict__")


@pytest.mark.parametrize("field", ["nonce", "code_hash", "policy_hash", "by", "at", "signature"])
def test_a_signature_covers_every_field(field):
    approval = KEY.sign("x", "nonce", "code", "policy", by="owner", at=START)
    changed = START + 1 if field == "at" else f"{getattr(approval, field)}0"
    assert KEY.verify("x", approval)
    assert not KEY.verify("x", approval.model_copy(update={field: changed}))


def test_a_signature_is_for_one_neuron_and_one_home():
    approval = KEY.sign("x", "nonce", "code", "policy", by="owner", at=START)
    assert not KEY.verify("y", approval)
    assert not OTHER_KEY.verify("x", approval)
    assert not KEY.verify("x", approval.model_copy(update={"signature": "\ud800ü"}))


def edited(neuron: Neuron, **changes: object) -> Neuron:
    return neuron.model_copy(update=changes)


def test_an_approved_neuron_runs():
    for neuron in (Governed().in_trial(), Governed().active()):
        assert why_not_awake(neuron, KEY) is None


@pytest.mark.parametrize(
    "change",
    [
        {"code": "emit('other')"},
        {"tier": Tier.NETWORK},
        {"hosts": ("evil.example",)},
        {"tools": ("shop.order",)},
        {"input_signals": ("user_message",)},
        {"output_signals": ("anything",)},
        {"energy_budget": 1.0},
        {"name": "Another"},
        {"version": 2},
        {"approvals": ()},
        {"seal": ""},
        {"id": "another"},
    ],
)
def test_a_document_that_was_edited_by_hand_does_not_run(change):
    assert why_not_awake(edited(Governed().active(), **change), KEY) is not None


def test_code_whose_hash_was_edited_with_it_does_not_run():
    neuron = Governed().active()
    from neurons import code_hash

    code = "emit('other')"
    meta = neuron.metadata.model_copy(update={"code_hash": code_hash(code)})
    approval = neuron.approvals[0].model_copy(update={"code_hash": code_hash(code)})
    forged = edited(neuron, code=code, metadata=meta, approvals=(approval,))
    assert why_not_approved(forged, KEY) == "its approval was not signed by this home"


def test_a_trial_cannot_be_cut_short_or_skipped_by_hand():
    neuron = Governed().in_trial()
    assert neuron.trial is not None
    shorter = neuron.trial.model_copy(update={"ends_at": START})
    fewer = neuron.trial.model_copy(update={"min_signals": 0})
    for change in ({"trial": shorter}, {"trial": fewer}, {"trial": None}, {"status": "active"}):
        forged = Neuron.model_validate({**dict(neuron), **change})
        assert why_not_approved(forged, KEY) is None
        assert why_not_awake(forged, KEY) == "its document was changed by hand, or by another program"


def test_a_disabled_neuron_whose_status_was_edited_to_active_does_not_run():
    governed = Governed()
    neuron = governed.active()
    off = governed.disable(neuron.id, "too loud")
    assert why_not_awake(edited(off, status=neuron.status, reason=""), KEY) is not None


def test_an_approval_of_another_home_is_worth_nothing():
    assert why_not_awake(Governed().active(), OTHER_KEY) == "its approval was not signed by this home"


def test_state_and_counts_are_not_sealed():
    """They change with every batch."""
    governed = Governed()
    neuron = governed.active()
    busy = edited(neuron, state={"last": 97_500}, counters=neuron.counters.model_copy(update={"signals": 7}))
    assert why_not_awake(busy, KEY) is None
