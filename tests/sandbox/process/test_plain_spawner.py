"""PlainSpawner, which starts Deno without the launcher: a start that is cancelled or refused leaves nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading

import anyio
import anyio.to_thread
import pytest

from sandbox.contracts.errors import NothingMayRun
from sandbox.process.command import deno_command, find_deno
from sandbox.process.process import PlainSpawner
from sandbox.process.process_notes import Running
from tests.conftest import small


class SlowPopen:
    """Starts processes only when `go_on` is set, and keeps them."""

    def __init__(self) -> None:
        self.began, self.go_on = threading.Event(), threading.Event()
        self.started: list[subprocess.Popen[bytes]] = []
        self._popen = subprocess.Popen

    def __call__(self, *arguments, **options):
        self.began.set()
        assert self.go_on.wait(60)
        self.started.append(self._popen(*arguments, **options))
        return self.started[-1]


@pytest.fixture
def popen(monkeypatch) -> SlowPopen:
    slow = SlowPopen()
    monkeypatch.setattr("sandbox.process.process.subprocess.Popen", slow)
    return slow


def spawner_in(tasks: anyio.abc.TaskGroup, running: Running) -> PlainSpawner:
    settings = small()
    return PlainSpawner(deno_command(find_deno(settings), settings), tasks, running)


async def cancel_a_start(popen: SlowPopen, running: Running, times: int) -> None:
    async with anyio.create_task_group() as tasks:
        start = asyncio.create_task(spawner_in(tasks, running).start())
        await anyio.to_thread.run_sync(popen.began.wait)
        for _ in range(times):
            start.cancel()
            await anyio.sleep(0.05)
        assert not start.done()  # its pipes are still open: the thread is about to use them
        popen.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await start


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("times", [1, 2])
def test_a_start_that_asyncio_cancels_leaves_neither_process_nor_note(popen, tmp_path, times):
    before = sorted(os.listdir("/proc/self/fd"))
    asyncio.run(cancel_a_start(popen, Running(tmp_path), times))
    assert [process.returncode for process in popen.started] == [-signal.SIGKILL]
    assert list(tmp_path.iterdir()) == []
    assert sorted(os.listdir("/proc/self/fd")) == before


@pytest.mark.usefixtures("nothing_left")
async def test_a_process_that_may_not_run_once_it_has_started_leaves_no_note(popen, tmp_path):
    popen.go_on.set()
    # Allowed before the start and before the note; forbidden by the check after the note.
    answers = iter([None, None, "killed"])
    async with anyio.create_task_group() as tasks:
        with pytest.raises(NothingMayRun, match="killed"):
            await spawner_in(tasks, Running(tmp_path, lambda _: next(answers))).start()
    assert [process.returncode for process in popen.started] == [-signal.SIGKILL]
    assert list(tmp_path.iterdir()) == []
