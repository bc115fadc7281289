"""The autonomic layer's view of the agent's energy; decides which neurons rest when it is low.

Order of importance: neurons that have passed their trial before those still in trial, because the agent already relies
on them; then those with the smaller budget, because more of them can go on with what is left; then the older ones. The
least important rests first, at `rest_below`, and the most important last: the levels between are spread evenly.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

import anyio

from ..contracts import Energy, Neuron, Status

log = logging.getLogger("motor_cortex")

# Longer than the reserve's own lock timeout: this one catches a reserve that hangs.
PAY_TIMEOUT_S = 15.0
MOST_AT_ONCE = 1.0
# Rounding: after many subtractions a level is slightly lower than the exact sum.
_SLACK = 1e-9


class EnergyAccount:
    """A view of the reserve that never blocks the event loop: only `read` waits for a disk."""

    def __init__(self, energy: Energy) -> None:
        self._energy = energy
        self.level: float | None = None
        """The level at the last `read`, less what was paid since; None when it could not be read."""
        self.trouble = ""

    def read(self) -> float | None:
        """Read the level of the reserve. May block, so call it in a thread; never raises."""
        try:
            level = self._energy.level()
        except Exception as error:  # noqa: BLE001 - the reserve may raise anything; neurons rest until it can be read
            self._report(f"Cannot read the energy: {error}")
            return None
        self.trouble = ""
        return level

    async def pay(self, amount: float, *, reason: str, code_hash: str) -> float:
        """Take the amount from the reserve, at most 1 at a time, and return what is still owed: all of it when the
        level is too low or the reserve cannot be reached. Never raises."""
        if amount <= 0:
            return 0.0
        part = min(amount, MOST_AT_ONCE)
        is_paid = False
        with anyio.move_on_after(PAY_TIMEOUT_S):
            try:
                is_paid = await self._energy.spend(part, reason=reason, floor=0.0, code_hash=code_hash)
            except Exception as error:  # noqa: BLE001 - as in `read`
                self.level = None
                self._report(f"Cannot pay for a neuron: {error}")
        if not is_paid:
            return amount
        if self.level is not None:
            self.level = max(0.0, self.level - part)
        return amount - part

    def _report(self, trouble: str) -> None:
        if trouble != self.trouble:
            log.warning("%s; neurons rest until that is put right", trouble)
        self.trouble = trouble


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
