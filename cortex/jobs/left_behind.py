"""Settles the jobs of a process that is gone: their energy exactly once, then their record.

A module of its own because the process that runs the jobs and the owner's command both do it; the caller holds the
lease of the jobs.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio.to_thread

from cortex.energy import EnergyError, Reservation
from sandbox import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex.energy import Ledger

    from .job_records import JobRecord, JobRecords

log = logging.getLogger("motor_cortex")

MAX_ENTRIES = 100_000
"""How far back the ledger is searched. What is older is taken for settled: energy is never given out twice."""


async def settle_left(records: JobRecords, energy: Ledger) -> list[JobRecord]:
    """Give back the energy of the jobs that had not begun, mark all as cut short, and return them as they were. Energy
    first: a crash before the mark leaves the entry in the ledger, which tells the next process. A job whose energy
    cannot be accounted for stays as it is, for the next start. Raises StorageError, LockBusy and OSError."""
    in_thread = anyio.to_thread.run_sync
    left = await in_thread(records.under_way)
    waiting = [record for record in left if record.state == "waiting"]
    try:
        owed = await in_thread(_owed, waiting, energy)
    except EnergyError as error:
        log.warning("Cannot look up the energy of jobs that never began: %s", error)
        return []
    settled = []
    for record in left:
        if record.handle not in owed or await _give_back(record, energy):
            await in_thread(records.cut_short, record)
            settled.append(record)
    return settled


def _owed(waiting: Sequence[JobRecord], energy: Ledger) -> set[str]:
    """The handles of the jobs whose energy is still taken."""
    newest = energy.entries(1)
    if not waiting or not newest:
        return set()
    first = min(record.reservation for record in waiting)
    entries = energy.entries(min(MAX_ENTRIES, newest[0].seq - first + 1))
    taken = {entry.seq: entry.code_hash for entry in entries if entry.reason != "settled"}
    settled = {entry.of for entry in entries}
    return {
        record.handle
        for record in waiting
        if taken.get(record.reservation) == record.code_hash and record.reservation not in settled
    }


async def _give_back(record: JobRecord, energy: Ledger) -> bool:
    try:
        tier = Tier(record.tier)
        taken = Reservation(tier, record.cost, 0.0, 0.0, record.reservation, code_hash=record.code_hash)
        await energy.settle(taken, 0.0)
    except EnergyError as error:
        log.warning("Cannot give back the energy of a job that never began: %s", error)
        return False
    except ValueError as error:
        log.warning("A job that never began has a record that makes no sense: %s", error)
    return True
