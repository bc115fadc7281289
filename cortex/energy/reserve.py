"""The energy of a home, which its processes share: energy that one of them takes is gone for all, even after a crash.

A change is one line in the ledger, written under a lock between processes, and counts from that moment. If a process is
killed, every change that it wrote still counts, and no energy is given out twice. A power cut can lose what the flusher
had not yet written to disk; what the owner sets is on disk before the owner is told.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cortex.settings import EnergySettings
from cortex.text import whole
from sandbox import LOCK_TIMEOUT_S, FileLock, Flusher, LockBusy, Tier, copy_aside, private_folder, replace_file

from .gate import DUST, FULL, Affordable, Insufficient, recharged, weigh
from .ledger import Entry, LedgerFile, as_line
from .ports import EnergyBusy, EnergyError, EnergyNotOnDisk
from .recovery import continued, recover
from .snapshot import Snapshot, read_snapshot, write_snapshot
from .terms import EnergyTerms, terms_of

log = logging.getLogger("motor_cortex")

T = TypeVar("T")
LEDGER = "energy-ledger.jsonl"
SNAPSHOT = "energy.json"
_MAX_TEXT = 200
_SNAPSHOT_ATTEMPTS = 5


@dataclass(slots=True)
class Reservation:
    """Energy taken for one run, before the run. It stays taken unless it is settled."""

    tier: Tier
    cost: float
    level_before: float
    level: float
    """The level after taking it."""
    seq: int
    turn: str | None = None
    code_hash: str | None = None
    is_settled: bool = False
    charged: float = field(default=0.0, init=False)
    """What was charged in the end: the cost, or the settled cost, and never more than there was."""

    def __post_init__(self) -> None:
        self.charged = self.cost


def _nobody(entry: Entry) -> None:
    pass


def is_untouched(folder: Path) -> bool:
    """Whether nothing was ever spent or set there, so that the level is the initial one. Creates nothing. Raises
    EnergyError."""
    try:
        return not (folder / LEDGER).exists() and not (folder / SNAPSHOT).exists()
    except OSError as error:
        raise _trouble(folder, error) from error


def entries_in(folder: Path, last: int) -> list[Entry]:
    """The newest `last` entries of the ledger in the folder, oldest first. Creates nothing. Raises EnergyError."""
    ledger = LedgerFile(folder / LEDGER)
    try:
        return ledger.entries(last)
    except OSError as error:
        raise EnergyError(f"Cannot read the energy ledger: {error.strerror or error}") from error
    finally:
        ledger.close()


def terms_in(folder: Path) -> EnergyTerms | None:
    """On what terms the programs of the home spend; None if that is not known. Creates nothing. Raises EnergyError."""
    try:
        found = read_snapshot(folder / SNAPSHOT)
    except OSError as error:
        raise _trouble(folder, error) from error
    return found.terms if isinstance(found, Snapshot) else None


class EnergyReserve:
    """The reserve of a home; one object for each home in a process. `on_change` gets every entry that this process
    writes, repairs included. It gets an owner's decision before that is written; if it raises then, the level stays as
    it was.

    Raises EnergyBusy when another process holds the lock for too long, and EnergyError when the disk refuses: energy
    that cannot be accounted for is not given out.
    """

    def __init__(
        self,
        folder: Path,
        settings: EnergySettings,
        *,
        now: Callable[[], float] = time.time,
        flusher: Flusher | None = None,
        on_change: Callable[[Entry], None] = _nobody,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._now = now
        self._flusher = flusher
        self._on_change = on_change
        self._lock_timeout_s = lock_timeout_s
        self._news: deque[Entry] = deque()
        self._has_written = False
        self._terms = terms_of(settings)
        self._has_told_terms = False
        self._lock = FileLock(folder / "energy.lock")
        self._ledger = LedgerFile(folder / LEDGER)
        self._snapshot = folder / SNAPSHOT
        with self._faults():
            private_folder(folder)

    def level(self) -> float:
        """The level now, including recharge and what other processes did."""
        with self._faults():
            reading = self._ledger.read()
        now = self._now()
        if (newest := continued(reading, now)) is not None:
            return self._recharged(newest, now)
        # Decided under the lock: without it, a line that is just being written looks torn, and a pause before the clock
        # was read looks like a clock set back.
        return self._alone_now(lambda: self._recharged(*self._current()))

    def weigh(self, tier: Tier) -> Affordable | Insufficient:
        """What `take` would answer now. Nothing is taken; another process may take it first."""
        return weigh(self.level(), tier, self._settings)

    async def take(
        self, tier: Tier, *, turn: str | None = None, code_hash: str | None = None, reason: str = "execution"
    ) -> Reservation | Insufficient:
        """Take what the tier costs, or take nothing and return what is missing."""
        return await self._alone(lambda: self._take(tier, turn, code_hash, reason))

    async def settle(self, reservation: Reservation, cost: float) -> float:
        """Correct the energy taken for a run to its real cost, and return the level, which never goes below 0.

        Raises ValueError for a reservation that was settled before: the same energy must not come back twice.
        """
        if not 0 <= cost <= FULL:
            raise ValueError(f"a run costs between 0 and 1, not {cost}")
        return await self._alone(lambda: self._settle(reservation, cost))

    async def spend(self, amount: float, *, reason: str, floor: float = 0.0, code_hash: str | None = None) -> bool:
        """Take the amount; or take nothing and return False when the level is below the floor or the amount.

        For spending without a tier: the signals of neurons.
        """
        if not 0 <= amount <= FULL:
            raise ValueError(f"what is spent is a number from 0 to 1, not {amount}")
        return await self._alone(
            lambda: self._spend(amount, _bounded(reason), floor, code_hash and _bounded(code_hash))
        )

    def set(self, level: float, *, by: str = "owner") -> Entry:
        """Set the level; on disk when it returns. Raises ValueError for an invalid level."""
        if not 0 <= level <= FULL:
            raise ValueError(f"a level is a number from 0 to 1, not {level}")
        return self._decide(by, reason="set", level=level)

    def top_up(self, amount: float, *, by: str = "owner") -> Entry:
        """Add to the level, up to full; on disk when it returns. Raises ValueError for an invalid amount."""
        if not 0 < amount <= FULL:
            raise ValueError(f"what is added is a number above 0 and up to 1, not {amount}")
        return self._decide(by, reason="top-up", amount=amount)

    def entries(self, last: int = 20) -> list[Entry]:
        """The newest `last` entries, oldest first."""
        with self._faults():
            return self._ledger.entries(last)

    def close(self) -> None:
        """Flush everything to disk and close the files. Never raises."""
        try:
            # A reserve that was only read leaves everything as it was.
            if self._has_written:
                self._ledger.flush()
                with suppress(OSError):  # the ledger counts, not the snapshot
                    self._write_snapshot()
        except OSError as error:
            log.warning('Cannot flush the energy of "%s": %s', self._folder, error)
        self._ledger.close()
        self._lock.close()

    def _take(self, tier: Tier, turn: str | None, code_hash: str | None, reason: str) -> Reservation | Insufficient:
        newest, now = self._current()
        before = self._recharged(newest, now)
        verdict = weigh(before, tier, self._settings)
        if isinstance(verdict, Insufficient):
            return verdict
        entry = self._write(
            newest,
            now,
            reason=_bounded(reason),
            amount=-verdict.cost,
            tier=tier,
            turn=turn and _bounded(turn),
            code_hash=code_hash and _bounded(code_hash),
        )
        return Reservation(tier, verdict.cost, before, entry.level, entry.seq, entry.turn, entry.code_hash)

    def _spend(self, amount: float, reason: str, floor: float, code_hash: str | None) -> bool:
        newest, now = self._current()
        level = self._recharged(newest, now)
        if level + DUST < max(floor, amount):
            return False
        if amount > 0:
            self._write(newest, now, reason=reason, amount=-amount, code_hash=code_hash)
        return True

    def _settle(self, reservation: Reservation, cost: float) -> float:
        if reservation.is_settled:
            raise ValueError(f"reservation {reservation.seq} is settled already")
        entry = self._write(
            *self._current(),
            reason="settled",
            amount=reservation.cost - cost,
            tier=reservation.tier,
            turn=reservation.turn,
            code_hash=reservation.code_hash,
            reserved=reservation.cost,
            settled=cost,
            of=reservation.seq or None,
        )
        reservation.is_settled = True
        reservation.charged = reservation.cost - entry.amount
        return entry.level

    def _decide(self, by: str, **change: Any) -> Entry:
        """Carry out an owner's decision: in force once it is in the ledger, and returned once it is on disk."""
        entry = self._alone_now(lambda: self._decided(_bounded(by), change))
        try:
            self._ledger.flush()
        except OSError as error:
            raise EnergyNotOnDisk(
                f"The level is {entry.level:g} now, but it could not be flushed to disk ({error.strerror or error}): "
                "after a power cut it may be as before"
            ) from error
        try:
            self._write_snapshot(durable=True)
        except OSError as error:
            # The ledger has it. The snapshot is for other readers, and for a lost ledger.
            log.warning('Cannot write "%s": %s; the ledger counts', self._snapshot, error.strerror or error)
        return entry

    def _decided(self, by: str, change: dict[str, Any]) -> Entry:
        current = self._current()
        self._announce()  # repairs came first
        entry = self._next(*current, by=by, **change)
        self._on_change(entry)
        self._append(entry)
        return entry

    def _current(self) -> tuple[Entry, float]:
        """The newest entry and the time, after recovering the ledger if necessary."""
        reading = self._ledger.read()
        now = self._now()
        if (newest := continued(reading, now)) is not None:
            return newest, now
        recovery = recover(reading, read_snapshot(self._snapshot), now, self._settings)
        # Crash-safe: killed between any two of these steps, the next start recovers to the same level. A home with
        # neither file would count as new, and so as full: hence this order.
        if recovery.sets_snapshot_aside:
            copy_aside(self._snapshot)
        if recovery.replaces_ledger:
            copy_aside(self._ledger.path)
            replace_file(self._ledger.path, as_line(recovery.entry), durable=True)
        else:
            if recovery.cut_to is not None:
                self._ledger.cut(recovery.cut_to)
            self._ledger.append(recovery.entry)
        if recovery.sets_snapshot_aside:
            write_snapshot(self._snapshot, _snapshot_of(recovery.entry), durable=True)
        if recovery.entry.note is not None:
            log.warning('Energy of "%s": %s', self._folder, recovery.entry.note)
        self._has_written = True
        self._news.append(recovery.entry)
        return recovery.entry, now

    def _write(self, newest: Entry, now: float, *, reason: str, amount: float, **cause: Any) -> Entry:
        # Only with what is spent: who sets the level, from any shell, may have other settings than who spends.
        if not self._has_told_terms:
            cause["terms"] = self._terms
        entry = self._next(newest, now, reason=reason, amount=amount, **cause)
        self._append(entry)
        self._has_told_terms = True
        self._news.append(entry)
        return entry

    def _append(self, entry: Entry) -> None:
        self._has_written = True
        self._ledger.append(entry)

    def _next(
        self, newest: Entry, now: float, *, reason: str, amount: float = 0.0, level: float | None = None, **cause: Any
    ) -> Entry:
        """The next entry: the amount is added to the level, or the level is set."""
        before = self._recharged(newest, now)
        after = min(FULL, max(0.0, before + amount)) if level is None else level
        return Entry(
            seq=newest.seq + 1,
            at=max(now, newest.at),
            reason=reason,
            # What really moved: less than asked for when there was no more to take, or no room for more.
            amount=amount if after == before + amount else after - before,
            recharged=before - newest.level,
            level=after,
            **cause,
        )

    def _recharged(self, newest: Entry, now: float) -> float:
        return recharged(newest.level, now - newest.at, self._settings)

    async def _alone(self, work: Callable[[], T]) -> T:
        """Do the work under the lock. The work itself does not await, so that no cancellation can interrupt it."""
        with self._faults():
            if not self._lock.try_take():
                await self._lock.take(self._lock_timeout_s)
            try:
                done = work()
            finally:
                self._lock.release()
        self._announce()
        return done

    def _alone_now(self, work: Callable[[], T]) -> T:
        with self._faults(), self._lock.held(self._lock_timeout_s):
            done = work()
        self._announce()
        return done

    def _announce(self) -> None:
        if self._news and self._flusher is not None:
            self._flusher.want(self, self._write_out)
        while self._news:
            try:
                entry = self._news.popleft()
            except IndexError:  # another thread was faster, and announces it
                return
            self._on_change(entry)

    def _write_out(self) -> None:
        """Flush the ledger to disk and write a snapshot of its end. Without the lock: no process waits for the disk."""
        self._ledger.flush()
        self._write_snapshot()

    def _write_snapshot(self, *, durable: bool = False) -> None:
        shown = None
        # Repeat if there is a newer entry by then: its writer may have written its snapshot before this one.
        for _ in range(_SNAPSHOT_ATTEMPTS):
            reading = self._ledger.read()
            if reading is None or reading.newest is None or reading.newest == shown:
                break
            shown = reading.newest
            terms = self._terms if self._has_told_terms else terms_in(self._folder)
            write_snapshot(self._snapshot, _snapshot_of(shown, terms), durable=durable)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except LockBusy as error:
            raise EnergyBusy(f"Cannot use the energy: {error}") from error
        except OSError as error:
            raise _trouble(self._folder, error) from error


def _trouble(folder: Path, error: OSError) -> EnergyError:
    return EnergyError(f'Cannot use the energy in "{folder}": {error.strerror or error}')


def _snapshot_of(entry: Entry, terms: EnergyTerms | None = None) -> Snapshot:
    return Snapshot(level=entry.level, at=entry.at, seq=entry.seq, terms=terms)


def _bounded(text: str) -> str:
    return whole(text[:_MAX_TEXT])
