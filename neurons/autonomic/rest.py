"""Which neurons rest when energy is low. Pure.

Order of importance: neurons that have passed their trial before those still in trial, because the agent already relies
on them; then those with the smaller budget, because more of them can go on with what is left; then the older ones. The
least important rests first, at `rest_below`, and the most important last: the levels between are spread evenly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..contracts import Neuron, Status

# Rounding: after many subtractions a level is slightly lower than the exact sum.
_SLACK = 1e-9


def most_important_first(neurons: Iterable[Neuron]) -> list[Neuron]:
    return sorted(
        neurons,
        key=lambda neuron: (
            neuron.status is not Status.ACTIVE,
            neuron.energy_budget,
            neuron.metadata.created_at,
            neuron.id,
        ),
    )


def floors(neurons: Iterable[Neuron], rest_below: float) -> Mapping[str, float]:
    """The level below which each neuron rests, by id."""
    ordered = most_important_first(neurons)
    return {neuron.id: rest_below * (place + 1) / len(ordered) for place, neuron in enumerate(ordered)}


def affordable(level: float | None, floor: float, budget: float, most: int) -> int:
    """How many signals a neuron may be given at once, if each costs its whole budget; 0 means that it rests.

    It may spend down to its floor, and at least one signal while the level is not below the floor: else a neuron with a
    large budget would rest for ever. An unknown level allows nothing: energy that cannot be accounted for is not given
    out.
    """
    if level is None or level < floor or level < budget:
        return 0
    return max(1, min(most, int((level - floor) / budget + _SLACK)))
