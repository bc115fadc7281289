"""Runs that are ended from outside: by the caller, by the host's death, by closing the runtime."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import anyio
import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionOutcome, ExecutionRequest, SandboxUnavailable
from sandbox.process.process import PlainSpawner
from sandbox.testing import FunctionTools
from tests.conftest import descendants, descriptors, execute, small

pytestmark = pytest.mark.deno

SPIN = ExecutionRequest(code="await tools.begun({}); while (true) {}", timeout_ms=60_000)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def wait_until(condition, seconds: float = 60.0) -> bool:
    with anyio.move_on_after(seconds):
        while not condition():
            await anyio.sleep(0.01)
        return True
    return False


class Begun(FunctionTools):
    """Tells when the code runs. A process is there long before, and what is killed before it is ready is replaced."""

    def __init__(self) -> None:
        super().__init__({"begun": self._note})
        self._has_begun = anyio.Event()

    async def _note(self, arguments) -> None:
        self._has_begun.set()

    async def wait(self) -> None:
        with anyio.fail_after(60):
            await self._has_begun.wait()


def denos() -> set[int]:
    return {pid for pid, name in descendants().items() if "deno" in name}


@pytest.mark.usefixtures("nothing_left")
async def test_cancelling_the_caller_kills_the_process():
    async with DenoRuntime(small()) as runtime:
        before, begun = denos(), Begun()
        assert before
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.execute, SPIN, begun)
            await begun.wait()
            tasks.cancel_scope.cancel()
        assert await wait_until(lambda: not any(alive(pid) for pid in before))
        assert (await runtime.execute(ExecutionRequest(code="return 1"))).result == 1


@pytest.mark.usefixtures("nothing_left")
async def test_cancelling_while_waiting_for_a_process_loses_none():
    async with DenoRuntime(small(pool_size=0)) as runtime:
        for delay in (0.0, 0.001, 0.005, 0.01, 0.02, 0.03, 0.04):
            with anyio.move_on_after(delay):
                await runtime.execute(ExecutionRequest(code="return 1"))
        assert (await runtime.execute(ExecutionRequest(code="return 1"))).result == 1


@pytest.mark.usefixtures("nothing_left")
async def test_cancelling_at_any_moment_leaves_nothing():
    async with DenoRuntime(small(pool_size=2)) as runtime:
        for step in range(30):
            with anyio.move_on_after(step * 0.0002):
                await runtime.execute(ExecutionRequest(code="return context", context=list(range(5000))))
        assert (await runtime.execute(ExecutionRequest(code="return 1"))).result == 1


@pytest.mark.usefixtures("nothing_left")
async def test_leaving_the_runtime_ends_what_is_running():
    outcomes, begun = [], Begun()
    async with anyio.create_task_group() as tasks, DenoRuntime(small()) as runtime:

        async def run() -> None:
            outcomes.append(await runtime.execute(SPIN, begun))

        tasks.start_soon(run)
        await begun.wait()
    assert [outcome.error.type for outcome in outcomes] == [ErrorType.CRASH]


@pytest.mark.parametrize("wait", [0.0, 0.005, 0.02, 0.05])
@pytest.mark.usefixtures("nothing_left")
async def test_leaving_at_once_leaves_nothing(wait):
    async with DenoRuntime(small(pool_size=3)):
        await anyio.sleep(wait)


@pytest.mark.parametrize("has_launcher", [True, False])
@pytest.mark.usefixtures("nothing_left")
async def test_a_start_that_comes_after_the_end_starts_nothing(has_launcher, monkeypatch):
    if not has_launcher:
        monkeypatch.setattr("sandbox.wall.wall.can_fork_serve", lambda: False)
    async with DenoRuntime(small(pool_size=0, require=())) as runtime:
        spawner = runtime._spawner
    with pytest.raises(SandboxUnavailable, match="the runtime is closed"):
        await spawner.start()


@pytest.mark.usefixtures("nothing_left")
async def test_an_exception_inside_leaves_nothing():
    with pytest.raises(ZeroDivisionError):
        async with DenoRuntime(small()):
            raise ZeroDivisionError


async def test_when_the_host_is_killed_its_processes_die_too(tmp_path):
    program = textwrap.dedent(
        """
        import anyio
        from sandbox import DenoRuntime, ExecutionRequest, SandboxSettings
        async def main():
            async with DenoRuntime(SandboxSettings(pool_size=2)) as runtime, anyio.create_task_group() as tasks:
                for _ in range(2):
                    tasks.start_soon(runtime.execute, ExecutionRequest(code="while (true) {}", timeout_ms=60000))
                print("running", flush=True)
        anyio.run(main)
        """
    )
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert host.stdout is not None
    assert host.stdout.readline() == b"running\n"
    started: dict[int, str] = {}

    def all_are_there() -> bool:  # the running processes, and those that refill the pool
        started.update(descendants(host.pid))
        return sum("deno" in name for name in descendants(host.pid).values()) >= 4

    assert await wait_until(all_are_there)
    host.kill()
    host.wait()
    host.stdout.close()
    assert await wait_until(lambda: not any(alive(pid) for pid in started)), started


@pytest.mark.usefixtures("nothing_left")
async def test_when_the_launcher_is_killed_the_runtime_goes_on():
    async with DenoRuntime(small()) as runtime:
        launcher = runtime._spawner._launcher.pid
        started = descendants(launcher)
        os.kill(launcher, signal.SIGKILL)
        assert await wait_until(lambda: not any(alive(pid) for pid in started))
        assert await wait_until(lambda: getattr(runtime._spawner._launcher, "pid", 0) != launcher)
        outcome = await runtime.execute(ExecutionRequest(code="return 1"))
        assert outcome.result == 1


async def end_of_a_busy_run(kill) -> ExecutionOutcome:
    """Start a run that spins, end it from outside by `kill(runtime, pids)`, and return how it ended."""
    outcomes, begun = [], Begun()
    async with DenoRuntime(small(pool_size=0)) as runtime, anyio.create_task_group() as tasks:

        async def run() -> None:
            outcomes.append(await runtime.execute(SPIN, begun))

        tasks.start_soon(run)
        await begun.wait()
        busy = denos()
        assert busy
        kill(runtime, busy)
        assert await wait_until(lambda: not any(alive(pid) for pid in busy))
    return outcomes[0]


@pytest.mark.usefixtures("nothing_left")
async def test_when_the_launcher_is_killed_even_a_busy_process_dies():
    outcome = await end_of_a_busy_run(lambda runtime, _: os.kill(runtime._spawner._launcher.pid, signal.SIGKILL))
    assert outcome.error.type == ErrorType.CRASH


@pytest.mark.usefixtures("nothing_left")
async def test_killing_the_process_in_the_middle_is_a_crash(monkeypatch):
    monkeypatch.setattr("sandbox.run.worker.EXIT_NEWS_S", 60)  # if the exit status is late, the signal is unknown
    outcome = await end_of_a_busy_run(lambda _, pids: [os.kill(pid, signal.SIGKILL) for pid in pids])
    assert outcome.error.type == ErrorType.CRASH
    assert "signal 9" in outcome.error.message


@pytest.mark.usefixtures("nothing_left")
async def test_a_process_that_stops_itself_is_killed_all_the_same():
    outcome = await execute("Deno.kill(Deno.pid, 'SIGSTOP'); await new Promise(() => {})", timeout_ms=300)
    assert outcome.error.type == ErrorType.TIMEOUT


@pytest.mark.usefixtures("nothing_left")
async def test_without_the_launcher_everything_but_the_exact_limit_works(monkeypatch):
    monkeypatch.setattr("sandbox.wall.wall.can_fork_serve", lambda: False)
    async with DenoRuntime(small(max_memory_mb=128)) as runtime:
        assert isinstance(runtime._spawner, PlainSpawner)
        assert (await runtime.execute(ExecutionRequest(code="return 1 + 1"))).result == 2
        outcome = await runtime.execute(ExecutionRequest(code="while (true) {}", timeout_ms=200))
        assert outcome.error.type == ErrorType.TIMEOUT
        greedy = "const kept = []; for (;;) { kept.push(new Uint8Array(4 << 20).fill(1)); await new Promise((r) => setTimeout(r, 5)) }"
        outcome = await runtime.execute(ExecutionRequest(code=greedy, timeout_ms=20_000))
        assert outcome.error.type == ErrorType.MEMORY
        begun = Begun()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.execute, SPIN, begun)
            await begun.wait()
            tasks.cancel_scope.cancel()


@pytest.mark.usefixtures("nothing_left")
async def test_without_the_launcher_processes_that_start_together_are_told_apart(monkeypatch):
    monkeypatch.setattr("sandbox.wall.wall.can_fork_serve", lambda: False)
    processes = []
    async with DenoRuntime(small(pool_size=0)) as runtime:
        async with anyio.create_task_group() as tasks:

            async def start() -> None:
                processes.append(await runtime._spawner.start())

            for _ in range(4):
                tasks.start_soon(start)
        assert len({process.id for process in processes}) == 4
    for process in processes:
        process.close_pipes()


KINDS = (
    "return 1",
    "const x: number = 1; return x",
    "throw new Error('x')",
    "let : = 3",
    "Deno.exit(2)",
    "console.log('x'.repeat(2000)); return 2",
    "while (true) {}",
    "await new Promise(() => {})",
)


async def at_rest(runtime: DenoRuntime) -> int:
    """The number of open descriptors, without those of the warm processes, once nothing else is under way."""
    pool = runtime._pool

    def is_at_rest() -> bool:
        return pool.ready >= 4 and not pool._starting and not pool._used and len(denos()) == pool.ready

    assert await wait_until(is_at_rest)
    return descriptors() - 4 * pool.ready


async def mixed(count: int) -> None:
    """Run all kinds of code, some of it cancelled in the middle; compare what is there before and after."""
    async with DenoRuntime(small(pool_size=4, max_output_bytes=1000)) as runtime:
        limiter = anyio.CapacityLimiter(8)

        async def one(number: int) -> None:
            async with limiter:
                with anyio.move_on_after(0.03 if number % 11 == 0 else 30):
                    await runtime.execute(ExecutionRequest(code=KINDS[number % len(KINDS)], timeout_ms=150))

        async with anyio.create_task_group() as tasks:
            for number in range(64):
                tasks.start_soon(one, number)
        before = await at_rest(runtime)
        async with anyio.create_task_group() as tasks:
            for number in range(count):
                tasks.start_soon(one, number)
        assert await at_rest(runtime) <= before
    assert not denos()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.usefixtures("nothing_left")
async def test_hundreds_of_mixed_executions_leave_nothing():
    with anyio.fail_after(600):
        await mixed(150)  # after 64 others, and more than all kinds with and without a cancellation


@pytest.mark.soak
@pytest.mark.usefixtures("nothing_left")
async def test_thousands_of_mixed_executions_leave_nothing():
    await mixed(4000)
