"""Closing a runtime while it is cancelled: at every await of closing, nothing is left and the cancellation goes on."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any

import anyio
import pytest

from sandbox import DenoRuntime
from tests.conftest import descendants, descriptors, small
from tests.sandbox.test_ends import alive, denos, wait_until

pytestmark = pytest.mark.deno

MOST_WAITS = 100


class Cancelling:
    """Cancels the task that awaits `through`, as asyncio does, when it comes to wait for the n-th time."""

    def __init__(self, at: set[int]) -> None:
        self.at = at
        self.waits = 0

    @types.coroutine
    def through(self, coroutine: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        task = asyncio.current_task()
        step = lambda: coroutine.send(None)  # noqa: E731
        while True:
            try:
                future = step()
            except StopIteration as end:
                return end.value
            self.waits += 1
            if self.waits in self.at:
                task.cancel()
            try:
                value = yield future
            except BaseException as error:  # noqa: BLE001 - it goes on in there
                step = lambda error=error: coroutine.throw(error)  # noqa: E731
            else:
                step = lambda value=value: coroutine.send(value)  # noqa: E731


async def closed_while_cancelled(at: set[int]) -> int:
    """How often closing waited. It is cancelled at these of its waits."""
    cancelling = Cancelling(at)
    descriptors_before, processes_before, tasks_before = descriptors(), set(descendants()), asyncio.all_tasks()

    async def use() -> None:
        runtime = DenoRuntime(small(pool_size=2, require=()))
        await runtime.__aenter__()
        processes.update(denos())
        await cancelling.through(runtime.__aexit__(None, None, None))

    processes: set[int] = set()
    task = asyncio.ensure_future(use())
    with anyio.fail_after(60):
        await asyncio.wait([task])
    assert task.cancelled() == (min(at) <= cancelling.waits), f"{at}: {task}"
    assert asyncio.all_tasks() <= tasks_before, at
    assert set(descendants()) <= processes_before, at
    assert processes
    assert await wait_until(lambda: not any(map(alive, processes))), at
    assert descriptors() <= descriptors_before, at
    return cancelling.waits


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("has_launcher", [True, False])
@pytest.mark.parametrize("again", [False, True], ids=["once", "twice"])
async def test_a_cancellation_from_asyncio_itself_at_any_wait_leaves_nothing(has_launcher, again, monkeypatch):
    if not has_launcher:
        monkeypatch.setattr("sandbox.wall.wall.can_fork_serve", lambda: False)
    for at in range(1, MOST_WAITS):
        if await closed_while_cancelled({at, at + 1} if again else {at}) < at:
            assert at > 2
            return
    raise AssertionError("closing has no end")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.usefixtures("nothing_left")
async def test_a_timeout_of_asyncio_stays_one():
    async def close() -> None:
        async with asyncio.timeout(None) as timeout:
            runtime = DenoRuntime(small())
            await runtime.__aenter__()
            timeout.reschedule(0)
            await runtime.__aexit__(None, None, None)

    with pytest.raises(TimeoutError):
        await close()


@pytest.mark.usefixtures("nothing_left")
async def test_who_is_cancelled_does_not_wait_for_news_that_nobody_hears(monkeypatch):
    """The runtime's own tasks are cancelled with its user: no task listens to the launcher any more."""
    monkeypatch.setattr(
        "sandbox.process.fork_server.CLOSING_TIMEOUT_S", 60
    )  # far more than closing takes on a busy machine
    async with anyio.create_task_group() as tasks:

        async def use() -> None:
            async with DenoRuntime(small(pool_size=2)):
                opened.set()
                await anyio.sleep_forever()

        opened = anyio.Event()
        tasks.start_soon(use)
        await opened.wait()
        tasks.cancel_scope.cancel()
        began = anyio.current_time()
    assert anyio.current_time() - began < 60
