"""The energy of one attempt at a task: taken once, also when the process dies and another repeats the attempt.

The ledger's entry names the attempt (`turn` is `run/task/attempt`), so a process that repeats it finds what was taken.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.to_thread

from cortex.energy import Insufficient, Reservation

if TYPE_CHECKING:
    from cortex.energy import Affordable, Entry, Ledger
    from sandbox import Tier

MAX_ENTRIES = 100_000
"""How far back the ledger is searched for what an earlier process took."""
_MAX_RUN_CHARACTERS = 100
_DUST = 1e-9


def key_of(run: str, task: str, attempt: int) -> str:
    """Names one attempt in the ledger and the audit."""
    short = run if len(run) <= _MAX_RUN_CHARACTERS else hashlib.sha256(run.encode()).hexdigest()
    return f"{short}/{task}/{attempt}"


@dataclass(slots=True)
class Budget:
    """What a run has spent, and the most that it may spend in all. Attempts of one layer share it."""

    spent: float
    most: float | None = None

    def reserve(self, cost: float) -> bool:
        if self.most is not None and self.spent + cost > self.most + _DUST:
            return False
        self.spent += cost
        return True

    def correct(self, reserved: float, charged: float) -> None:
        self.spent += charged - reserved


class AttemptEnergy:
    """A `Ledger` for one attempt. `is_repeated`: an earlier process may have taken its energy, and may have run the
    code. `least` is what a run costs at least. `since`: nothing was taken for it before."""

    def __init__(
        self,
        ledger: Ledger,
        key: str,
        budget: Budget,
        *,
        is_repeated: bool,
        least: float = 0.0,
        since: float = 0.0,
    ) -> None:
        self._ledger = ledger
        self._key = key
        self._budget = budget
        self._is_repeated = is_repeated
        self._is_taken_over = False
        self._least = least
        self._since = since
        self.lacking: Insufficient | None = None
        """Why it could not be taken: the level is too low."""
        self.is_over_budget = False

    def level(self) -> float:
        return self._ledger.level()

    def weigh(self, tier: Tier) -> Affordable | Insufficient:
        weighed = self._ledger.weigh(tier)
        if isinstance(weighed, Insufficient):
            self.lacking = weighed
        return weighed

    async def take(
        self, tier: Tier, *, turn: str | None = None, code_hash: str | None = None, reason: str = "execution"
    ) -> Reservation | Insufficient:
        del turn
        if self._is_repeated:
            taken = await anyio.to_thread.run_sync(taken_before, self._ledger, self._key, self._since)
            if taken is not None and taken.tier is tier and taken.code_hash == code_hash:
                self._budget.reserve(taken.charged)
                self._is_taken_over = True
                return taken
        cost = self._ledger.weigh(tier).cost
        if not self._budget.reserve(cost):
            self.is_over_budget = True
            return Insufficient(tier, cost, 0.0, self._ledger.level(), None)
        found = await self._ledger.take(tier, turn=self._key, code_hash=code_hash, reason=reason)
        if isinstance(found, Insufficient):
            self._budget.correct(cost, 0.0)
            self.lacking = found
        return found

    async def settle(self, reservation: Reservation, cost: float) -> float:
        if reservation.is_settled:  # by an earlier process
            return self._ledger.level()
        if self._is_taken_over and cost < self._least:
            # Nothing ran now, but it may have run before: a kept result, or a refusal, does not make that cheaper.
            return self._ledger.level()
        before = reservation.charged
        level = await self._ledger.settle(reservation, cost)
        self._budget.correct(before, reservation.charged)
        return level

    async def spend(self, amount: float, *, reason: str, floor: float = 0.0, code_hash: str | None = None) -> bool:
        return await self._ledger.spend(amount, reason=reason, floor=floor, code_hash=code_hash)

    def set(self, level: float, *, by: str = "owner") -> Entry:
        return self._ledger.set(level, by=by)

    def top_up(self, amount: float, *, by: str = "owner") -> Entry:
        return self._ledger.top_up(amount, by=by)

    def entries(self, last: int = 20) -> list[Entry]:
        return self._ledger.entries(last)

    def close(self) -> None:
        """Nothing: the ledger belongs to the cortex."""


def taken_before(ledger: Ledger, key: str, since: float = 0.0) -> Reservation | None:
    """What was taken for that attempt and not given back; None for nothing. What was taken before `since` was for a
    run of the same id that is forgotten. Reads the disk."""
    entries = [entry for entry in ledger.entries(MAX_ENTRIES) if entry.at >= since]
    taken = next((entry for entry in reversed(entries) if entry.turn == key and entry.of is None), None)
    if taken is None or taken.tier is None:
        return None
    settled = next((entry for entry in entries if entry.of == taken.seq), None)
    if settled is not None and settled.settled == 0:
        return None
    level = ledger.level()
    found = Reservation(taken.tier, -taken.amount, level, level, taken.seq, taken.turn, taken.code_hash)
    if settled is not None:
        found.is_settled = True
        found.charged = found.cost - settled.amount
    return found
