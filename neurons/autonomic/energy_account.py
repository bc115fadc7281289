"""The agent's energy as the autonomic layer sees it. Only `read` waits for a disk."""

from __future__ import annotations

import logging

import anyio

from ..contracts import Energy

log = logging.getLogger("motor_cortex")

# Longer than the reserve's own lock timeout: this one catches a reserve that hangs.
PAY_TIMEOUT_S = 15.0
MOST_AT_ONCE = 1.0


class Purse:
    """A view of the reserve that never blocks the event loop."""

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
