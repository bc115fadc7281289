"""A run begins only while the machine has enough memory for it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionRequest, ResidentProgram
from sandbox.run.memory_room import KEPT_BYTES, available_bytes, has_room, limited_group, surely_has_room
from tests.conftest import small

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("wanted", "promised", "available", "fits"),
    [
        (100, [], KEPT_BYTES + 100, True),
        (100, [], KEPT_BYTES + 99, False),
        (100, [50, 50], KEPT_BYTES + 200, True),
        (100, [50, 51], KEPT_BYTES + 200, False),
        (100, [10**12], None, True),
    ],
)
def test_what_others_were_promised_is_theirs(wanted, promised, available, fits):
    assert has_room(wanted, promised, available) is fits


def test_this_machine_tells_what_it_has():
    found = available_bytes()
    assert found is not None
    assert found > 0
    assert not surely_has_room(2**60, 0)


def group(root: Path, name: str, **files: str) -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (folder / file.replace("_", ".", 1)).write_text(text)
    return folder


def test_the_innermost_group_with_a_limit_counts(tmp_path):
    proc, root = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "self/cgroup").write_text("1:name=systemd:/x\n0::/outer/inner\n")
    outer = group(root, "outer", memory_max="1000\n")
    inner = group(root, "outer/inner", memory_max="max\n")
    assert limited_group(proc, root) == outer
    limited_group.cache_clear()
    (inner / "memory.max").write_text("500\n")
    assert limited_group(proc, root) == inner
    limited_group.cache_clear()
    for folder in (outer, inner):
        (folder / "memory.max").write_text("max\n")
    assert limited_group(proc, root) is None
    limited_group.cache_clear()
    assert limited_group(tmp_path / "nothing", root) is None
    limited_group.cache_clear()


def test_what_a_group_may_still_take_is_what_is_available(tmp_path, monkeypatch):
    files = {"memory_max": "1000000", "memory_current": "900000", "memory_stat": "anon 1\ninactive_file 50000\nx 2\n"}
    found = group(tmp_path, "limited", **files)
    monkeypatch.setattr("sandbox.run.memory_room.limited_group", lambda: found)
    assert available_bytes() == 150_000
    assert not surely_has_room(1, 0)


class Cramped(DenoRuntime):
    """A machine with as much memory as a test says."""

    available: int = 0

    def _available_bytes(self) -> int:
        return self.available


@pytest.fixture
def cramped(monkeypatch):
    monkeypatch.setattr("sandbox.runtime.surely_has_room", lambda *_: False)
    return Cramped


WAIT = "await tools.wait({}); return 1"
ONE = ExecutionRequest(code="return 1", timeout_ms=60_000)


class Waiting:
    """A tool that answers when the test says so."""

    def __init__(self) -> None:
        self.go = anyio.Event()
        self.began = 0

    def declarations(self):
        from sandbox import ToolDeclaration

        return [ToolDeclaration("wait")]

    async def call(self, name, arguments):
        self.began += 1
        await self.go.wait()


@pytest.mark.deno
async def test_a_run_waits_until_another_has_given_back_its_memory(cramped, nothing_left):
    tools, outcomes = Waiting(), []

    async def run(runtime, request, lent=None):
        outcomes.append(await runtime.execute(request, lent))

    async with cramped(small(max_memory_mb=256)) as runtime:
        runtime.available = 300 * MIB
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run, runtime, ExecutionRequest(code=WAIT, timeout_ms=60_000), tools)
                while not tools.began:
                    await anyio.sleep(0.01)
                tasks.start_soon(run, runtime, ONE)
                await anyio.sleep(0.3)
                assert outcomes == []  # the first one could take all of it
                tools.go.set()
    assert [outcome.result for outcome in outcomes] == [1, 1]


@pytest.mark.deno
async def test_one_may_always_run_and_who_waits_too_long_is_told(cramped, nothing_left):
    tools = Waiting()
    async with cramped(small(max_memory_mb=256, queue_timeout_ms=200)) as runtime:
        assert (await runtime.execute(ONE)).result == 1  # though there is nothing at all
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.execute, ExecutionRequest(code=WAIT, timeout_ms=60_000), tools)
            with anyio.fail_after(60):
                while not tools.began:
                    await anyio.sleep(0.01)
            refused = await runtime.execute(ONE)
            tools.go.set()
        assert refused.refused
        assert refused.error.type is ErrorType.LIMIT
        assert "no memory left" in refused.error.message
        assert (await runtime.execute(ONE)).result == 1  # and its slot was given back


@pytest.mark.deno
async def test_one_may_always_run_beside_programs_that_stay_and_after_them(cramped, nothing_left):
    async with cramped(small(max_memory_mb=256, queue_timeout_ms=200)) as runtime:
        async with runtime.resident(ResidentProgram(code="emit('x')", name="one")):
            assert (await runtime.execute(ONE)).result == 1
        assert (await runtime.execute(ONE)).result == 1


@pytest.mark.deno
async def test_a_smaller_run_fits_where_a_larger_one_does_not(cramped, nothing_left):
    tools = Waiting()
    async with cramped(small(max_memory_mb=256, queue_timeout_ms=200)) as runtime:
        runtime.available = KEPT_BYTES + (256 + 100) * MIB
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.execute, ExecutionRequest(code=WAIT, timeout_ms=60_000), tools)
            with anyio.fail_after(60):
                while not tools.began:
                    await anyio.sleep(0.01)
            assert (await runtime.execute(ONE)).refused
            assert (await runtime.execute(ONE.model_copy(update={"max_memory_mb": 64}))).result == 1
            tools.go.set()


@pytest.mark.deno
async def test_processes_of_runs_go_first_when_memory_is_short():
    async with DenoRuntime(small()) as runtime:
        with anyio.fail_after(60):
            while not runtime._pool.ready:
                await anyio.sleep(0.01)
        worker = runtime._pool._ready[0]
        assert Path(f"/proc/{worker.process.pid}/oom_score_adj").read_text().strip() == "1000"
        # The launcher's own score stays: without the launcher, nothing would limit or kill the processes.
        launcher = runtime._spawner._launcher.pid
        assert Path(f"/proc/{launcher}/oom_score_adj").read_text() == Path("/proc/self/oom_score_adj").read_text()
