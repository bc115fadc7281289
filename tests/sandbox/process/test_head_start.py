"""The head start: a runtime with the same order takes it once, otherwise it is ended."""

from __future__ import annotations

import os
import signal

import anyio
import pytest

from sandbox import DenoRuntime, ExecutionRequest, HeadStart, SandboxUnavailable
from tests.conftest import descendants, small
from tests.sandbox.test_ends import denos, wait_until

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]

COLD = small(pool_size=0)
SPIN = ExecutionRequest(code="while (true) {}", timeout_ms=60_000)
ONE = ExecutionRequest(code="return 1")


async def the_one_deno() -> int:
    """The only Deno process, once it is settled: for a moment an ending process may still be seen, and a starting one
    may have no name yet."""
    looks: list[set[int]] = []

    def is_settled() -> bool:
        looks.append(denos())
        return len(looks[-1]) == 1 and looks[-10:] == [looks[-1]] * 10

    assert await wait_until(is_settled)
    return looks[-1].pop()


async def test_the_first_run_gets_the_process_that_was_started_ahead():
    async with DenoRuntime(COLD):
        pass  # whose first run may have been the self-test, which is remembered now
    with HeadStart() as head_start:
        head_start.order(COLD)
        ahead = await the_one_deno()
        async with DenoRuntime(COLD, head_start=head_start) as runtime, anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.execute, SPIN)
            assert await wait_until(lambda: runtime._spawner._ahead is None)
            assert await the_one_deno() == ahead
            # And the second one a process of its own.
            assert (await runtime.execute(ONE)).result == 1
            tasks.cancel_scope.cancel()


async def test_a_head_start_runs_behind_the_same_wall_and_within_the_same_limits():
    async with DenoRuntime(COLD) as runtime:
        wall = runtime.wall
    with HeadStart() as head_start:
        head_start.order(COLD)
        async with DenoRuntime(COLD, head_start=head_start) as runtime:
            outcome = await runtime.execute(ExecutionRequest(code="return new Uint8Array(600 << 20).fill(1).length"))
    assert runtime.wall.held == wall.held
    assert outcome.error is not None


async def test_a_runtime_that_wants_something_else_starts_as_ever():
    with HeadStart() as head_start:
        head_start.order(COLD)
        other = small(pool_size=0, max_heap_mb=64)
        async with DenoRuntime(other, head_start=head_start) as runtime:
            assert runtime._spawner._ahead is None
            assert (await runtime.execute(ONE)).result == 1


async def test_a_head_start_is_taken_once():
    with HeadStart() as head_start:
        head_start.order(COLD)
        for _ in range(2):
            async with DenoRuntime(COLD, head_start=head_start) as runtime:
                assert (await runtime.execute(ONE)).result == 1


async def test_a_process_that_died_meanwhile_is_not_given_to_a_run():
    async with DenoRuntime(COLD):
        pass  # as above: the process of the self-test must not be mistaken for the head start's
    with HeadStart() as head_start:
        head_start.order(COLD)
        os.kill(await the_one_deno(), signal.SIGKILL)
        async with DenoRuntime(COLD, head_start=head_start) as runtime:
            assert await wait_until(lambda: runtime._spawner._ahead is None)
            assert (await runtime.execute(ONE)).result == 1


async def test_a_runtime_that_runs_nothing_ends_it():
    with HeadStart() as head_start:
        head_start.order(COLD)
        async with DenoRuntime(COLD, head_start=head_start):
            pass


@pytest.mark.parametrize("ordered", [True, False])
def test_a_head_start_that_no_runtime_takes_is_ended(ordered):
    with HeadStart() as head_start:
        if ordered:
            head_start.order(COLD)


def test_an_exception_ends_the_head_start():
    def fail() -> None:
        with HeadStart() as head_start:
            head_start.order(COLD)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


async def test_without_an_order_the_runtime_starts_as_ever():
    with HeadStart() as head_start:
        async with DenoRuntime(COLD, head_start=head_start) as runtime:
            assert (await runtime.execute(ONE)).result == 1


async def test_what_goes_wrong_is_said_by_the_runtime(tmp_path):
    nowhere = small(pool_size=0, deno_path=tmp_path / "deno")
    with HeadStart() as head_start:
        head_start.order(nowhere)
        head_start.order(nowhere)
        with pytest.raises(SandboxUnavailable, match="no executable at"):
            async with DenoRuntime(nowhere, head_start=head_start):
                pass


async def test_a_launcher_that_died_meanwhile_is_replaced():
    with HeadStart() as head_start:
        head_start.order(COLD)
        head_start._launcher.kill()
        async with DenoRuntime(COLD, head_start=head_start) as runtime:
            assert (await runtime.execute(ONE)).result == 1


async def test_where_there_is_no_launcher_there_is_no_head_start(monkeypatch):
    monkeypatch.setattr("sandbox.process.early_start.can_fork_serve", lambda: False)
    before = set(descendants())
    with HeadStart() as head_start:
        head_start.order(COLD)
        assert set(descendants()) == before
        assert head_start.take(b"") is None
