"""Decides how to continue a ledger that is new, torn by a crash, or damaged, or after the clock was set back. Pure.

Valid entries are kept, and the newest one counts; if none can be trusted, the level is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from cortex.settings import EnergySettings

from .gate import recharged
from .ledger import Entry, Reading
from .snapshot import DamagedSnapshot, Snapshot

# Clocks are corrected by milliseconds all the time. Further back means that the clock was set, and recharge starts
# anew.
CLOCK_TOLERANCE_S = 1.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """The steps that make the ledger usable again."""

    entry: Entry
    """The entry to write next."""
    replaces_ledger: bool = False
    """The entry begins a new ledger; the old one is set aside."""
    cut_to: int | None = None
    """The length of the part of the ledger that is kept."""
    sets_snapshot_aside: bool = False


def continued(reading: Reading | None, now: float) -> Entry | None:
    """The entry to continue from; None when the ledger has to be recovered first."""
    if reading is None or reading.newest is None or not reading.is_sound:
        return None
    return reading.newest if now >= reading.newest.at - CLOCK_TOLERANCE_S else None


def recover(
    reading: Reading | None, snapshot: Snapshot | DamagedSnapshot | None, now: float, settings: EnergySettings
) -> Recovery:
    """Decide how to continue from what can be read of ledger and snapshot."""
    if reading is not None and reading.newest is not None and not reading.is_damaged:
        return _repaired(reading, reading.newest, now, settings)
    is_damaged = reading is not None and reading.is_damaged
    accounts = [account for account in (reading and reading.newest, snapshot) if isinstance(account, Entry | Snapshot)]
    account = max(accounts, key=lambda account: account.seq, default=None)
    if account is not None:
        note = "the ledger was damaged" if is_damaged else "the ledger was missing"
        source = "energy.json" if account is snapshot else "its newest whole entry"
        before, at, seq = account.level, now if account.at is None else account.at, account.seq
        entry = _entry("recovered", before, now - at, now, seq, settings, f"{note}; continued from {source}")
    elif is_damaged or snapshot is not None:
        note = "ledger and snapshot are damaged: the level is 0 until it recharges or the owner sets it"
        entry = _entry("recovered", 0.0, 0.0, now, 0, settings, note)
    else:
        entry = _entry("initial", settings.initial_level, 0.0, now, 0, settings, None)
    return Recovery(
        entry,
        replaces_ledger=is_damaged,
        cut_to=0 if reading is not None and not is_damaged and reading.size > 0 else None,
        sets_snapshot_aside=isinstance(snapshot, DamagedSnapshot),
    )


def _repaired(reading: Reading, newest: Entry, now: float, settings: EnergySettings) -> Recovery:
    torn_bytes = reading.size - reading.whole_size
    notes = []
    if torn_bytes:
        notes.append(f"{torn_bytes} bytes of an entry that was never finished were cut off")
    if now < newest.at - CLOCK_TOLERANCE_S:
        notes.append(f"the clock was set back by {newest.at - now:.0f} s")
    else:
        now = max(now, newest.at)  # else a jittering clock would count the same moment twice
    reason = "recovered" if torn_bytes else "clock"
    entry = _entry(reason, newest.level, now - newest.at, now, newest.seq, settings, "; ".join(notes))
    return Recovery(entry, cut_to=reading.whole_size if torn_bytes else None)


def _entry(
    reason: str, before: float, elapsed_s: float, now: float, seq: int, settings: EnergySettings, note: str | None
) -> Entry:
    level = recharged(before, elapsed_s, settings)
    return Entry(seq=seq + 1, at=now, reason=reason, amount=0.0, recharged=level - before, level=level, note=note)
