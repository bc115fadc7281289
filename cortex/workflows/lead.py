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
LOOK_S = 0.25
"""How often a leader looks whether another process has stopped the run. Less dear than to renew the lease."""


async def keep_lead(record: RunRecord, scope: anyio.CancelScope) -> None:
    """Renew the lease until cancelled. Cancel the scope when another process may lead the run, or has stopped it."""
    parts = record.parts
    lease_s = parts.lease_s
    every_s = lease_s / RENEWALS_PER_LEASE
    until = anyio.current_time() + lease_s
    renew_at = anyio.current_time() + every_s
    while True:
        await anyio.sleep(min(LOOK_S, every_s))
        if await in_thread(_is_stopped, record):
            break
        if anyio.current_time() < renew_at:
            continue
        renew_at = anyio.current_time() + every_s
        try:
            record.claim = await in_thread(lambda: parts.journal.renew(record.claim, lease_s, parts.now()))
            until = anyio.current_time() + lease_s
            continue
        except Fenced:
            break
        except JournalError as error:
            log.warning("The lease of a run cannot be renewed: %s", error)
            if anyio.current_time() >= until - every_s:
                break
    record.is_fenced = True
    scope.cancel()


def _is_stopped(record: RunRecord) -> bool:
    """Whether somebody else has ended the run: all other events are the leader's own. Reads the disk."""
    if not record.last_event:
        return False
    try:
        return any(event.kind == "run_aborted" for event in record.parts.journal.events(record.id, record.last_event))
    except JournalError:
        return False


async def give_up_lead(record: RunRecord) -> None:
    """Let the next process claim the run at once. Never raises."""
    try:
        await in_thread(lambda: record.parts.journal.release(record.claim))
    except JournalError as error:
        log.warning("The lead of a run cannot be given up before its lease ends: %s", error)
