"""The dispatcher of one process: order, times, places, and runs that are submitted twice."""

from __future__ import annotations

import anyio
import pytest

from cortex.workflows import DispatchFull, InProcess, dispatch


class Handler:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.gates: dict[str, anyio.Event] = {}
        self.at_once = self.most_at_once = 0

    async def handle(self, run: str) -> None:
        self.seen.append(run)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if run in self.gates:
                await self.gates[run].wait()
            if run == "bad":
                raise RuntimeError("broken")
        finally:
            self.at_once -= 1

    async def until(self, *seen: str) -> None:
        with anyio.fail_after(20):
            while self.seen != list(seen):
                await anyio.sleep(0.005)


async def test_runs_come_in_the_order_of_priority_and_each_once():
    handler, queue = Handler(), InProcess()
    for run, priority in (("a", 0), ("b", 5), ("a", 0), ("c", 5), ("bad", 9)):
        await queue.submit(run, at=0.0, priority=priority)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.work, handler.handle, 1)
        await handler.until("bad", "b", "c", "a")
        assert handler.most_at_once == 1
        tasks.cancel_scope.cancel()


async def test_a_run_that_is_due_later_waits_for_its_time():
    clock = [100.0]
    handler, queue = Handler(), InProcess(lambda: clock[0])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.work, handler.handle, 2)
        await queue.submit("late", at=160.0)
        await queue.submit("now")
        await handler.until("now")
        clock[0] = 161.0
        await handler.until("now", "late")
        await queue.submit("moved", at=500.0)
        await queue.submit("moved")  # the earlier time counts
        await handler.until("now", "late", "moved")
        tasks.cancel_scope.cancel()


async def test_a_run_is_not_handled_twice_at_once_but_once_more():
    handler, queue = Handler(), InProcess()
    handler.gates["a"] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.work, handler.handle, 4)
        await queue.submit("a")
        await handler.until("a")
        await queue.submit("a")
        await queue.submit("b")
        await handler.until("a", "b")
        handler.gates["a"].set()
        await handler.until("a", "b", "a")
        assert handler.most_at_once <= 2
        tasks.cancel_scope.cancel()


async def test_an_abort_ends_what_is_handled_and_forgets_what_waits():
    handler, queue = Handler(), InProcess()
    handler.gates["a"] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.work, handler.handle, 1)
        await queue.submit("a")
        await handler.until("a")
        await queue.submit("b")
        await queue.abort("b")
        await queue.submit("a")
        with anyio.fail_after(20):
            await queue.abort("a")
        assert handler.at_once == 0
        await queue.submit("c")
        await handler.until("a", "c")
        await queue.abort("never")
        tasks.cancel_scope.cancel()


async def test_the_queue_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dispatch, "MAX_QUEUED", 3)
    queue = InProcess()
    for number in range(3):
        await queue.submit(f"r{number}")
    with pytest.raises(DispatchFull, match="3 runs wait"):
        await queue.submit("r4")
    for _ in range(20):
        await queue.submit("r1", at=-float(_))
    assert len(queue._heap) <= 7
