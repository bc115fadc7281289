"""A cancelled commit: when its caller goes on, it has happened or not, and the caller knows which."""

from __future__ import annotations

import asyncio
import threading
from contextlib import nullcontext

import anyio
import anyio.to_thread
import pytest

from sandbox.contracts.changes import Changes
from sandbox.contracts.errors import SandboxError
from sandbox.contracts.threads import to_the_end
from sandbox.workspace import WorkspaceError, transaction
from sandbox.workspace.commit import commit

from .support import Files


class Slow:
    """A commit that waits until the test lets it go on."""

    def __init__(self, *, fails: bool = False) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self._fails = fails

    def __call__(self, *arguments: object) -> None:
        self.begun.set()
        assert self.go_on.wait(60)
        if self._fails:
            raise WorkspaceError("Cannot commit; nothing has changed")
        commit(*arguments)

    async def wait(self) -> None:
        with anyio.fail_after(60):
            while not self.begun.is_set():
                await anyio.sleep(0.001)


@pytest.fixture(params=[False, True], ids=["works", "fails"])
def slow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Slow:
    made = Slow(fails=request.param)
    monkeypatch.setattr(transaction, "commit", made)
    return made


async def changed(folder) -> Changes:
    run = Files(folder)
    await run.write("a.txt", b"new")
    return run.changes()


def assert_true(changes: Changes, folder) -> None:
    """What the changes say is what the folder says, and stays so."""
    if (folder / "a.txt").read_bytes() == b"new":
        assert changes.state == "committed"
        with pytest.raises(SandboxError, match="already committed"):
            changes.rollback()
    else:
        assert changes.state == "open"
        changes.rollback()


async def test_a_cancelled_scope_waits_for_the_commit(folder, slow):
    changes = await changed(folder)
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:

            async def cancel() -> None:
                await slow.wait()
                scope.cancel()
                slow.go_on.set()

            tasks.start_soon(cancel)
            with pytest.raises(WorkspaceError) if slow._fails else nullcontext():
                await changes.commit()
    assert_true(changes, folder)
    assert (changes.state == "committed") != slow._fails


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancelled_task_of_asyncio_waits_for_the_commit(folder, slow, times):
    changes = await changed(folder)
    task = asyncio.create_task(changes.commit())
    await slow.wait()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0.03)
        assert not task.done()
        assert changes.state == "being committed"
        with pytest.raises(SandboxError, match="being committed"):
            changes.rollback()
    slow.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert_true(changes, folder)
    assert ((folder / "a.txt").read_bytes() == b"new") != slow._fails


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_timeout_of_asyncio_waits_for_the_commit(folder, slow):
    changes = await changed(folder)
    waiting = asyncio.ensure_future(asyncio.wait_for(changes.commit(), 0.02))
    await slow.wait()
    await asyncio.sleep(0.03)  # from when the other clock runs already: it has rung by then
    assert not waiting.done()
    slow.go_on.set()
    with pytest.raises(TimeoutError):
        await waiting
    assert_true(changes, folder)
    assert ((folder / "a.txt").read_bytes() == b"new") != slow._fails


def test_a_loop_that_ends_waits_for_the_commit(folder, slow):
    made = []

    async def main() -> None:
        made.append(await changed(folder))
        task = asyncio.create_task(made[0].commit())
        await slow.wait()
        threading.Timer(0.05, slow.go_on.set).start()
        assert not task.done()

    asyncio.run(main())
    assert slow.go_on.is_set()
    assert_true(made[0], folder)


async def test_a_commit_that_is_cancelled_before_it_begins_does_not_happen(folder, slow):
    changes = await changed(folder)
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens, before = 1, limiter.total_tokens
    await limiter.acquire_on_behalf_of(slow)
    try:
        with anyio.move_on_after(0.02) as scope:
            await changes.commit()
        assert scope.cancelled_caught
    finally:
        limiter.release_on_behalf_of(slow)
        limiter.total_tokens = before
    assert changes.state == "open"
    assert not slow.begun.is_set()
    changes.rollback()


async def test_a_thread_that_comes_too_late_does_nothing(monkeypatch):
    """It was on its way when the caller gave up, and begins when the caller has gone on."""
    on_its_way = []

    async def late(work: object) -> None:
        on_its_way.append(work)
        await anyio.sleep_forever()

    monkeypatch.setattr(anyio.to_thread, "run_sync", late)
    done = []
    with anyio.move_on_after(0.01):
        await to_the_end(lambda: done.append(1))
    on_its_way[0]()
    assert done == []
