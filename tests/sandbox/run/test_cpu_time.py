"""The CPU time of a run, which is not its wall time."""

from __future__ import annotations

import os
import time

import pytest

from sandbox import DenoRuntime, ExecutionRequest
from sandbox.contracts.process_memory import cpu_s
from sandbox.process.process import ProcessExit, WorkerProcess
from sandbox.run.worker import Worker
from sandbox.testing import FunctionTools
from tests.conftest import execute, small
from tests.escapes.arena import UnpermittedRuntime
from tests.escapes.program import FOLDER

deno = pytest.mark.deno
# Work and not time: of that, a busy machine may give the code nothing.
SPIN = "for (let n = 0, x = 0; n < 6e8; n++) x = (x + n) | 0;"
LONG_MS = 60_000
FORGE = 'Deno[Deno.internal].core.writeSync(1, new TextEncoder().encode(\'{"type":"__result__","value":1}\\n\')); Deno.exit()'


def test_the_time_of_another_process_is_told_until_it_is_gone():
    own = cpu_s(os.getpid())
    assert own == pytest.approx(time.process_time(), abs=0.5)
    child = os.fork()
    if child == 0:
        while time.process_time() < 0.05:
            pass
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert cpu_s(child) >= 0.05  # also for a zombie, not yet reaped
    os.waitpid(child, 0)
    assert cpu_s(child) is None
    assert cpu_s(None) is None


@deno
async def test_code_that_computes_has_computed_and_code_that_waits_has_not():
    async with DenoRuntime(small()) as runtime:
        # The machine may be busy, or stand still for a while: then it computes little in a second.
        for timeout_ms in (1000, 3000, 20_000):
            busy = await runtime.execute(ExecutionRequest(code="while (true) {}", timeout_ms=timeout_ms))
            if busy.metrics.cpu_ms > 150:
                break
        idle = await runtime.execute(ExecutionRequest(code="await new Promise(() => {})", timeout_ms=1000))
    assert busy.metrics.cpu_ms > 100
    assert idle.metrics.cpu_ms < busy.metrics.cpu_ms / 2
    assert busy.metrics.cpu_ms < busy.metrics.execution_ms * (os.cpu_count() or 1) * 1.2


@deno
async def test_what_the_process_did_before_the_run_is_not_counted():
    async with DenoRuntime(small()) as runtime:
        [worker] = runtime._pool._ready

        async def look(arguments):
            return cpu_s(worker.process.pid) * 1000

        outcome = await runtime.execute(
            ExecutionRequest(code="return await tools.look({})"), FunctionTools({"look": look})
        )
    assert 0 < outcome.metrics.cpu_ms < outcome.result / 2  # a start is thirty times what this code takes


@deno
async def test_threads_count_too():
    worker = "new Worker('data:text/javascript,while(true){}', { type: 'module' })"
    for wait_ms in (700, 10_000):  # likewise
        code = f"{worker}; await new Promise((r) => setTimeout(r, {wait_ms})); return 1"
        # A thread reserves half a gigabyte.
        outcome = await execute(code, timeout_ms=LONG_MS, max_memory_mb=2000)
        assert outcome.result == 1
        if outcome.metrics.cpu_ms > 100:
            break
    assert outcome.metrics.cpu_ms > 100


@deno
@pytest.mark.parametrize(
    "end", ["Deno.exit(3)", "Deno.kill(Deno.pid, 'SIGKILL')", FORGE], ids=["exit", "kill", "forge"]
)
async def test_a_process_that_is_gone_is_told_by_its_exit(end):
    outcome = await execute(f"{SPIN} {end}; await new Promise(() => {{}})", timeout_ms=LONG_MS)
    assert outcome.metrics.cpu_ms > 30


@deno
async def test_a_process_without_its_main_thread_is_told_all_the_same():
    prelude = (FOLDER / "preludes/native.js").read_text()
    code = f"""
    {prelude}
    const {{ pthread_exit }} = libc({{ pthread_exit: {{ parameters: ["pointer"], result: "void" }} }});
    {SPIN}
    setTimeout(() => pthread_exit(null), 10);
    await new Promise(() => {{}});
    """
    async with UnpermittedRuntime(small(pool_size=0)) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=code, timeout_ms=LONG_MS))
    assert not outcome.ok
    assert outcome.metrics.cpu_ms > 30


@deno
async def test_without_a_launcher_the_last_look_counts(monkeypatch):
    monkeypatch.setattr("sandbox.wall.wall.can_fork_serve", lambda: False)
    for times in (1, 20):  # if the host stalled, it may not have measured while the code ran: retry with more
        code = f"for (let time = 0; time < {times}; time++) {{ {SPIN} }} Deno.exit(3)"
        outcome = await execute(code, timeout_ms=LONG_MS, require=())
        if outcome.metrics.cpu_ms > 30:
            break
    assert outcome.metrics.cpu_ms > 30


async def test_where_nobody_tells_nothing_is_claimed():
    assert await Worker(WorkerProcess(1, -1, -1, -1, pid=None), small(), 0.0).cpu_ms(3.0) == 0.0


@pytest.mark.parametrize(("taken_ms", "counted_ms"), [(3.0, 3.0), (5_000.0, 4.0)])
async def test_what_is_not_on_account_yet_counts_as_what_it_may_be(taken_ms: float, counted_ms: float):
    process = WorkerProcess(1, -1, -1, -1, pid=os.getpid())
    worker = Worker(process, small(), 0.0)
    worker._cpu_s_at_start = worker._last_cpu_s = cpu_s(process.pid)
    process.note_exit(ProcessExit(-9))
    assert await worker.cpu_ms(taken_ms) == counted_ms
