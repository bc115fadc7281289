"""Reads the energy ledger on from a place in it, for readers that want each entry once. Uses bounded memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .ledger import Entry, entry_of
from .ports import EnergyError
from .reserve import LEDGER, entries_in

_MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LedgerPlace:
    """How far a reader has read. After the ledger was rolled or replaced, the number says what is new."""

    inode: int = 0
    offset: int = 0
    seq: int = 0


def entries_after(folder: Path, place: LedgerPlace, most_bytes: int = _MOST_BYTES) -> tuple[list[Entry], LedgerPlace]:
    """Entries behind the place, oldest first, and the place behind them; at most this many bytes of them. Nothing is
    left once the place stays as it is. Raises EnergyError."""
    try:
        handle = os.open(folder / LEDGER, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return [], LedgerPlace()
    except OSError as error:
        raise _unreadable(error) from error
    try:
        status = os.fstat(handle)
        offset, seq = place.offset, place.seq
        if status.st_ino != place.inode or status.st_size < offset:
            newest = entries_in(folder, 1)
            # A ledger that was rolled goes on counting; another ledger begins anew.
            offset, seq = 0, seq if newest and newest[-1].seq >= seq else 0
        data = os.pread(handle, most_bytes, offset)
    except OSError as error:
        raise _unreadable(error) from error
    finally:
        os.close(handle)
    whole = data.rfind(b"\n") + 1
    if not whole and len(data) == most_bytes:
        whole = len(data)  # longer than any entry: it is passed over
    found = [entry for entry in map(entry_of, data[:whole].split(b"\n")[:-1]) if entry is not None and entry.seq > seq]
    return found, LedgerPlace(status.st_ino, offset + whole, found[-1].seq if found else seq)


def _unreadable(error: OSError) -> EnergyError:
    return EnergyError(f"Cannot read the energy ledger: {error.strerror or error}")
