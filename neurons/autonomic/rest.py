"""Who rests when energy is low. Pure.

The order is: neurons that have passed their trial before those that are on it, because the agent already relies on
them; then the ones with the smaller budget, because more of them can go on with what is left; then the older ones. The
last in that order rests first, at `rest_below`, and the first one last: the levels between are spread evenly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..contracts import Neuron, Status

# What is left of a level after many subtractions is a little less than people count.
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
    """The level below which each of them rests, by id."""
    ordered = most_important_first(neurons)
    return {neuron.id: rest_below * (place + 1) / len(ordered) for place, neuron in enumerate(ordered)}


def affordable(level: float | None, floor: float, budget: float, most: int) -> int:
    """How many signals a neuron may be given at once, if each costs what its budget allows; 0 means that it rests.

    Down to its floor, and one signal as long as the level is not below that: or a neuron whose budget is large would
    rest for ever. A level that nobody could tell is none: energy that cannot be accounted for is not given out.
    """
    if level is None or level < floor or level < budget:
        return 0
    return max(1, min(most, int((level - floor) / budget + _SLACK)))
