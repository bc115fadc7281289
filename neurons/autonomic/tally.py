"""Sums up what a neuron did with a batch of signals: counts, errors, energy, and whether it was over its budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..contracts import cost_of
from ..pipeline import Delivered

if TYPE_CHECKING:
    from sandbox import BatchAnswer, SignalAnswer

    from ..contracts import CostSettings, Neuron, NeuronSettings
    from .signal_queue import QueuedSignal

# Limits over time count in steps of five seconds: deliveries within one step can be merged into one.
_STEP_S = 5.0
_MAX_STEPS = 720


def summed(
    neuron: Neuron, batch: Sequence[QueuedSignal], answer: BatchAnswer, settings: NeuronSettings, now: float
) -> Delivered:
    """Sum up a batch. Emitting an undeclared signal turns the signal that it answers into an error."""
    errors = emitted = 0
    last_error = ""
    for answered in answer.answers:
        if answered.ok and not answered.emitted:
            continue  # the common case
        emitted += len(answered.emitted)
        error = error_of(neuron, answered)
        if error is not None:
            errors, last_error = errors + 1, error
    energy = cost_of(answer.work, len(batch), settings.cost)
    return Delivered(
        at=now,
        signals=len(batch),
        errors=errors,
        emitted=emitted,
        energy=energy,
        over_budget=over_budget(answer, energy, neuron.energy_budget, settings.cost),
        restarts=answer.work.restarts,
        cpu_ms=answer.work.cpu_ms,
        last_error=last_error,
    )


def emissions(batch: Sequence[QueuedSignal], answer: BatchAnswer) -> Iterator[tuple[QueuedSignal, str, Any]]:
    for waiting, answered in zip(batch, answer.answers, strict=False):
        for type_, data in answered.emitted:
            yield waiting, type_, data


def error_of(neuron: Neuron, answered: SignalAnswer) -> str | None:
    if not answered.ok:
        return f"{answered.error.type}: {answered.error.message}" if answered.error is not None else "It failed"
    for type_, _ in answered.emitted:
        if type_ not in neuron.output_signals:
            return f'It emitted "{type_}", which it has not declared'
    return None


def over_budget(answer: BatchAnswer, energy: float, budget: float, prices: CostSettings) -> int:
    """How many signals of a batch count as over budget: each that cost more by itself, and by the total at least one
    when that exceeds the sum of the budgets, and one more for each whole budget beyond."""
    signals = len(answer.answers)
    alone = sum(cost_of(one, 1, prices) > budget + 1e-12 for one in answer.answers)
    excess = energy - signals * budget
    together = min(signals, 1 + math.floor(excess / budget)) if excess > 1e-12 else 0
    return max(alone, together)


def with_one_more(before: tuple[Delivered, ...], new: Delivered) -> tuple[Delivered, ...]:
    """Add a delivery, merging it with the last one if both are close in time: the list stays short however long it
    waits to be written."""
    if not before or (new.at // _STEP_S != before[-1].at // _STEP_S and len(before) < _MAX_STEPS):
        return (*before, new)
    return (*before[:-1], _added(before[-1], new))


def _added(before: Delivered, new: Delivered) -> Delivered:
    return replace(
        new,
        signals=before.signals + new.signals,
        errors=before.errors + new.errors,
        emitted=before.emitted + new.emitted,
        energy=before.energy + new.energy,
        over_budget=before.over_budget + new.over_budget,
        restarts=before.restarts + new.restarts,
        cpu_ms=before.cpu_ms + new.cpu_ms,
        last_error=new.last_error or before.last_error,
        awake_s=before.awake_s + new.awake_s,
    )
