"""Runs that are stopped from outside, and runs on both event loops."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from cortex import Toolbox
from tests.conftest import descendants
from tests.cortex.workflows.support import LIMIT_S, code, cortex, plan, tool, until

SPINS = plan(code("first", "return 1"), code("spins", "while (true) {}", "first"), code("then", "return 2", "spins"))


def command(*words: str) -> None:
    program = [sys.executable, "-c", "from cortex.commands import main; main()", *words]
    subprocess.run(program, check=True, capture_output=True, timeout=60)


async def test_the_kill_switch_of_another_process_ends_every_process_of_a_run(tmp_path: Path):
    async with cortex(tmp_path) as place:
        flows = place.workflows
        run = await flows.start(SPINS)
        with anyio.fail_after(LIMIT_S):
            while "first" not in flows.show(run.id).tasks:
                await anyio.sleep(0.02)
        await anyio.sleep(0.3)
        before = set(descendants())
        assert before
        await anyio.to_thread.run_sync(command, "kill", "--home", str(tmp_path), "--reason", "enough")
        row = await until(flows, run.id, "aborted")
        assert "enough" in row.reason
        with anyio.fail_after(LIMIT_S):
            # A process that is dead and not reaped yet has no command line any more.
            while any(alive for pid, alive in descendants().items() if pid in before):
                await anyio.sleep(0.02)
        place.switch.turn_off("go on", "ann")
        await anyio.sleep(0.8)
        state = flows.show(run.id)
        assert (state.run.status, {*state.tasks}) == ("aborted", {"first"})
        assert not flows._dispatch.is_handled(run.id)


def test_both_event_loops_lead_to_the_same_results_in_the_same_order(tmp_path: Path):
    """Tasks of a layer end in another order than that of the plan."""
    slow = "await new Promise((done) => setTimeout(done, {0})); return {{ n: {0}, state: {{ last: {0} }}, messages: [{0}] }}"
    steps = plan(
        *(code(f"t{n}", slow.format(n)) for n in (400, 200, 0)),
        code("all", "return [context.last, context.t0.n, context.t200.n]", "t400", "t200", "t0"),
        code("fails", "throw new Error('no')", on_error="continue", retries=0),
    )

    async def main(home: Path) -> str:
        async with cortex(home) as place:
            run = await place.workflows.start(steps, id="r1")
            with anyio.fail_after(LIMIT_S):
                result = await place.workflows.wait(run.id)
            tasks = {id_: (row.status, row.result, row.input_hash) for id_, row in result.tasks.items()}
            checkpoints = [dict(event.data) async for event in place.workflows.events("r1") if "saved" in event.kind]
            return json.dumps([tasks, dict(result.state), checkpoints], sort_keys=False)

    found = {
        backend: anyio.run(main, tmp_path / backend, backend=backend, backend_options={})
        for backend in ("asyncio", "trio")
    }
    assert found["asyncio"] == found["trio"]
    assert '"last": 0' in found["trio"]
    assert '"messages": [400, 200, 0]' in found["trio"]


async def test_a_result_over_a_megabyte_lies_in_a_file_of_the_home_and_one_that_is_too_long_is_an_error(tmp_path: Path):
    box = Toolbox()

    @box.tool(name="text.of", description="A text.")
    def text(length: int) -> str:
        return "x" * length

    sizes = {"one": 1_000_000, "more": 1_500_000, "most": 20_000_000}
    steps = plan(*(tool(id_, "text.of", arguments={"length": n}, on_error="continue") for id_, n in sizes.items()))
    async with cortex(tmp_path, toolbox=box) as place:
        run = await place.workflows.start(steps)
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(run.id)
    assert len(result.tasks["one"].result) == 1_000_000
    assert len(result.tasks["more"].result) == 1_500_000
    assert (result.tasks["most"].status, result.tasks["most"].result) == ("failed", None)
    assert [path.stat().st_size for path in (tmp_path / "workflows" / "results").iterdir()] == [1_500_002]


@pytest.mark.parametrize("trouble", ["busy", "unreadable"])
async def test_the_kill_switch_ends_a_run_for_good_also_when_the_journal_is_in_trouble(tmp_path: Path, trouble: str):
    box, begun, ended = Toolbox(), anyio.Event(), anyio.Event()
    calls: list[str] = []

    @box.tool(name="bank.pay", description="Pays.")
    async def pay(text: str) -> str:
        calls.append(text)
        begun.set()
        try:
            await anyio.sleep(LIMIT_S)
        finally:
            ended.set()
        return text

    async with cortex(tmp_path, toolbox=box, tools={"call_timeout_ms": 60_000}) as place:
        flows = place.workflows
        await flows.start(plan(tool("old", "bank.pay", arguments={"text": "old"})), id="old", by="agent")
        await until(flows, "old", "waiting")
        await flows.start(plan(tool("pay", "bank.pay", arguments={"text": "new"}, idempotent=True)), id="new")
        with anyio.fail_after(LIMIT_S):
            await begun.wait()
        with closing(sqlite3.connect(tmp_path / "workflows" / "journal.sqlite", isolation_level=None)) as db:
            if trouble == "unreadable":
                db.execute("update plan set text = '{}' where run = 'old'")
                db.execute("update run set status = 'running', lease_until = 1e12 where id = 'old'")
                flows._mine.pop("old")
            else:
                db.execute("begin immediate")
            place.switch.turn_on("enough", "ann")
            with anyio.fail_after(2):
                await ended.wait()
            if trouble == "busy":
                db.execute("rollback")
        assert (await until(flows, "new", "aborted")).reason
        place.switch.turn_off("go on", "ann")
        await anyio.sleep(0.8)
        assert (calls, flows.show("new").run.status) == (["new"], "aborted")


async def test_nothing_of_a_layer_starts_any_more_soon_after_another_process_has_aborted_the_run(tmp_path: Path):
    box = Toolbox()
    calls: list[float] = []

    @box.tool(name="bank.pay", description="Pays.")
    async def pay() -> None:
        calls.append(time.monotonic())
        await anyio.sleep(0.1)

    async with cortex(tmp_path, toolbox=box) as place:
        flows = place.workflows
        flows.lease_s = 60.0  # it is not the end of the lease that tells the leader
        await flows.start(plan(*(tool(f"pay{n}", "bank.pay") for n in range(150))), id="r1")
        with anyio.fail_after(LIMIT_S):
            while len(calls) < 3:
                await anyio.sleep(0.01)
        await anyio.to_thread.run_sync(command, "workflow", "abort", "r1", "--home", str(tmp_path))
        await anyio.sleep(0.8)
        count = len(calls)
        await anyio.sleep(0.5)
        assert len(calls) == count < 150
        assert flows.show("r1").run.status == "aborted"
