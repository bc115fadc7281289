"""A pipeline for tests: a clock that is moved by hand, an audit that is a list, and neurons at any stage."""

from __future__ import annotations

from typing import Any

from neurons import (
    ApprovalKey,
    Fingerprint,
    MemoryStorage,
    Neuron,
    NeuronSettings,
    NeuronStore,
    Pipeline,
    Proposal,
    Report,
    ScenarioResult,
    Storage,
    code_hash,
    policy_hash,
)
from neurons.pipeline.trial import Delivered

KEY = ApprovalKey(b"k" * 32)
START = 1_800_000_000.0
HOUR_S = 3600.0
MAX_CODE_BYTES = 51_200


def seen_as(shape: str, **parts: int) -> Fingerprint:
    """A fingerprint with these parts."""
    return Fingerprint(shape=shape, parts=parts)


class Clock:
    def __init__(self, at: float = START) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at

    def forward(self, *, hours: float = 0, seconds: float = 0) -> None:
        self.at += hours * HOUR_S + seconds


class Audit:
    """What was recorded, in order. While `broken` is a text it refuses, as a full disk does."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.broken: str | None = None

    def __call__(self, kind: str, /, **facts: Any) -> None:
        if self.broken is not None:
            raise OSError(self.broken)
        self.lines.append((kind, facts))

    def changes(self) -> dict[str, dict[str, Any]]:
        """The last record about the status of each neuron, as the audit of a home finds it."""
        return {facts["neuron"]: facts for _, facts in self.lines if {"before", "after"} <= facts.keys()}

    def events(self, kind: str) -> list[str]:
        return [facts["what"] for found, facts in self.lines if found == kind]


class Governed(Pipeline):
    """A pipeline with its clock, its audit and its storage at hand, and short cuts to each stage."""

    def __init__(
        self,
        storage: Storage | None = None,
        *,
        key: ApprovalKey = KEY,
        clock: Clock | None = None,
        audit: Audit | None = None,
        **settings: Any,
    ) -> None:
        self.storage = storage if storage is not None else MemoryStorage()
        self.clock = clock if clock is not None else Clock()
        self.audit = audit if audit is not None else Audit()
        self.settings = NeuronSettings.model_validate(settings)
        super().__init__(
            NeuronStore(self.storage), self.settings, key, record=self.audit, changes=self.audit.changes, now=self.clock
        )

    def restarted(self, **settings: Any) -> Governed:
        """As another process finds it."""
        self.storage.flush()
        found = settings or self.settings.model_dump()
        return Governed(self.storage, clock=self.clock, audit=self.audit, **found)

    def in_quarantine(self, **changes: Any) -> Neuron:
        return self.propose(proposal(**changes), max_code_bytes=MAX_CODE_BYTES)

    def waiting(self, **changes: Any) -> Neuron:
        neuron = self.in_quarantine(**changes)
        return self.judged(neuron.id, report_of(neuron, at=self.clock()))

    def in_trial(self, **changes: Any) -> Neuron:
        neuron = self.waiting(**changes)
        return self.approve(neuron.id, shown(neuron))

    def active(self, **changes: Any) -> Neuron:
        """After a trial without a fault."""
        neuron = self.in_trial(**changes)
        return self.tried(neuron)

    def tried(self, neuron: Neuron) -> Neuron:
        """After its trial, in which it was awake all the time and given signals in each hour."""
        hours, signals = self.settings.trial.min_hours, self.settings.trial.min_signals
        steps = max(1, round(hours))
        for step in range(steps):
            self.clock.forward(hours=hours / steps)
            given = signals // steps + (step < signals % steps)
            tried = Delivered(at=self.clock(), signals=given, awake_s=hours / steps * HOUR_S + 0.001)
            neuron = self.deliver(neuron.id, tried)
        return neuron


def proposal(**changes: Any) -> Proposal:
    """Each of another name has code of its own."""
    name = changes.get("name", "CryptoPrice")
    return Proposal.of(
        {
            "name": name,
            "code": f'emit("price_change", {{ of: {name!r} }})',
            "purpose": "Tell when the price moves",
            "inputSignals": ["tick"],
            "outputSignals": ["price_change"],
            "energyBudget": 0.02,
            **changes,
        }
    )


def report_of(neuron: Neuron, *problems: str, at: float = START) -> Report:
    """What a quarantine says of the neuron as it is."""
    return Report(
        at=at,
        code_hash=code_hash(neuron.code),
        policy_hash=policy_hash(neuron.policy),
        scenarios=(ScenarioResult(name="typical", signals=1, ok=not problems),),
        problems=problems,
    )


def shown(neuron: Neuron, characters: int = 8) -> str:
    """What the owner reads off the question."""
    assert neuron.request is not None
    return neuron.request.shown_hash[:characters]
