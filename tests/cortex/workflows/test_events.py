"""The events of runs: all kinds, in their order, each one once, for whoever follows."""

from __future__ import annotations

import gc
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from cortex import Toolbox
from cortex.workflows import (
    Approve,
    MemoryJournal,
    NewEvent,
    NoSuchRun,
    Reject,
    Replan,
    RunRow,
    Saved,
    SqliteJournal,
    Workflows,
)
from sandbox import ErrorType, ExecutionError, ExecutionOutcome
from sandbox.testing import ScriptedRuntime
from tests.cortex.workflows.support import LIMIT_S, asked, code, cortex, decision, plan, tool

MANY = 1_500
FAILED = ExecutionOutcome(ok=False, error=ExecutionError(ErrorType.RUNTIME, "no"))
DONE = ExecutionOutcome(ok=True, result=1)


def toolbox() -> Toolbox:
    found = Toolbox()
    found.tool(name="shop.stock", description="The stock.")(lambda: 1)
    return found


async def test_every_kind_of_event_is_stored_with_its_step_and_announced_once_in_order(tmp_path: Path):
    heard: list[tuple[int, str]] = []
    runtime = ScriptedRuntime([FAILED, DONE, FAILED])
    steps = plan(
        code("work", "return 1"),
        decision("sure", "work", may_replan=True),
        code("bad", "return 2", "sure", retries=0, on_error="continue"),
        decision("no", "bad"),
        tool("never", "shop.stock", "no"),
    )
    async with cortex(tmp_path, runtime=runtime, toolbox=toolbox()) as place:
        flows = place.workflows
        place.subscribe(
            lambda event: heard.append((event.seq, event.event)) if event.kind == "workflow_stepped" else None
        )
        run = (await flows.start(steps)).id
        question = await asked(flows, run, "sure")
        more = Replan(add=plan(tool("more", "shop.stock")).tasks)
        await flows.decide(run, "sure", more, shown_hash=question.shown_hash, by="ann")
        with anyio.fail_after(LIMIT_S):
            while "no" not in flows.show(run).decisions or flows.show(run).run.status != "waiting":
                await anyio.sleep(0.02)
        question = flows.show(run).decisions["no"]
        await flows.decide(run, "no", Reject(), shown_hash=question.shown_hash, by="ann")
        with anyio.fail_after(LIMIT_S):
            told = [(event.seq, event.kind) async for event in flows.events(run)]
        snapshot = place.metrics.snapshot()
    assert [seq for seq, _ in told] == list(range(1, len(told) + 1))
    assert heard == told
    kinds = [kind for _, kind in told]
    assert {
        *("run_queued", "run_started", "run_waiting", "run_resumed", "run_done"),
        *("layer_started", "layer_completed", "checkpoint_saved", "replanned"),
        *("task_started", "task_retried", "task_completed", "task_failed", "task_skipped"),
        *("code_execution_started", "code_execution_completed", "code_execution_failed"),
        *("decision_asked", "decision_answered"),
    } <= {*kinds}
    # As many ends as starts, and each layer that was completed is saved.
    code_kinds = [kind for kind in kinds if kind.startswith("code_execution_")]
    assert code_kinds[::2] == ["code_execution_started"] * 3
    assert code_kinds[1::2] == ["code_execution_failed", "code_execution_completed", "code_execution_failed"]
    assert all(kinds[at + 1] == "checkpoint_saved" for at, kind in enumerate(kinds) if kind == "layer_completed")
    assert snapshot["checkpoint_save_ms"]["count"] == kinds.count("checkpoint_saved")
    assert snapshot["code_execution_total"] == 3
    assert snapshot["code_execution_errors_total"] == {"RuntimeError": 2}


async def followed(flows: Workflows, after: int = 0) -> list[int]:
    with anyio.fail_after(LIMIT_S):
        return [event.seq async for event in flows.events("r1", after)]


def writer(journal, *, until: int, ends: bool = True) -> None:
    """Write events like a process that executes a run: some in each step."""
    claim = journal.claim("r1", "writer", 60, 0.0)
    written = len(journal.events("r1", 0, 10_000))
    while written < until:
        step = [NewEvent("task_completed", {"n": n}, 0.0) for n in range(written, min(until, written + 7))]
        written += len(journal.save(claim, Saved(events=step), 0.0))
    if ends:
        journal.save(claim, Saved(events=[NewEvent("run_done", {}, 0.0)], status="done"), 0.0)


async def test_many_who_follow_get_each_of_many_events_once(tmp_path: Path):
    """From the beginning, from the middle, from behind the end, at their leisure, and not to the end."""
    async with cortex(tmp_path, runtime=ScriptedRuntime([])) as place:
        shared = MemoryJournal()
        flows = Workflows(place.workflows.services, MemoryJournal(shared), place.workflows._files)
        shared.begin(RunRow("r1", plan(decision("a")), ""), [NewEvent("run_queued", {}, 0.0)])
        found: dict[str, list[int]] = {}

        async def follow(name: str, after: int = 0) -> None:
            found[name] = await followed(flows, after)

        async def follow_slowly() -> None:
            seen = found["slow"] = []
            async with aclosing(flows.events("r1")) as events:
                async for event in events:
                    seen.append(event.seq)
                    await anyio.sleep(0)

        with anyio.fail_after(LIMIT_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow, "one")
                tasks.start_soon(follow, "two")
                tasks.start_soon(follow, "middle", 700)
                tasks.start_soon(follow, "beyond", MANY + 500)
                tasks.start_soon(follow_slowly)
                with anyio.move_on_after(0.05):  # one that is cancelled disturbs nobody
                    await followed(flows)
                async with aclosing(flows.events("r1")) as events:  # nor one that leaves
                    await anext(events)
                await anyio.to_thread.run_sync(lambda: writer(shared, until=MANY))
        every = list(range(1, MANY + 2))
        assert found == {"one": every, "two": every, "slow": every, "middle": every[700:], "beyond": []}
        assert await followed(flows, MANY + 1) == []
        gc.collect()
        assert len(flows._news) == 0  # who has followed leaves nothing
        with pytest.raises(NoSuchRun):
            await anext(flows.events("none"))


async def test_one_who_follows_slowly_holds_few_events(tmp_path: Path):
    read: list[int] = []

    class Counting(MemoryJournal):
        def events(self, run: str, after: int = 0, limit: int = 1_000):
            found = super().events(run, after, limit)
            read.append(len(found))
            return found

    async with cortex(tmp_path, runtime=ScriptedRuntime([])) as place:
        journal = Counting()
        flows = Workflows(place.workflows.services, journal, place.workflows._files)
        journal.begin(RunRow("r1", plan(decision("a")), ""), [NewEvent("run_queued", {}, 0.0)])
        writer(journal, until=MANY)
        read.clear()
        async with aclosing(flows.events("r1")) as events:
            await anext(events)
        assert read == [100]


OTHER_PROCESS = """
import sys
from pathlib import Path
from cortex.workflows import SqliteJournal
from tests.cortex.workflows.test_events import writer
journal = SqliteJournal(Path(sys.argv[1]))
writer(journal, until=300)
journal.close()
"""


async def test_events_of_another_process_are_followed(tmp_path: Path):
    async with cortex(tmp_path, runtime=ScriptedRuntime([])) as place:
        flows = place.workflows
        journal: SqliteJournal = flows._journal
        journal.begin(RunRow("r1", plan(decision("a")), ""), [NewEvent("run_queued", {}, 0.0)])
        found: list[list[int]] = []

        async def follow(after: int) -> None:
            found.append(await followed(flows, after))

        with anyio.fail_after(LIMIT_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow, 0)
                tasks.start_soon(follow, 0)
                tasks.start_soon(follow, 150)
                folder = str(journal._file.folder)
                other = [sys.executable, "-c", OTHER_PROCESS, folder]
                done = await anyio.to_thread.run_sync(lambda: subprocess.run(other, check=False))
        assert done.returncode == 0
        assert sorted(map(len, found)) == [151, 301, 301]
        assert all(seqs == list(range(seqs[0], 302)) for seqs in found)


async def test_a_run_that_began_elsewhere_is_not_announced_as_begun_here(tmp_path: Path):
    heard: list[str] = []
    steps = plan(decision("a"))
    async with cortex(tmp_path, runtime=ScriptedRuntime([])) as place:
        place.subscribe(lambda event: heard.append(event.event) if event.kind == "workflow_stepped" else None)
        await place.workflows.start(steps, id="r1")
        question = await asked(place.workflows, "r1", "a")
        await place.workflows.start(steps, id="r1")
        await place.workflows.decide("r1", "a", Approve(), shown_hash=question.shown_hash, by="ann")
        with anyio.fail_after(LIMIT_S):
            await place.workflows.wait("r1")
    assert heard.count("run_queued") == 1
