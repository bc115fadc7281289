"""The pool: its decisions as a pure function, and its life with real processes."""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path

import anyio
import pytest
from hypothesis import given, strategies as st

from sandbox import DenoRuntime, ExecutionRequest, SandboxUnavailable
from sandbox.process.command import find_deno
from sandbox.run.pool import PoolState, starts_needed
from tests.conftest import small, without_descriptors
from tests.sandbox.test_ends import denos, wait_until

ONE = ExecutionRequest(code="return 1")


def state(**changes) -> PoolState:
    return PoolState(**{"size": 4, "ready": 0, "starting": 0, "waiting": 0, "max_starting": 2, **changes})


@pytest.mark.parametrize(
    ("changes", "starts"),
    [
        ({}, 2),
        ({"ready": 3}, 1),
        ({"ready": 4}, 0),
        ({"starting": 1}, 1),
        ({"starting": 2}, 0),
        ({"waiting": 1}, 1),
        ({"waiting": 9}, 2),
        ({"size": 0}, 0),
        ({"size": 0, "waiting": 3}, 2),
        ({"size": 0, "waiting": 1, "starting": 1}, 0),
        ({"may_refill": False}, 0),
        ({"may_refill": False, "waiting": 1}, 1),
    ],
)
def test_as_many_are_started_as_are_missing(changes, starts):
    assert starts_needed(state(**changes)) == starts


counts = st.integers(0, 50)


@given(counts, counts, counts, counts, st.integers(1, 8), st.booleans())
def test_no_plan_starts_too_many(size, ready, starting, waiting, max_starting, may_refill):
    starts = starts_needed(PoolState(size, ready, starting, waiting, max_starting, may_refill))
    assert starts >= 0
    assert starting + starts <= max(max_starting, starting)
    assert ready + starting + starts <= max(size, waiting, ready + starting)


pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.mark.deno
async def test_a_warm_process_is_handed_out_and_replaced():
    async with DenoRuntime(small(pool_size=2)) as runtime:
        assert await wait_until(lambda: runtime._pool.ready == 2)
        warm = denos()
        outcome = await runtime.execute(ExecutionRequest(code="return Deno.pid"))
        assert outcome.result in warm
        assert await wait_until(lambda: runtime._pool.ready == 2 and len(denos()) == 2)
        assert denos() != warm


@pytest.mark.deno
async def test_every_execution_has_a_process_of_its_own():
    async with DenoRuntime(small()) as runtime:
        pids = [(await runtime.execute(ExecutionRequest(code="return Deno.pid"))).result for _ in range(5)]
    assert len(set(pids)) == 5


@pytest.mark.deno
async def test_a_pool_of_none_starts_a_process_for_each():
    async with DenoRuntime(small(pool_size=0)) as runtime:
        assert await wait_until(lambda: denos() == set())  # that of the self-test may not be gone yet
        outcome = await runtime.execute(ONE)
        assert outcome.result == 1
        assert outcome.metrics.startup_ms > 5
        assert await wait_until(lambda: denos() == set())


@pytest.mark.deno
async def test_a_burst_beyond_the_pool_starts_more():
    async with DenoRuntime(small(pool_size=1)) as runtime:
        outcomes = []

        async def run() -> None:
            outcomes.append(await runtime.execute(ONE))

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(run)
    assert [outcome.result for outcome in outcomes] == [1] * 8


@pytest.mark.deno
async def test_no_more_processes_are_started_at_once_than_the_setting_says():
    async with DenoRuntime(small(pool_size=0, max_starting=1)) as runtime:
        most = 0

        async def run() -> None:
            assert (await runtime.execute(ONE)).result == 1

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(run)
            for _ in range(20):
                await anyio.sleep(0.005)
                most = max(most, runtime._pool._starting)
    assert most == 1


@pytest.mark.deno
async def test_a_waiting_process_that_dies_is_replaced_and_never_handed_out():
    async with DenoRuntime(small(pool_size=2)) as runtime:
        assert await wait_until(lambda: runtime._pool.ready == 2)
        dead = denos()
        for pid in dead:
            os.kill(pid, signal.SIGKILL)
        assert await wait_until(lambda: runtime._pool.ready == 2 and len(denos()) == 2 and not denos() & dead)
        outcome = await runtime.execute(ExecutionRequest(code="return Deno.pid"))
        assert outcome.result not in dead


@pytest.mark.deno
async def test_a_process_that_speaks_unasked_is_never_handed_out():
    async with DenoRuntime(small(pool_size=1)) as runtime:
        assert await wait_until(lambda: runtime._pool.ready == 1)
        worker = runtime._pool._ready[0]
        os.write(worker.process.stdin, b"this is no frame\n")  # the guest throws and ends, or says something
        assert await wait_until(lambda: not worker.is_waiting())
        outcome = await runtime.execute(ExecutionRequest(code="return Deno.pid"))
        assert outcome.ok
        assert outcome.result != worker.process.pid


@pytest.mark.deno
async def test_a_process_that_is_too_old_is_recycled():
    async with DenoRuntime(small(pool_size=1, max_worker_age_s=1)) as runtime:
        assert await wait_until(lambda: runtime._pool.ready == 1)
        first = denos()
        assert await wait_until(lambda: bool(denos()) and not denos() & first)


@pytest.mark.deno
async def test_an_old_process_is_not_handed_out_even_before_it_is_recycled():
    async with DenoRuntime(small(pool_size=1)) as runtime:
        pool = runtime._pool
        pool._ready[0].ready_at -= 10_000
        old = pool._ready[0].process.pid
        outcome = await runtime.execute(ExecutionRequest(code="return Deno.pid"))
        assert outcome.result != old


def script(path, text: str):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("pool_size", [0, 1])
async def test_a_deno_that_is_missing_is_one_clear_error(tmp_path, pool_size):
    with pytest.raises(SandboxUnavailable, match=r'Cannot start Deno: no executable at ".*nowhere"; install it with'):
        async with DenoRuntime(small(pool_size=pool_size, deno_path=tmp_path / "nowhere")):
            pass


async def test_a_deno_that_is_not_executable_is_one_clear_error(tmp_path):
    (tmp_path / "deno").write_text("x")
    with pytest.raises(SandboxUnavailable, match="is not executable; run chmod"):
        async with DenoRuntime(small(deno_path=tmp_path / "deno")):
            pass


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "echo 'error: unexpected argument --deny-import' >&2; exit 1",
            "Cannot start Deno: error: unexpected argument",
        ),
        ("exit 0", "Cannot start Deno: it ended without a word"),
        ("echo 'hello'; sleep 30", "Cannot start Deno: a line that is not JSON"),
        ('echo \'{"type":"__ready__","protocol":99,"deno":"x"}\'; sleep 30', "Cannot use this Deno"),
        ("sleep 30", "it was not ready within 300 ms"),
    ],
)
async def test_something_else_in_place_of_deno_is_one_clear_error(tmp_path, text, message):
    deno = script(tmp_path / "deno", text)
    # What says something, or ends, may take its time on a busy machine.
    start_timeout_ms = 300 if "300 ms" in message else 60_000
    with pytest.raises(SandboxUnavailable, match=message):
        async with DenoRuntime(small(deno_path=deno, start_timeout_ms=start_timeout_ms)):
            pass


async def test_a_file_that_the_system_cannot_run_is_one_clear_error(tmp_path):
    deno = tmp_path / "deno"
    deno.write_bytes(b"\x7fELFnot really")
    deno.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match="Cannot start Deno"):
        async with DenoRuntime(small(deno_path=deno)):
            pass


def breakable_deno(folder: Path) -> tuple[Path, Path, Path]:
    """A Deno that fails while the second path exists, and notes each start in the third. A script that starts
    something else is what a part of the wall stops, so that it works only where that part is not required."""
    switch, attempts = folder / "broken", folder / "attempts"
    text = f'echo x >> {attempts}; [ -e {switch} ] && exit 3; exec {find_deno(small())} "$@"'
    return script(folder / "deno", text), switch, attempts


@pytest.mark.deno
async def test_a_start_that_fails_later_is_an_outcome_and_the_runtime_goes_on(tmp_path):
    deno, switch, _ = breakable_deno(tmp_path)
    async with DenoRuntime(small(pool_size=0, deno_path=deno, require=())) as runtime:
        switch.touch()
        for _ in range(2):
            outcome = await runtime.execute(ONE)
            assert outcome.refused
            assert "Cannot start Deno" in outcome.error.message
        switch.unlink()
        assert (await runtime.execute(ONE)).result == 1


@pytest.mark.deno
async def test_a_failing_start_is_retried_with_patience_and_not_in_a_loop(tmp_path):
    deno, switch, attempts = breakable_deno(tmp_path)
    async with DenoRuntime(small(pool_size=1, deno_path=deno, require=())) as runtime:
        before = len(attempts.read_text().splitlines())
        switch.touch()
        began = anyio.current_time()
        assert (await runtime.execute(ONE)).result == 1  # takes the waiting one; the refill fails
        await anyio.sleep(0.8)
        tries = len(attempts.read_text().splitlines()) - before
        # The first at once, the second a second later, the third two seconds after that, and so on.
        assert tries <= 2 + math.log2(1 + anyio.current_time() - began)
        switch.unlink()
        assert (await runtime.execute(ONE)).result == 1


@pytest.mark.deno
async def test_the_place_of_a_long_run_is_filled_while_it_goes_on():
    async with DenoRuntime(small(pool_size=1)) as runtime, anyio.create_task_group() as tasks:
        assert await wait_until(lambda: runtime._pool.ready == 1)
        tasks.start_soon(runtime.execute, ExecutionRequest(code="while (true) {}", timeout_ms=60_000))
        assert await wait_until(lambda: runtime._pool.ready == 0)
        assert await wait_until(lambda: runtime._pool.ready == 1)
        tasks.cancel_scope.cancel()


@pytest.mark.deno
async def test_a_host_without_descriptors_gets_a_refusal_and_keeps_its_runtime():
    async with DenoRuntime(small(pool_size=0)) as runtime:
        assert (await runtime.execute(ONE)).result == 1
        with without_descriptors():
            outcome = await runtime.execute(ONE)
        assert outcome.refused
        assert "Too many open files" in outcome.error.message
        assert (await runtime.execute(ONE)).result == 1


@pytest.mark.deno
async def test_a_runtime_cannot_be_opened_twice_at_once():
    async with DenoRuntime(small(pool_size=0)) as runtime:
        with pytest.raises(RuntimeError, match="open already"):
            await runtime.__aenter__()
        assert (await runtime.execute(ONE)).result == 1
    async with runtime:
        assert (await runtime.execute(ONE)).result == 1
