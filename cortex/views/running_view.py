"""Which of the runs that began and have not ended still run, and which were cut short with their program.

A module of its own because it asks the system for processes, and the rows of the audit are made of records alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sandbox import identity_of

from .audit_view import without_finished

if TYPE_CHECKING:
    from cortex.audit import Record
    from cortex.runs import OpenProgram


def running_now(records: Sequence[Record], programs: Sequence[OpenProgram]) -> tuple[list[Record], list[Record]]:
    """The intents without an end: those whose program is there, or may be, and those whose program is gone."""
    begun = [record for record in without_finished(records) if record.kind == "intent"]
    running = [record for record in begun if not _is_gone(record, programs)]
    return running, [record for record in begun if record not in running]


def _is_gone(record: Record, programs: Sequence[OpenProgram]) -> bool:
    """Whether the process that ran the code is gone. A process of another container cannot be looked at: it counts as
    there while it says that it is."""
    host, started = record.facts.get("host"), record.facts.get("host_started")
    if not isinstance(host, int) or not isinstance(started, int) or identity_of(os.getpid()) is None:
        return False
    said = [program.state for program in programs if (program.pid, program.started) == (host, started)]
    if said:
        return all(state == "gone" for state in said)
    now = identity_of(host)
    return now is None or now.started != started
