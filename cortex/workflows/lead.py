"""The lead of a run: kept by renewing its lease, given up at the end, and lost when another process may have it.

A module of its own because it is what a leader does beside its work, for as long as that lasts.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio
from anyio.to_thread import run_sync as in_thread

from .journal import Fenced, JournalError

if TYPE_CHECKING:
    from .run_record import RunRecord

log = logging.getLogger("motor_cortex")

RENEWALS_PER_LEASE = 5


async def keep_lead(record: RunRecord, scope: anyio.CancelScope) -> None:
    """Renew the lease until cancelled. Cancel the scope when another process may lead the run."""
    parts = record.parts
    lease_s = parts.lease_s
    until = anyio.current_time() + lease_s
    while True:
        await anyio.sleep(lease_s / RENEWALS_PER_LEASE)
        try:
            record.claim = await in_thread(lambda: parts.journal.renew(record.claim, lease_s, parts.now()))
            until = anyio.current_time() + lease_s
            continue
        except Fenced:
            pass
        except JournalError as error:
            log.warning("The lease of a run cannot be renewed: %s", error)
            if anyio.current_time() < until - lease_s / RENEWALS_PER_LEASE:
                continue
        record.is_fenced = True
        scope.cancel()
        return


async def give_up_lead(record: RunRecord) -> None:
    """Let the next process claim the run at once. Never raises."""
    try:
        await in_thread(lambda: record.parts.journal.release(record.claim))
    except JournalError as error:
        log.warning("The lead of a run cannot be given up before its lease ends: %s", error)
