"""What the autonomic layer knows of the agent's energy, and how it pays. Nobody who asks here waits for a disk."""

from __future__ import annotations

import logging

import anyio

from ..contracts import Energy

log = logging.getLogger("motor_cortex")

# Longer than the reserve itself waits for its lock: this is for a reserve that does not keep its word.
PAY_TIMEOUT_S = 15.0
MOST_AT_ONCE = 1.0


class Purse:
    def __init__(self, energy: Energy) -> None:
        self._energy = energy
        self.level: float | None = None
        """As it was when somebody last looked, less what was paid since; None when it could not be read."""
        self.trouble = ""

    def read(self) -> float | None:
        """Look at the reserve. May block, and is for a thread; never raises."""
        try:
            level = self._energy.level()
        except Exception as error:  # noqa: BLE001 - of whatever reserve it is; neurons rest until it can be read
            self._report(f"Cannot read the energy: {error}")
            return None
        self.trouble = ""
        return level

    async def pay(self, amount: float, *, reason: str, code_hash: str) -> float:
        """Take the amount from the reserve, and return what is still owed: nothing, or all of it when there is too
        little or the reserve cannot be reached. Never raises."""
        if amount <= 0:
            return 0.0
        part = min(amount, MOST_AT_ONCE)
        is_paid = False
        with anyio.move_on_after(PAY_TIMEOUT_S):
            try:
                is_paid = await self._energy.spend(part, reason=reason, floor=0.0, code_hash=code_hash)
            except Exception as error:  # noqa: BLE001 - likewise
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
