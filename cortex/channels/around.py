"""Gathers what the owner is told about a neuron besides the neuron."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from neurons import Around

if TYPE_CHECKING:
    from cortex.settings import Settings
    from neurons import ApprovalKey, Neuron

MINUTES_A_DAY = 1_440


def around_of(neurons: Iterable[Neuron], settings: Settings, key: ApprovalKey | None) -> Around:
    """Without a key no approval counts as signed."""
    return Around(
        tuple(neurons),
        settings.neurons.autonomic.tick_s,
        settings.energy.recharge_per_minute * MINUTES_A_DAY,
        settings.neurons.max_answers_per_day,
        key.verify if key is not None else lambda *_: False,
    )
