"""Keeps what was folded, and up to where, in the cache of a home. It saves reading a year again; it is never the truth,
and may be deleted.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cortex.energy import LedgerPlace
from sandbox import private_folder, replace_file

from . import metric_names as names
from .fold import Fold
from .samples import number, recalled

FILE = "metrics.json"
FORMAT = 1
_MAX_BYTES = 1024 * 1024


@dataclass(slots=True)
class Folded:
    """A fold and its places: the last record of the audit with its hash, and the place in the ledger."""

    fold: Fold = field(default_factory=Fold)
    seq: int = 0
    hash: str = ""
    ledger: LedgerPlace = field(default_factory=LedgerPlace)


def kept_fold(cache: Path) -> Folded:
    """What was kept; an empty fold where there is nothing, or nothing that makes sense."""
    try:
        with (cache / FILE).open("rb") as file:
            kept = json.loads(file.read(_MAX_BYTES))
        if kept["format"] != FORMAT:
            return Folded()
        fold = Fold()
        for name, series in recalled(kept["series"], names.FOLDED).values.items():
            fold.samples.values.setdefault(name, {}).update(series)
        fold.samples.distributions = recalled(kept["series"], names.FOLDED).distributions
        spent = {str(origin): float(amount) for origin, amount in kept["spent"].items() if origin in names.ORIGINS}
        fold.spent = {origin: amount for origin, amount in spent.items() if number(abs(amount)) is not None}
        place = LedgerPlace(*(_whole(kept["ledger"][part]) for part in ("inode", "offset", "seq")))
        return Folded(fold, _whole(kept["seq"]), str(kept["hash"])[:64], place)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return Folded()


def keep_fold(cache: Path, folded: Folded) -> None:
    """Write it. What cannot be written is read again the next time."""
    kept = {
        "format": FORMAT,
        "seq": folded.seq,
        "hash": folded.hash,
        "ledger": asdict(folded.ledger),
        "spent": folded.fold.spent,
        "series": folded.fold.samples.as_json(names.FOLDED),
    }
    with suppress(OSError):
        private_folder(cache)
        replace_file(cache / FILE, json.dumps(kept).encode(), durable=False)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError(f"expected a whole number of at least 0, not {value!r:.40}")
    return value
