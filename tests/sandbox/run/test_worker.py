"""The reading side of a worker, tested on pipes within this process."""

from __future__ import annotations

import math
import os

import anyio
import anyio.lowlevel
import pytest

from sandbox import DenoRuntime
from sandbox.process.fork_server import ForkServer
from sandbox.process.process import WorkerProcess
from sandbox.run.run_clock import RunClock
from sandbox.run.worker import LINES_AT_ONCE, Worker
from tests.conftest import small

LINES = 1_000


@pytest.fixture
def worker():
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    os.write(theirs, b"".join(b"%d\n" % number for number in range(LINES)) + b"half")
    os.close(theirs)
    process = WorkerProcess(1, -1, ours, -1)
    yield Worker(process, small(), 0.0)
    process.close_pipes()


async def test_lines_that_come_together_are_taken_a_few_at_a_time(worker):
    turns = 0

    async def another() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    heard, reads = [], 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(another)
        while lines := await worker.read(RunClock(math.inf)):
            heard += lines
            reads += 1
        tasks.cancel_scope.cancel()
    assert heard == [b"%d" % number for number in range(LINES)]
    assert reads >= LINES / LINES_AT_ONCE
    assert turns >= reads - 2


async def test_the_deadline_holds_also_between_lines_that_came_together(worker):
    await worker.read(RunClock(math.inf))
    with pytest.raises(TimeoutError):
        await worker.read(RunClock(anyio.current_time()))


@pytest.mark.deno
async def test_a_process_that_is_ready_before_its_number_is_known_is_measured_all_the_same(monkeypatch, nothing_left):
    note = ForkServer._note

    def late(server, event):
        if event["event"] == "started":
            server._tasks.start_soon(later, server, event)
        else:
            note(server, event)

    async def later(server, event):
        await anyio.sleep(0.5)
        note(server, event)

    async with DenoRuntime(small(pool_size=0)) as runtime:
        spawner = runtime._spawner
        monkeypatch.setattr(ForkServer, "_note", late)
        worker = await Worker.start(spawner, small(), anyio.current_time)
        assert worker.process.pid is not None
        assert worker._private_bytes_at_start > 0
        assert worker._cpu_s_at_start is not None
        worker.discard(spawner)
