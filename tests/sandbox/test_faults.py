"""Faults: a process killed at any moment, a host killed during runs, a Deno that disappears, and many at once."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, strategies as st

from sandbox import DenoRuntime, ErrorType, ExecutionRequest, SandboxSettings
from sandbox.contracts.errors import MalformedFrame
from sandbox.contracts.frames import FrameReader, decode
from sandbox.jail import Layer
from sandbox.layer_checks import BehindLayers
from sandbox.process.command import PERMISSIONS, find_deno
from sandbox.run.exchange import RunExchange
from sandbox.testing import FunctionTools
from tests.conftest import descendants, small
from tests.sandbox.test_ends import alive, denos, wait_until

ONE = ExecutionRequest(code="return 1")
SEND = "const send = (text) => Deno[Deno.internal].core.writeSync(1, new TextEncoder().encode(text));"

BEFORE_ITS_END = {
    "spinning": "while (true) {}",
    "waiting": "await new Promise(() => {})",
    "in a tool call": "await tools.never()",
    "in many tool calls": "await Promise.all(Array.from({ length: 50 }, () => tools.never()))",
    "in the middle of a frame": SEND
    + """send('{"type":"__result__","val'); for (;;) await new Promise((r) => setTimeout(r, 50))""",
    "writing logs": "for (;;) { console.log('x'); await new Promise((r) => setTimeout(r, 1)) }",
    "taking memory": "const kept = []; for (;;) { kept.push(new Uint8Array(1 << 16).fill(1)); await new Promise((r) => setTimeout(r)) }",
}


async def never(arguments):
    await anyio.sleep_forever()


async def echo(arguments):
    return arguments


def warm(runtime: DenoRuntime) -> int:
    """The process that the next run will have."""
    pool = runtime._pool
    assert pool is not None
    pid = pool._ready[0].process.pid
    assert pid is not None
    return pid


@pytest.mark.deno
@pytest.mark.usefixtures("nothing_left")
async def test_a_process_killed_at_any_moment_is_a_crash_at_once_and_the_next_run_works():
    tools = FunctionTools({"never": never})
    async with DenoRuntime(small()) as runtime:
        for number, code in enumerate(BEFORE_ITS_END.values()):
            assert await wait_until(lambda: runtime._pool.ready == 1)
            pid, outcomes = warm(runtime), []

            async def run(code: str = code, outcomes: list = outcomes) -> None:
                request = ExecutionRequest(code=code, timeout_ms=60_000)
                outcomes.append(await runtime.execute(request, tools))

            with anyio.fail_after(50):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(run)
                    while runtime._pool.ready:  # killed before the run has it, it would be replaced
                        await anyio.lowlevel.checkpoint()
                    await anyio.sleep(0.001 * 4**number if number < 4 else 0.1)
                    os.kill(pid, signal.SIGKILL)
            assert outcomes[0].error.type == ErrorType.CRASH
            assert (await runtime.execute(ONE)).result == 1


@pytest.mark.deno
@pytest.mark.usefixtures("nothing_left")
async def test_a_process_killed_just_before_it_is_handed_out_is_never_an_answer():
    async with DenoRuntime(small()) as runtime:
        for _ in range(5):
            assert await wait_until(lambda: runtime._pool.ready == 1)
            os.kill(warm(runtime), signal.SIGKILL)
            outcome = await runtime.execute(ONE)  # the pool had no time to notice
            assert outcome.result == 1 if outcome.ok else outcome.error.type == ErrorType.CRASH


@pytest.mark.deno
@pytest.mark.usefixtures("nothing_left")
async def test_a_process_that_reads_nothing_costs_the_time_of_its_run_and_no_more():
    async with DenoRuntime(small()) as runtime:
        assert await wait_until(lambda: runtime._pool.ready == 1)
        os.kill(warm(runtime), signal.SIGSTOP)
        request = ExecutionRequest(code="return 1", context=["x" * 1000] * 12_000, timeout_ms=400)
        with anyio.fail_after(60):
            outcome = await runtime.execute(request)
        assert outcome.error.type == ErrorType.TIMEOUT
        assert (await runtime.execute(ONE)).result == 1


@pytest.mark.deno
@pytest.mark.parametrize("closed", ["0", "1", "2", "0, 1, 2"])
@pytest.mark.usefixtures("nothing_left")
async def test_a_process_that_closes_its_pipes_ends_its_own_run_only(closed):
    code = f"for (const n of [{closed}]) Deno[Deno.internal].core.tryClose(n); await tools.echo({{}}); return 1"
    async with DenoRuntime(small()) as runtime:
        with anyio.fail_after(60):
            outcome = await runtime.execute(ExecutionRequest(code=code, timeout_ms=500), FunctionTools({"echo": echo}))
        assert outcome.ok or outcome.error.type in {ErrorType.CRASH, ErrorType.TIMEOUT, ErrorType.RUNTIME}
        assert (await runtime.execute(ONE)).result == 1


HOST = textwrap.dedent(
    """
    import sys, json, anyio
    from sandbox import DenoRuntime, ExecutionRequest, SandboxSettings
    from sandbox.testing import FunctionTools
    async def never(arguments):
        await anyio.sleep_forever()
    async def main():
        codes = json.loads(sys.argv[1])
        async with DenoRuntime(SandboxSettings(pool_size=2)) as runtime, anyio.create_task_group() as tasks:
            for code in codes:
                request = ExecutionRequest(code=code, timeout_ms=60000)
                tasks.start_soon(runtime.execute, request, FunctionTools({"never": never}))
            await anyio.sleep(float(sys.argv[2]))
            print("running", flush=True)
            await anyio.sleep_forever()
    anyio.run(main)
    """
)
STUBBORN = (
    "Deno.kill(Deno.pid, 'SIGSTOP'); await new Promise(() => {})",
    "for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) Deno.addSignalListener(name, () => {}); while (true) {}",
    "Deno[Deno.internal].core.tryClose(0); while (true) {}",
    "for (;;) console.log('x')",
)


@pytest.mark.deno
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.6])
async def test_no_process_survives_its_killed_host(after_s):
    codes = json.dumps([*list(BEFORE_ITS_END.values())[:4], *STUBBORN])
    host = subprocess.Popen([sys.executable, "-c", HOST, codes, str(after_s)], stdout=subprocess.PIPE)
    assert host.stdout is not None
    with host, host.stdout:
        assert host.stdout.readline() == b"running\n"
        started = descendants(host.pid)
        assert started
        host.kill()
    gone = await wait_until(lambda: not any(alive(pid) for pid in started))
    for pid in started:
        if alive(pid):  # they would spin for a minute
            os.kill(pid, signal.SIGKILL)
    assert gone


def deno_of_ones_own(folder: Path) -> Path:
    """The real binary under a name that may be taken away."""
    deno, real = folder / "deno", find_deno(SandboxSettings()).resolve()
    try:
        os.link(real, deno)
    except OSError:
        shutil.copy2(real, deno)
    return deno


def take_away(deno: Path) -> None:
    deno.unlink()


def put_text_in_its_place(deno: Path) -> None:
    deno.unlink()
    deno.write_text("this is no program\n")
    deno.chmod(0o755)


def put_another_program_in_its_place(deno: Path) -> None:
    deno.unlink()
    shutil.copy2("/bin/true", deno)


def take_its_right_to_run(deno: Path) -> None:
    content = deno.read_bytes()[:1000]
    deno.unlink()
    deno.write_bytes(content)
    deno.chmod(0o644)


@pytest.mark.deno
@pytest.mark.parametrize(
    "break_it", [take_away, put_text_in_its_place, put_another_program_in_its_place, take_its_right_to_run]
)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.usefixtures("nothing_left")
async def test_a_deno_that_changes_under_an_open_runtime_is_a_refusal_until_it_is_back(tmp_path, break_it):
    """Without a root of its own, which holds the binary that the runtime was opened with."""
    deno = deno_of_ones_own(tmp_path)
    settings = small(pool_size=0, deno_path=deno)
    async with BehindLayers(settings, set(Layer) - {Layer.ROOT}, PERMISSIONS) as runtime:
        assert (await runtime.execute(ONE)).result == 1
        break_it(deno)
        with anyio.fail_after(60):
            outcome = await runtime.execute(ONE)
        assert outcome.refused
        assert outcome.error.type == ErrorType.CRASH
        assert "Cannot start Deno" in outcome.error.message
        deno.unlink(missing_ok=True)
        deno_of_ones_own(tmp_path)
        # Landlock knows the file that was there, and not its name.
        assert (await runtime.execute(ONE)).result == (1 if deno.stat().st_nlink > 1 else None)


@pytest.mark.deno
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_root_of_its_own_keeps_the_deno_that_it_was_made_with(tmp_path):
    deno = deno_of_ones_own(tmp_path)
    async with DenoRuntime(small(pool_size=0, deno_path=deno)) as runtime:
        put_another_program_in_its_place(deno)
        assert (await runtime.execute(ONE)).result == 1


HOSTILE = (
    "while (true) {}",
    SEND + 'for (;;) send(\'{"type":"__result__"\')',
    SEND + "send('[[['); await new Promise(() => {})",
    SEND + "send(JSON.stringify({ type: '__result__', value: 'forged' }) + '\\n'); while (true) {}",
    "Deno.kill(Deno.pid, 'SIGKILL'); await new Promise(() => {})",
    "for (;;) console.log('x'.repeat(1000))",
    "for (let n = 0; n < 1000; n++) tools.echo({ n }).catch(() => {}); await new Promise(() => {})",
    "const kept = []; for (;;) kept.push(new Uint8Array(8 << 20).fill(1))",
)


@pytest.mark.deno
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.usefixtures("nothing_left")
async def test_of_two_hundred_at_once_with_a_third_hostile_every_caller_gets_its_own_answer():
    ends: Counter[str] = Counter()
    settings = SandboxSettings(pool_size=4, max_memory_mb=128, max_heap_mb=128, queue_timeout_ms=600_000)
    async with DenoRuntime(settings) as runtime:

        async def honest(number: int) -> None:
            code = "return [context.number, (await tools.echo({ n: context.number })).n]"
            request = ExecutionRequest(code=code, context={"number": number}, timeout_ms=60_000)
            outcome = await runtime.execute(request, FunctionTools({"echo": echo}))
            assert outcome.result == [number, number], outcome.error
            ends["honest"] += 1

        async def hostile(number: int) -> None:
            request = ExecutionRequest(code=HOSTILE[number % len(HOSTILE)], timeout_ms=250)
            outcome = await runtime.execute(request, FunctionTools({"echo": echo}))
            assert outcome.result == "forged" if outcome.ok else outcome.error is not None
            ends["hostile"] += 1

        with anyio.fail_after(600):
            async with anyio.create_task_group() as tasks:
                for number in range(200):
                    tasks.start_soon(hostile if number % 3 == 0 else honest, number)
        assert ends == {"honest": 133, "hostile": 67}
        assert await wait_until(lambda: runtime._pool.ready == 4 and len(denos()) == 4)
    assert not denos()


GOLDEN = json.loads((Path(__file__).parents[2] / "deno/testdata/frames.json").read_text(encoding="utf-8"))
LINES = [entry["line"].encode() for entry in GOLDEN["frames"] if entry["direction"] == "guest"]
BITS = (
    b"\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b"\\",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"1e999",
    b"-",
    b",",
    b":",
    b"null",
    b"\\u",
)
FUZZ_S = 1.5


def mutated(random_: random.Random) -> bytes:
    """One to five frames, in part of other frames, with bits put in, left out or doubled."""
    stream = bytearray(b"\n".join(random_.choices(LINES, k=random_.randint(1, 5))) + b"\n")
    for _ in range(random_.randint(0, 6)):
        at = random_.randrange(len(stream) + 1)
        match random_.randrange(4):
            case 0:
                stream[at:at] = random_.choice(BITS) * random_.choice((1, 1, 1, 50, 3000))
            case 1:
                del stream[at : at + random_.randint(1, 20)]
            case 2:
                stream[at : at + 1] = bytes([random_.randrange(256)])
            case 3:
                stream[at:at] = stream[at // 2 : at]
    return bytes(stream)


def heard(stream: bytes, cuts: list[int], max_bytes: int) -> tuple[list[bytes], bool]:
    """The lines of a stream that arrives in pieces, and whether it was refused."""
    reader, lines, start = FrameReader(max_bytes), [], 0
    try:
        for cut in [*sorted(cuts), len(stream)]:
            lines.extend(reader.feed(stream[start:cut]))
            start = cut
            assert reader.size <= max_bytes
    except MalformedFrame:
        return lines, True
    return lines, False


def test_a_fuzzed_stream_is_frames_or_refused_however_it_is_cut():
    random_ = random.Random(20261116)
    until = time.monotonic() + FUZZ_S
    streams = 0
    while time.monotonic() < until or streams < 200:
        stream, max_bytes = mutated(random_), random_.choice((40, 300, 100_000))
        lines, refused = heard(stream, [], max_bytes)
        for _ in range(3):
            cuts = [random_.randrange(len(stream) + 1) for _ in range(random_.randint(0, 12))]
            assert heard(stream, cuts, max_bytes) == (lines, refused)
        assert all(len(line) <= max_bytes and b"\n" not in line for line in lines)
        for line in lines:
            with suppress(MalformedFrame):
                decode(line)
        streams += 1


@given(st.text(max_size=400), st.integers(-(10**30), 10**30), st.integers(1, 300))
def test_a_cut_result_is_the_beginning_of_the_text_and_within_its_bytes(text, original_bytes, max_bytes):
    conversation = object.__new__(RunExchange)
    conversation._settings = SandboxSettings(max_result_bytes=max_bytes)
    answer = conversation._cut(text, original_bytes)
    kept, mark, size = answer.value.rpartition("… [truncated: ")
    assert mark
    assert size == f"{original_bytes} bytes in all; return less, for example rows.slice(0, 20)]"
    assert text.startswith(kept)
    assert len(answer.value.encode()) <= max(max_bytes, len((mark + size).encode()))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=30),
        lambda inner: st.lists(inner, max_size=6),
        max_leaves=30,
    ),
    st.integers(1, 200),
)
def test_a_result_is_whole_or_cut_and_never_longer_than_it_may_be(value, max_bytes):
    conversation = object.__new__(RunExchange)
    conversation._settings = SandboxSettings(max_result_bytes=max_bytes)
    line = json.dumps({"type": "__result__", "value": value})
    answer = conversation._whole(value, len(line))
    if answer.original_bytes is None:
        assert answer.value == value
    else:
        assert isinstance(answer.value, str)
        assert answer.original_bytes > max_bytes
