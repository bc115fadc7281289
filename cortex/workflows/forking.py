"""Begins a fork: a new run with the results of another one, as far as they count there.

A module of its own because an open cortex forks, and the command line, which needs none for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .journal import NewEvent, RunRow, Saved
from .plan import input_hash
from .progress import finished_of, to_take_over

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from .journal import EventRow, Journal, RunState, TaskRow
    from .kept_files import KeptFiles
    from .plan import Plan

FORKING = "it is being forked"
"""The reason of a run whose rows are not all taken over yet."""


def begin_fork(
    journal: Journal,
    files: KeptFiles,
    state: RunState,
    at: str,
    new: Plan,
    id_: str,
    *,
    worker: str,
    now: float,
    lease_s: float = 10.0,
) -> Sequence[EventRow] | None:
    """Keep a new run that begins at that task; no process leads it yet. Returns its events; none if there is a run of
    that id with that plan, None if another process makes it at this moment. Reads and writes the disk. Raises
    PlanError and JournalError."""
    not_written = {task for task, _ in files.all(state.run.id)}
    rows = taken_over(state, at, new, not_written)
    row = RunRow(
        id_,
        new,
        new.hash,
        status="waiting",
        started_by=state.run.started_by,
        parent=state.run.id,
        energy_budget=state.run.energy_budget,
        reason=FORKING,
        at=now,
    )
    told = NewEvent("run_queued", {"plan": new.name, "plan_hash": new.hash, "parent": state.run.id, "at": at}, now)
    if journal.begin(row, [told]).reason != FORKING:
        return ()
    claim = journal.claim(id_, worker, lease_s, now)
    if claim is None:
        return None
    saved = Saved(tasks=rows, status="queued", events=[NewEvent("run_forked", {"tasks": len(rows)}, now)])
    events = journal.save(claim, saved, now)
    journal.release(claim)
    return events


def taken_over(state: RunState, at: str, new: Plan, not_written: Set[str]) -> list[TaskRow]:
    """The rows that a fork begins with: those whose task is given the same there, and whose files are written. Raises
    PlanError."""
    rows: dict[str, TaskRow] = {}
    kept = set(to_take_over(state.run.plan, state.tasks, at, new)) - not_written
    for task in (task for layer in new.layers() for task in layer if task.id in kept):
        id_, row = task.id, state.tasks[task.id]
        finished = finished_of(rows)
        if all(other in rows for other in task.dependencies) and input_hash(task, new, finished) == row.input_hash:
            rows[id_] = row
    return list(rows.values())
