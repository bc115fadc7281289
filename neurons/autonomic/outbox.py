"""The emissions that do something for a person or the model, from the moment of emitting until they are told. Pure.

They are written in the neuron's document, together with the state and the counts that came of them, before they leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..contracts import MAX_OUTBOX, LastEmission, Outgoing, Signal, emission_text, kept_text

if TYPE_CHECKING:
    from ..contracts import Neuron
    from .signal_queue import QueuedSignal


@dataclass(frozen=True, slots=True)
class Held:
    """An emission that was let in, and waits until it is written."""

    signal: Signal
    admitted: QueuedSignal


def last_emission_of(neuron: Neuron, signal: Signal) -> LastEmission:
    text = emission_text(neuron.emission.text, signal.type, signal.data)
    return LastEmission(at=signal.at, type=signal.type, text=kept_text(text), id=signal.id)


def with_emissions(neuron: Neuron, held: Sequence[Held], last: LastEmission | None) -> Neuron:
    """The neuron with what it has emitted. Of more than fit, the newest stay."""
    changes: dict[str, object] = {}
    if held:
        changes["outbox"] = (*neuron.outbox, *map(_outgoing, held))[-MAX_OUTBOX:]
    if last is not None:
        changes["last_emission"] = last
    return neuron.model_copy(update=changes) if changes else neuron


def without(neuron: Neuron, ids: frozenset[str]) -> Neuron:
    """The neuron without the emissions that have left it."""
    kept = tuple(one for one in neuron.outbox if one.id not in ids)
    return neuron if len(kept) == len(neuron.outbox) else neuron.model_copy(update={"outbox": kept})


def signal_of(neuron: Neuron, one: Outgoing) -> Signal:
    """The signal of an emission that a document holds."""
    return Signal(
        type=one.type,
        source=f"neuron:{neuron.id}",
        data=one.data,
        priority=one.priority,
        at=one.at,
        id=one.id,
        correlation=one.correlation,
        parent=one.parent,
        depth=one.depth,
        origin=one.origin,
    )


def _outgoing(held: Held) -> Outgoing:
    signal = held.signal
    return Outgoing(
        id=signal.id,
        type=signal.type,
        # As it was let in: JSON, of a bounded size.
        data=held.admitted.given["data"],
        priority=signal.priority,
        at=signal.at,
        correlation=signal.correlation,
        parent=signal.parent,
        depth=signal.depth,
        origin=signal.origin,
    )
