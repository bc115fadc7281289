"""Whatever happens, in whatever order: nothing is awake but what the owner has seen and agreed to.

The owner of this test looks at documents and remembers what was shown. Later, perhaps much later, a hash is typed that
belongs to something seen. Meanwhile agents propose, quarantines end, clocks run, programs restart and crash, and
somebody edits the documents by hand, with everything but the key.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from neurons import MemoryStorage, Neuron, NeuronError, Status, code_hash, policy_hash, why_not_awake
from neurons.pipeline.hashes import about_hash, shown_hash
from neurons.pipeline.trial import Delivered
from tests.neurons.governance import KEY, Clock, Governed, report_of

MAX_AWAKE = 2
NAMES = st.sampled_from(["Alpha", "Beta", "Gamma", "alpha", "Delta Force"])
CODES = st.sampled_from(["emit('a')", "emit('b')", "await fetch('https://evil.example')", "for (;;) {}"])
POLICIES = st.sampled_from(
    [
        {},
        {"tier": "network", "hosts": ["good.example"]},
        {"tier": "network", "hosts": ["good.example", "evil.example"]},
        {"energyBudget": 1.0},
        {"inputSignals": ["user_message"]},
    ]
)
STATUSES = st.sampled_from([status.value for status in Status])
PARTS = st.sampled_from(
    ["approvals", "request", "seal", "report", "metadata", "versions", "history", "trial", "status"]
)


@dataclass(frozen=True)
class Seen:
    """What a person has read, with the hash below it."""

    id: str
    what: tuple[str, str, str]
    hash: str


def what_is_shown(neuron: Neuron) -> tuple[str, str, str]:
    return code_hash(neuron.code), policy_hash(neuron.policy), about_hash(neuron)


class Consent(RuleBasedStateMachine):
    ids = Bundle("ids")
    seen = Bundle("seen")
    copies = Bundle("copies")
    reports = Bundle("reports")

    def __init__(self) -> None:
        super().__init__()
        self.disk = MemoryStorage(on_damage=lambda damage: None)
        self.clock = Clock()
        self.agreed: set[tuple[str, str, str]] = set()
        self.restart()

    @rule()
    def restart(self) -> None:
        """As a second process, or the next one."""
        self.pipeline = Governed(
            MemoryStorage(self.disk, on_damage=lambda damage: None),
            clock=self.clock,
            max_awake=MAX_AWAKE,
            proposals={"max_pending": 20, "max_per_day": 100, "rejected_days": 0.01, "expires_hours": 48},
            trial={"min_hours": 2, "min_signals": 3},
        )

    def tried(self, decide: Any, *given: Any, **more: Any) -> Neuron | None:
        """What a refusal refuses is refused; what is done is done with consent."""
        try:
            neuron = decide(*given, **more)
        except NeuronError:
            return None
        assert isinstance(neuron, Neuron)
        self.check(neuron)
        return neuron

    def check(self, neuron: Neuron) -> None:
        if neuron.is_awake and why_not_awake(neuron, KEY) is None:
            assert (neuron.id, *what_is_shown(neuron)[:2]) in self.agreed

    # The agent

    @rule(target=ids, name=NAMES, code=CODES, policy=POLICIES)
    def propose(self, name: str, code: str, policy: dict[str, Any]) -> Any:
        neuron = self.tried(self.pipeline.in_quarantine, name=name, code=code, **policy)
        return multiple() if neuron is None else neuron.id

    @initialize(target=ids)
    def begin(self) -> Any:
        """With one at each stage, so that there is something to spoil."""
        ids = []
        for name, characters in (("Waiting", 0), ("Trying", 8), ("Acting", 8)):
            neuron = self.pipeline.waiting(name=name)
            self.approve(self.look(neuron.id), characters)
            ids.append(neuron.id)
        self.clock.forward(hours=2)
        self.deliver(ids[-1], 9, 0, None)
        assert [neuron.status for neuron in self.pipeline.awake()] == [Status.ACTIVE, Status.TRIAL]
        return multiple(*ids)

    # The cortex

    @rule(target=reports, neuron_id=ids, problems=st.sampled_from([(), (), ("it crashed",)]))
    def quarantine(self, neuron_id: str, problems: tuple[str, ...]) -> Any:
        neuron = self.get(neuron_id)
        return multiple() if neuron is None else (neuron_id, report_of(neuron, *problems))

    @rule(report=reports)
    def judged(self, report: Any) -> None:
        self.tried(self.pipeline.judged, *report)

    @rule(
        neuron_id=ids, signals=st.integers(0, 9), errors=st.sampled_from([0, 0, 0, 9]), version=st.none() | st.just(1)
    )
    def deliver(self, neuron_id: str, signals: int, errors: int, version: int | None) -> None:
        # It was awake for as long as the clock said: how long a trial takes is not what is tested here.
        batch = Delivered(at=self.clock(), signals=signals, errors=errors, awake_s=7_200)
        self.tried(self.pipeline.deliver, neuron_id, batch, version=version, state={"n": signals})

    @rule(hours=st.sampled_from([0.1, 1, 2, 50]))
    def wait(self, hours: float) -> None:
        self.clock.forward(hours=hours)

    @rule()
    def heartbeat(self) -> None:
        for neuron in self.pipeline.expire():
            assert not neuron.is_awake
        awake = self.pipeline.awake()
        assert len(awake) <= MAX_AWAKE
        for neuron in awake:
            assert (neuron.id, *what_is_shown(neuron)[:2]) in self.agreed
            self.tried(self.pipeline.judge_trial, neuron.id)
        for neuron in self.pipeline.store.load_all():
            assert not neuron.is_awake or why_not_awake(neuron, KEY) is None

    @rule()
    def crash(self) -> None:
        self.pipeline.storage.crash()

    # The owner

    @rule(target=seen, neuron_id=ids)
    def look(self, neuron_id: str) -> Any:
        neuron = self.get(neuron_id)
        if neuron is None or neuron.request is None:
            return multiple()
        return Seen(neuron.id, what_is_shown(neuron), neuron.request.shown_hash)

    @rule(seen=seen, characters=st.sampled_from([8, 16, 64, 7, 0]))
    def approve(self, seen: Seen, characters: int) -> None:
        try:
            neuron = self.pipeline.approve(seen.id, seen.hash[:characters])
        except NeuronError:
            return
        assert characters >= 8
        assert neuron.status is Status.TRIAL
        assert what_is_shown(neuron) == seen.what, "approved what was never shown"
        self.agreed.add((neuron.id, *seen.what[:2]))

    @rule(neuron_id=ids)
    def judge_look_and_approve(self, neuron_id: str) -> None:
        """What happens most: nobody comes between."""
        neuron = self.get(neuron_id)
        if neuron is not None:
            self.tried(self.pipeline.judged, neuron_id, report_of(neuron))
        if (now := self.get(neuron_id)) is not None and now.request is not None:
            self.approve(Seen(now.id, what_is_shown(now), now.request.shown_hash), 8)

    @rule(target=seen, neuron_id=ids)
    def look_and_have_it_asked_again(self, neuron_id: str) -> Any:
        """What was seen is then no answer any more."""
        found = self.look(neuron_id)
        self.tried(self.pipeline.disable, neuron_id, "not now")
        self.tried(self.pipeline.enable, neuron_id)
        if (neuron := self.get(neuron_id)) is not None:
            self.tried(self.pipeline.judged, neuron_id, report_of(neuron))
        return found

    @rule(one=seen, neuron_id=ids)
    def approve_with_the_hash_of_another(self, one: Seen, neuron_id: str) -> None:
        """No hash is of two documents, unless somebody has copied one over the other: then both say the same."""
        self.approve(replace(one, id=neuron_id), 64)

    @rule(neuron_id=ids, what=st.sampled_from(["reject", "disable"]))
    def say_no(self, neuron_id: str, what: str) -> None:
        self.tried(getattr(self.pipeline, what), neuron_id, "no")

    @rule(neuron_id=ids, code=CODES)
    def modify(self, neuron_id: str, code: str) -> None:
        self.tried(self.pipeline.modify, neuron_id, code)

    @rule(neuron_id=ids)
    def enable(self, neuron_id: str) -> None:
        self.tried(self.pipeline.enable, neuron_id)

    @rule(neuron_id=ids, version=st.integers(1, 3))
    def rollback(self, neuron_id: str, version: int) -> None:
        self.tried(self.pipeline.rollback, neuron_id, version)

    # Somebody with an editor, and without the key

    @rule(target=copies, neuron_id=ids)
    def keep_a_copy(self, neuron_id: str) -> Any:
        document = self.document(neuron_id)
        return multiple() if document is None else copy.deepcopy(document)

    @rule(neuron_id=ids, part=PARTS, other=copies)
    def paste(self, neuron_id: str, part: str, other: dict[str, Any]) -> None:
        """A part of a document as it was earlier, or of another one."""
        self.edit(neuron_id, **{part: other[part]})

    @rule(neuron_id=ids, other=copies)
    def put_back(self, neuron_id: str, other: dict[str, Any]) -> None:
        """A whole document as it was earlier, under its own name or another one's."""
        self.edit(neuron_id, **{**other, "id": neuron_id})

    @rule(
        neuron_id=ids, change=st.fixed_dictionaries({}, optional={"status": STATUSES, "code": CODES}), policy=POLICIES
    )
    def write(self, neuron_id: str, change: dict[str, Any], policy: dict[str, Any]) -> None:
        self.edit(neuron_id, **change, **policy)

    @rule(neuron_id=ids, code=CODES, status=STATUSES)
    def forge(self, neuron_id: str, code: str, status: str) -> None:
        """Everything that fits together without the key: hashes, request, report, approvals of this code."""
        neuron = self.get(neuron_id)
        if neuron is None:
            return
        meta = neuron.metadata.model_copy(update={"code_hash": code_hash(code)})
        neuron = neuron.model_copy(update={"code": code, "metadata": meta, "status": Status(status)})
        report = report_of(neuron)
        neuron = neuron.model_copy(update={"report": report})
        nonce = "0" * 32
        shown = shown_hash(neuron.id, report.code_hash, report.policy_hash, nonce, about_hash(neuron))
        data = neuron.model_dump(mode="json", by_alias=True)
        approvals = [{**one, "codeHash": report.code_hash} for one in data["approvals"]]
        hashes = {"codeHash": report.code_hash, "policyHash": report.policy_hash, "nonce": nonce, "shownHash": shown}
        request = {**hashes, "askedAt": self.clock(), "expiresAt": self.clock() + 1e9}
        self.edit(neuron_id, **{**data, "request": request, "approvals": approvals})

    def document(self, neuron_id: str) -> dict[str, Any] | None:
        found = self.pipeline.storage.read(f"neurons/{neuron_id}")
        return None if found is None else found.data

    def edit(self, neuron_id: str, **changes: Any) -> None:
        data = self.document(neuron_id) or {}
        MemoryStorage(self.disk).write_through(f"neurons/{neuron_id}", {**data, **changes})

    def get(self, neuron_id: str) -> Neuron | None:
        """None when somebody has made something else of it than a neuron."""
        try:
            return self.pipeline.store.get(neuron_id)
        except NeuronError:
            return None

    @invariant()
    def nothing_is_awake_without_consent(self) -> None:
        may_run = [one for one in self.pipeline.store.load_all() if one.is_awake and why_not_awake(one, KEY) is None]
        for neuron in may_run:
            assert (neuron.id, *what_is_shown(neuron)[:2]) in self.agreed


def test_nothing_is_ever_awake_but_what_the_owner_has_seen_and_agreed_to():
    run_state_machine_as_test(Consent, settings=settings(max_examples=30, stateful_step_count=40, deadline=None))


@pytest.mark.soak
def test_nothing_is_ever_awake_without_consent_in_a_long_time():
    run_state_machine_as_test(Consent, settings=settings(max_examples=500, stateful_step_count=60, deadline=None))
