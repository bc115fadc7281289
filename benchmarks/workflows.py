"""Benchmark of the journal of workflows: save a layer and load a run, with 200 tasks of a kilobyte each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from cortex.workflows import Claim, NewEvent, RunRow, Saved, SqliteJournal, TaskRow, checked

from .measure import Report, Row, folder_on_disk, p95

TASKS, WIDE = 200, 10
RESULT = {"rows": ["x" * 90] * 11}
PLAN = checked(
    {
        "name": "twenty layers",
        "tasks": [
            {
                "id": f"t{n}",
                "type": "mcp_tool",
                "tool": "echo",
                "arguments": {"text": "y" * 900},
                "dependencies": [f"t{n - WIDE}"] if n >= WIDE else [],
            }
            for n in range(TASKS)
        ],
    }
)


async def workflows(rounds: int, report: Report) -> None:
    """Measure against limits: 50 ms for the checkpoint of a layer, 100 ms for a run that is resumed."""
    layers: list[float] = []
    wholes: list[float] = []
    loads: list[float] = []
    with folder_on_disk() as home:
        journal = SqliteJournal(home / "workflows")
        for number in range(max(4, rounds // 3)):
            claim = begun(journal, f"layers-{number}")
            layers += [saved(journal, claim, range(first, first + WIDE)) for first in range(0, TASKS, WIDE)]
            for more in range(3):
                wholes.append(saved(journal, begun(journal, f"whole-{number}-{more}"), range(TASKS)))
                loads.append(loaded(home, claim.run))
        journal.close()
    report(Row(f"a layer of {WIDE} tasks saved, p95", p95(layers), 50, "ms", 1.0, "limit"))
    report(Row(f"a layer of {TASKS} tasks saved, p95", p95(wholes), 50, "ms", 1.0, "limit"))
    report(Row(f"a run of {TASKS} tasks loaded, p95", p95(loads), 100, "ms", 1.0, "limit"))


def loaded(home: Path, run: str) -> float:
    """Milliseconds until a process that has just started has the run, with the journal opened."""
    journal = SqliteJournal(home / "workflows")
    start = time.perf_counter()
    state = journal.load(run)
    taken = (time.perf_counter() - start) * 1000
    journal.close()
    assert len(state.tasks) == TASKS
    return taken


def begun(journal: SqliteJournal, run: str) -> Claim:
    journal.begin(RunRow(run, PLAN, PLAN.hash), [NewEvent("run_started", {}, 1.0)])
    claim = journal.claim(run, "bench", 60, 1.0)
    assert claim is not None
    return claim


def saved(journal: SqliteJournal, claim: Claim, tasks: Sequence[int]) -> float:
    """Milliseconds for a step that saves these tasks with their events."""
    step = Saved(
        tasks=[TaskRow(f"t{n}", "ok", input_hash="0" * 64, result=RESULT, cost=0.05, ended_at=1.0) for n in tasks],
        events=[NewEvent("task_completed", {"task": f"t{n}"}, 1.0) for n in tasks],
        status="running",
        energy_spent=0.5,
    )
    start = time.perf_counter()
    journal.save(claim, step, 1.0)
    return (time.perf_counter() - start) * 1000
