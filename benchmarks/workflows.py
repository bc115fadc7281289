"""Benchmark of workflows: save a layer and load a run, with 200 tasks of a kilobyte each; a run of tools, code and a
decision against the same calls made directly; and an abort, until the process of the code is dead."""

from __future__ import annotations

import math
import os
import select
import time
from collections.abc import Sequence
from pathlib import Path

import anyio

from cortex import MotorCortex, Settings, Toolbox
from cortex.settings.sections import EnergySettings
from cortex.tools import Decision, Question
from cortex.workflows import Claim, NewEvent, RunRow, Saved, SqliteJournal, TaskRow, checked

from .measure import Report, Row, descendants, folder_on_disk, interleaved, p50, p95

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


TOOL_S = 0.02
"""What a tool of the hybrid takes: as long as a server nearby."""
GROUPS = "const n = {}; for (const c of context.list) n[c.author] = (n[c.author] ?? 0) + 1; return { text: String(n) }"


async def workflows(rounds: int, report: Report) -> None:
    journal_of_runs(rounds, report)
    with folder_on_disk() as home:
        await hybrid(home / "hybrid", max(4, rounds // 2), report)
        await aborted(home / "aborted", max(3, rounds // 6), report)


def journal_of_runs(rounds: int, report: Report) -> None:
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


class Approves:
    """An owner who answers at once."""

    async def decide(self, question: Question) -> Decision:
        del question
        return Decision(True)


def opened(home: Path, toolbox: Toolbox | None = None) -> MotorCortex:
    settings = Settings(
        home=home,
        energy=EnergySettings(recharge_per_minute=1_000_000),
        cache={"enabled": False},
        sandbox={"max_timeout_ms": 60_000},
    )
    return MotorCortex(settings, toolbox=toolbox, owner=Approves())


async def hybrid(home: Path, rounds: int, report: Report) -> None:
    """Two tools in parallel, code, a decision that is answered at once, and a tool."""
    box = Toolbox()

    @box.tool(name="repo.commits", description="Commits.")
    async def commits() -> list[dict[str, str]]:
        await anyio.sleep(TOOL_S)
        return [{"author": f"author {n % 7}"} for n in range(100)]

    @box.tool(name="repo.post", description="Posts a text.")
    async def post(text: str) -> str:
        await anyio.sleep(TOOL_S)
        return text

    call = {"type": "mcp_tool", "tool": "repo.commits", "idempotent": True}
    plan = checked(
        {
            "name": "hybrid",
            "tasks": [
                {"id": "list", **call},
                {"id": "other", **call},
                {"id": "group", "type": "code_execution", "code": GROUPS, "dependencies": ["list", "other"]},
                {"id": "sure", "type": "decision", "ask": "Post it?", "dependencies": ["group"]},
                {
                    "id": "post",
                    "type": "mcp_tool",
                    "tool": "repo.post",
                    "arguments": {"text": "${group.text}"},
                    "dependencies": ["sure", "group"],
                },
            ],
        }
    )
    async with opened(home, box) as cortex:

        async def in_a_run() -> None:
            run = await cortex.workflows.start(plan)
            assert (await cortex.workflows.wait(run.id)).ok

        async def directly() -> None:
            found: list[list[dict[str, str]]] = []

            async def take() -> None:
                found.append(await commits())

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(take)
                tasks.start_soon(take)
            given = {"purpose": "group", "code": GROUPS, "context": {"list": found[0]}}
            async with cortex.turn() as turn:
                text = await turn.call("core.execute", given)
            assert (await Approves().decide(Question("decision", {}, "workflow"))).allowed
            assert await post(text) == text

        taken = await interleaved({"run": in_a_run, "direct": directly}, rounds, lambda: anyio.sleep(0.05))
    ours = p50(taken["run"])
    report(Row("a hybrid of 5 tasks, tools of 20 ms", ours, p50(taken["direct"]), "ms", 2.5, "the same calls directly"))
    report(Row("  what the run adds to them", ours - p50(taken["direct"]), 50, "ms", math.inf, "50 ms"))
    report(Row("  the run, p95", p95(taken["run"]), 3_000, "ms", 1.0, "limit"))


async def aborted(home: Path, rounds: int, report: Report) -> None:
    """From the call of `abort` until the process that runs the code is gone."""
    plan = checked({"name": "spins", "tasks": [{"id": "a", "type": "code_execution", "code": "while (true) {}"}]})
    taken: list[float] = []
    async with opened(home) as cortex:
        flows = cortex.workflows
        for _ in range(rounds):
            run = await flows.start(plan)
            pid = await spinning()
            handle = os.pidfd_open(pid)
            began = time.perf_counter()
            await flows.abort(run.id, "enough", by="bench")
            await anyio.to_thread.run_sync(select.select, [handle], [], [])
            taken.append((time.perf_counter() - began) * 1000)
            os.close(handle)
    report(Row("abort to a dead process, p50", p50(taken), 250, "ms", 1.0, "limit"))
    report(Row("  the slowest of them", max(taken), 500, "ms", 1.0, "limit"))


async def spinning() -> int:
    """The process of this program's that computes: it uses more of the processor than the others."""
    while True:
        before = {pid: cpu_ticks(pid) for pid in descendants(os.getpid())}
        await anyio.sleep(0.3)
        used = {pid: cpu_ticks(pid) - ticks for pid, ticks in before.items()}
        found = max(used, key=lambda pid: used[pid], default=0)
        if used.get(found, 0) >= 5:
            return found


def cpu_ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


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
