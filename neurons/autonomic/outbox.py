"""The emissions that do something for a person or the model, from the moment of emitting until they are told. Pure.

They are written in the neuron's document, together with the state and the counts that came of them, before they leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..contracts import MAX_OUTBOX, MAX_TOLD, LastEmission, Outgoing, Signal, emission_text, kept_text
from .mail import Letter, as_outgoing

if TYPE_CHECKING:
    from ..contracts import Neuron
    from .signal_queue import QueuedSignal


@dataclass(frozen=True, slots=True)
class Held:
    """An emission that was let in, and waits until it is written."""

    signal: Signal
    admitted: QueuedSignal
    tells: bool = True
    """False when the agent was woken often enough: then only other neurons hear it."""
    wakes: bool = False
    """It asks for a turn by itself, and not by `wake_on`."""


def last_emission_of(neuron: Neuron, signal: Signal) -> LastEmission:
    text = emission_text(neuron.emission.text, signal.type, signal.data)
    return LastEmission(at=signal.at, type=signal.type, text=kept_text(text), id=signal.id)


def with_emissions(neuron: Neuron, held: Sequence[Held], last: LastEmission | None) -> Neuron:
    """The neuron with what it has emitted. Of more than fit, the newest stay."""
    changes: dict[str, object] = {}
    if held:
        changes["outbox"] = (*neuron.outbox, *(_outgoing(one) for one in held if one.tells))[-MAX_OUTBOX:]
    if last is not None:
        changes["last_emission"] = last
    return neuron.model_copy(update=changes) if changes else neuron


def without(neuron: Neuron, ids: frozenset[str]) -> Neuron:
    """The neuron without the emissions that have left it."""
    kept = tuple(one for one in neuron.outbox if one.id not in ids)
    return neuron if len(kept) == len(neuron.outbox) else neuron.model_copy(update={"outbox": kept})


def letters_of(neuron: Neuron) -> list[Letter]:
    """What the document holds for a person or the model. The action is the one that the owner approved."""
    emission, source = neuron.emission, f"neuron:{neuron.id}"
    return [
        Letter(
            signal=one,
            source=source,
            name=neuron.name,
            action=emission.action,
            text=emission_text(emission.text, one.type, one.data),
        )
        for one in neuron.outbox
    ]


def with_told(neuron: Neuron, emission: str, told: Sequence[str]) -> Neuron:
    last = neuron.last_emission
    if last is None or last.id != emission:
        return neuron
    kept = last.model_copy(update={"told": tuple(told)[:MAX_TOLD]})
    return neuron.model_copy(update={"last_emission": kept})


def _outgoing(held: Held) -> Outgoing:
    # As it was let in: JSON, of a bounded size.
    return as_outgoing(replace(held.signal, data=held.admitted.given["data"]))
