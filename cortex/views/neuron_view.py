"""The neurons of a home as facts for pages: what each does, how it stands, and what its owner decides. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex.channels import around_of, change_of, cost_sentence, sentence
from cortex.home import Home
from cortex.show import Layer, layer_of
from neurons import (
    LAYER_KEY,
    ApprovalKey,
    DeferredStorage,
    KillSwitch,
    NeuronStore,
    On,
    Progress,
    Status,
    activity_of,
    progress,
    why_not_awake,
)

if TYPE_CHECKING:
    from cortex.channels import OwnerChange
    from cortex.energy import Entry
    from cortex.settings import Settings
    from neurons import ActivityStep, Around, Counters, Fingerprint, Habit, Habits, Neuron

NEURON_ORDER = (Status.AWAITING_OWNER, Status.TRIAL, Status.ACTIVE, Status.QUARANTINE, Status.DISABLED)
"""Neurons that wait for the owner come first."""
DAY_S = 86_400.0
SPARK_PARTS = 48


@dataclass(frozen=True, slots=True)
class ActivityPart:
    """What a neuron did in a part of a day."""

    signals: int = 0
    emitted: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class NeuronSeen:
    """A neuron as its owner sees it in a list."""

    neuron: Neuron
    counters: Counters
    progress: Progress | None
    """Of its trial."""
    trouble: str
    """Why it does not run although it should, or what the process that runs it says; empty when all is well."""
    killed: On | None
    """Its own kill switch, or that of everything."""
    energy: tuple[float, ...]
    """What it spent in each of 48 parts of the last day."""
    activity: tuple[ActivityPart, ...] = ()
    """What it did in each of them; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class NeuronsView:
    neurons: tuple[NeuronSeen, ...]
    habits: tuple[Habit, ...]
    layer: Layer | None

    @property
    def waiting(self) -> list[NeuronSeen]:
        return [seen for seen in self.neurons if seen.neuron.status is Status.AWAITING_OWNER]


@dataclass(frozen=True, slots=True)
class NeuronPage:
    """All of one neuron."""

    seen: NeuronSeen
    sentence: str
    """What it does, made from its rights alone."""
    cost: str
    habit: Habit | None
    change: OwnerChange | None
    """Against the version that the owner approved last."""
    approved: frozenset[int]
    """The numbers of the versions that the owner has approved."""


class HomeNeurons:
    """Reads the neurons of a home. Creates nothing."""

    def __init__(self, settings: Settings, now: float, entries: Sequence[Entry] = ()) -> None:
        state = Home(settings.home).state_to_read
        self._settings = settings
        self._now = now
        self._storage = DeferredStorage(state)
        self._store = NeuronStore(self._storage)
        self._switch = KillSwitch(state)
        self._key = ApprovalKey.load(state)
        self._entries = entries

    @classmethod
    @contextmanager
    def opened(cls, settings: Settings, now: float, entries: Sequence[Entry] = ()) -> Iterator[HomeNeurons]:
        found = cls(settings, now, entries)
        try:
            yield found
        finally:
            found._storage.close()

    def all(self) -> NeuronsView:
        layer = self._layer()
        neurons = [self._seen(neuron, layer) for neuron in neurons_in_order(self._store.load_all())]
        return NeuronsView(tuple(neurons), tuple(self._habits().all()), layer)

    def waiting(self) -> int:
        """How many neurons the owner can decide about."""
        return sum(
            neuron.status is Status.AWAITING_OWNER
            and neuron.request is not None
            and self._now < neuron.request.expires_at
            for neuron in self._store.load_all()
        )

    def one(self, name: str) -> NeuronPage:
        """Raises NoSuchNeuron."""
        neuron = self._store.get(name)
        around: Around = around_of(self._store.load_all(), self._settings, self._key)
        hashes = {(one.code_hash, one.policy_hash) for one in neuron.approvals}
        approved = (one.version for one in neuron.versions if (one.code_hash, one.policy_hash) in hashes)
        return NeuronPage(
            self._seen(neuron, self._layer()),
            sentence(neuron, around),
            cost_sentence(neuron, around),
            self._habits().get(neuron.metadata.habit) if neuron.metadata.habit else None,
            change_of(neuron, around),
            frozenset(approved),
        )

    def _seen(self, neuron: Neuron, layer: Layer | None) -> NeuronSeen:
        on = self._switch.state(neuron.id)
        return NeuronSeen(
            neuron,
            counters_of(neuron),
            progress(neuron, self._now) if neuron.status is Status.TRIAL and neuron.trial is not None else None,
            self._trouble(neuron, layer),
            on if isinstance(on, On) else None,
            spark(self._entries, f"neuron {neuron.id}", self._now),
            activity_parts(activity_of(self._storage, neuron.id), self._now),
        )

    def activity(self, neuron_id: str) -> tuple[ActivityStep, ...]:
        """What the neuron did in each five minutes of the last week in which it did anything, oldest first."""
        return activity_of(self._storage, neuron_id)

    def _trouble(self, neuron: Neuron, layer: Layer | None) -> str:
        if neuron.is_awake and self._key is not None and (reason := why_not_awake(neuron, self._key)):
            return f"does not run: {reason}"
        nerve = layer.nerve(neuron.id) if layer is not None else None
        return str(nerve) if nerve is not None else ""

    def _layer(self) -> Layer | None:
        found = self._storage.read(LAYER_KEY)
        return layer_of(found.data if found is not None else None)

    def _habits(self) -> Habits:
        from neurons import Habits  # noqa: PLC0415 - a list of neurons in a terminal needs none of it

        return Habits(self._storage, self._settings.neurons.habits, read=_unread)


async def _unread(_: str) -> Fingerprint | None:
    """A reader that reads nothing: pages fingerprint no code."""
    return None


def neurons_in_order(neurons: Iterable[Neuron]) -> list[Neuron]:
    return sorted(neurons, key=lambda neuron: (NEURON_ORDER.index(neuron.status), neuron.id))


def counters_of(neuron: Neuron) -> Counters:
    """The counters since the neuron was approved (in trial), or since it became active."""
    in_trial = neuron.status is Status.TRIAL or (neuron.status is Status.DISABLED and not neuron.counters.signals)
    return neuron.trial.counters if neuron.trial is not None and in_trial else neuron.counters


def spark(entries: Sequence[Entry], reason: str, now: float) -> tuple[float, ...]:
    """What was spent for that reason in each part of the last day."""
    parts = [0.0] * SPARK_PARTS
    for entry in entries:
        if entry.reason == reason and now - DAY_S < entry.at <= now:
            parts[min(SPARK_PARTS - 1, int((entry.at - now + DAY_S) / DAY_S * SPARK_PARTS))] -= entry.amount
    return tuple(max(0.0, part) for part in parts)


def activity_parts(steps: Sequence[ActivityStep], now: float) -> tuple[ActivityPart, ...]:
    """What was done in each part of the last day; empty without any step."""
    if not steps:
        return ()
    parts = [ActivityPart() for _ in range(SPARK_PARTS)]
    for step in steps:
        if now - DAY_S < step.at <= now:
            at = min(SPARK_PARTS - 1, int((step.at - now + DAY_S) / DAY_S * SPARK_PARTS))
            part = parts[at]
            parts[at] = ActivityPart(
                part.signals + step.signals, part.emitted + step.emitted, part.errors + step.errors
            )
    return tuple(parts)


def rights_of(neuron: Neuron) -> Mapping[str, object]:
    """What the neuron may do, by name."""
    return neuron.policy.model_dump(mode="json")
