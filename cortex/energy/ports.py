"""The interface (port) of energy, a ledger with a level that all processes of a home share, and its errors.

A lack of energy is not an error: it is returned as a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sandbox import Tier

    from .gate import Affordable, Insufficient
    from .ledger import Entry
    from .reserve import Reservation


class EnergyError(Exception):
    """The energy cannot be accounted for, so none is given out. The message says why."""


class EnergyBusy(EnergyError):
    """Another process holds the lock. The message says which file, and what to do."""


class EnergyNotOnDisk(EnergyError):
    """The owner's decision is in force, but may be lost in a power cut. The message says so."""


class Ledger(Protocol):
    """What one process has taken no other can take. A change counts once its method returns, and survives a crash from
    then on. All methods raise EnergyError when the energy cannot be accounted for: then none is given out."""

    def level(self) -> float:
        """The level now, including recharge and what other processes did."""
        ...

    def weigh(self, tier: Tier) -> Affordable | Insufficient:
        """What `take` would answer now. Nothing is taken."""
        ...

    async def take(
        self, tier: Tier, *, turn: str | None = None, code_hash: str | None = None, reason: str = "execution"
    ) -> Reservation | Insufficient:
        """Take what the tier costs, or take nothing and return what is missing."""
        ...

    async def settle(self, reservation: Reservation, cost: float) -> float:
        """Correct the energy taken for a run to its real cost, once, and return the level. The new entry names that
        of the reservation (`of`). Raises ValueError for a reservation that was settled before."""
        ...

    async def spend(self, amount: float, *, reason: str, floor: float = 0.0, code_hash: str | None = None) -> bool:
        """Take the amount; or take nothing and return False when the level is below the floor or the amount."""
        ...

    def set(self, level: float, *, by: str = "owner") -> Entry:
        """Set the level; on disk when it returns. Raises ValueError for a level outside 0 to 1."""
        ...

    def top_up(self, amount: float, *, by: str = "owner") -> Entry:
        """Add to the level, up to full; on disk when it returns. Raises ValueError for an invalid amount."""
        ...

    def entries(self, last: int = 20) -> list[Entry]:
        """The newest `last` entries, oldest first, numbered without gaps."""
        ...

    def close(self) -> None:
        """Flush and close. Never raises."""
        ...
