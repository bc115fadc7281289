"""Every limit of the sandbox, each exceeded once. A limit without effect makes its test fail."""

from __future__ import annotations

import anyio
import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionRequest
from sandbox.process.fork_server import ForkServer
from sandbox.runtime import refusal_of
from tests.conftest import descendants, execute, small
from tests.sandbox.test_ends import wait_until

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]

ARRAY_BUFFERS = (
    "const kept = []; for (let n = 0; n < 256; n++) kept.push(new Uint8Array(8 << 20).fill(1)); return 'all'"
)
WEBASSEMBLY = """
const kept = [];
for (let n = 0; n < 64; n++) {
  const memory = new WebAssembly.Memory({ initial: 512 });
  new Uint8Array(memory.buffer).fill(1);
  kept.push(memory);
}
return 'all'
"""
HEAP = "const kept = []; for (;;) kept.push(new Array(10000).fill(kept.length))"


def error_of(outcome):
    assert outcome.error is not None, outcome.result
    return outcome.error


@pytest.mark.parametrize(
    "code",
    [
        "while (true) {}",
        "return /^(a+)+$/.test('a'.repeat(40) + 'b')",
        "await new Promise(() => {})",
        "return { then() {} }",
        "const spin = () => Promise.resolve().then(spin); await spin()",
        "for (;;) await null",
        "Deno.addSignalListener('SIGTERM', () => {}); Deno.addSignalListener('SIGINT', () => {}); while (true) {}",
        "let x = 3n; for (;;) x = x * x",
        "setInterval(() => {}, 1); await new Promise(() => {})",
    ],
)
async def test_what_takes_too_long_is_answered_at_its_limit(code):
    # With much memory: some of them take more and more of it, should the host stand still and look late.
    async with DenoRuntime(small(max_memory_mb=4096, max_heap_mb=4096)) as runtime:
        with anyio.fail_after(60):  # how soon after the limit is measured in benchmarks/, where the machine is quiet
            outcome = await runtime.execute(ExecutionRequest(code=code, timeout_ms=300))
    assert error_of(outcome).type == ErrorType.TIMEOUT
    assert error_of(outcome).message.startswith("Code exceeded 300ms limit.")


async def test_waiting_for_nothing_is_said():
    said = "a promise that nothing will settle"
    for timeout_ms in (200, 10_000):  # on a busy machine, the code may not have come to that point
        outcome = await execute("await new Promise(() => {})", timeout_ms=timeout_ms)
        if said in error_of(outcome).message:
            break
    assert said in error_of(outcome).message


async def test_a_request_cannot_ask_for_more_time_than_the_settings_give():
    outcome = await execute("while (true) {}", timeout_ms=60_000, max_timeout_ms=200)
    assert "200ms" in error_of(outcome).message


async def test_the_default_time_holds_when_none_is_asked_for():
    async with DenoRuntime(small(default_timeout_ms=200)) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code="while (true) {}"))
    assert "200ms" in error_of(outcome).message


@pytest.mark.parametrize("code", [ARRAY_BUFFERS, WEBASSEMBLY, HEAP], ids=["ArrayBuffer", "WebAssembly", "heap"])
async def test_memory_of_every_kind_is_limited(code):
    outcome = await execute(code, timeout_ms=20_000, max_memory_mb=128, max_heap_mb=4096)
    assert error_of(outcome).type == ErrorType.MEMORY
    assert outcome.metrics.peak_memory_mb < 128 + 100


async def test_memory_is_limited_by_the_system_and_not_only_watched(monkeypatch):
    monkeypatch.setattr("sandbox.run.worker.private_bytes", lambda pid: 0)
    outcome = await execute(ARRAY_BUFFERS, timeout_ms=20_000, max_memory_mb=128)
    assert error_of(outcome).type == ErrorType.MEMORY
    assert outcome.metrics.peak_memory_mb < 128 + 60


async def test_a_memory_error_that_is_caught_does_not_lift_the_limit():
    code = f"try {{ {ARRAY_BUFFERS} }} catch (error) {{ return error.name }}"
    outcome = await execute(code, timeout_ms=20_000, max_memory_mb=128)
    assert outcome.result == "RangeError" or error_of(outcome).type == ErrorType.MEMORY
    assert outcome.metrics.peak_memory_mb < 128 + 100


async def test_the_heap_has_a_limit_of_its_own():
    outcome = await execute(HEAP, timeout_ms=20_000, max_heap_mb=64, max_memory_mb=4096)
    assert error_of(outcome).type == ErrorType.MEMORY
    assert outcome.metrics.peak_memory_mb < 64 + 150


async def test_memory_is_watched_where_the_system_cannot_limit_it(monkeypatch):
    async def cannot(self, process, max_bytes):
        return False

    monkeypatch.setattr(ForkServer, "limit_memory", cannot)
    slowly = "const kept = []; for (;;) { kept.push(new Uint8Array(4 << 20).fill(1)); await new Promise((r) => setTimeout(r, 5)) }"
    outcome = await execute(slowly, timeout_ms=20_000, max_memory_mb=128)
    assert error_of(outcome).type == ErrorType.MEMORY
    assert "128 MB" in error_of(outcome).message


async def test_code_that_is_too_long_is_refused_before_a_process_is_used():
    code = "return 1 //".ljust(50 * 1024, "x")
    assert (await execute(code)).result == 1
    async with DenoRuntime(small(pool_size=0)) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=code + "x"))
        assert not [name for name in descendants().values() if "deno" in name]
    assert outcome.refused
    assert error_of(outcome).type == ErrorType.LIMIT
    assert "51201 bytes" in error_of(outcome).message


async def test_the_length_of_code_is_in_bytes():
    assert refusal_of(ExecutionRequest(code="é" * 30_000), small()) is not None


async def test_empty_code_is_refused():
    outcome = await execute(" \n ")
    assert outcome.refused
    assert error_of(outcome).message == "The code is empty"


async def test_code_that_is_not_unicode_is_refused():
    outcome = await execute("return '\ud800'")
    assert outcome.refused
    assert "not valid Unicode" in error_of(outcome).message


@pytest.mark.parametrize("context", [object(), {"a": object()}, "x" * 2000])
async def test_a_context_that_is_not_json_or_too_large_is_refused(context):
    outcome = await execute("return 1", context=context, max_context_bytes=1000)
    assert outcome.refused
    assert error_of(outcome).message.startswith("Cannot send the context")


async def test_a_long_result_is_cut_and_its_size_is_said():
    outcome = await execute("return 'é'.repeat(40000)")
    assert outcome.ok
    assert outcome.truncated
    assert outcome.result_bytes == 80_002
    assert outcome.result.startswith('"ééé')
    assert outcome.result.endswith("… [truncated: 80002 bytes in all; return less, for example rows.slice(0, 20)]")
    assert 32_000 < len(outcome.result.encode()) <= 32 * 1024


async def test_a_result_at_the_limit_is_whole():
    outcome = await execute("return 'x'.repeat(32 * 1024 - 2)")
    assert not outcome.truncated
    assert len(outcome.result) == 32 * 1024 - 2


FORGE = (
    "const send = (text) => { const out = Deno[Deno.internal].core; out.writeSync(1, new TextEncoder().encode(text)) };"
)


async def test_a_guest_that_does_not_cut_its_result_is_held_to_it():
    forged = '{"type":"__result__","value":"' + "' + 'x'.repeat(100000) + '" + '"}\\n'
    outcome = await execute(f"{FORGE} send('{forged}'); return 'honest'")
    assert outcome.truncated
    assert outcome.result_bytes == 100_002


async def test_too_much_output_ends_the_run():
    outcome = await execute("for (;;) console.log('x'.repeat(1000))", max_output_bytes=100_000)
    assert error_of(outcome).type == ErrorType.LIMIT
    assert error_of(outcome).message == "Output exceeds 100000 bytes"
    assert 50_000 < sum(len(entry.text) for entry in outcome.logs) < 100_000


async def test_one_huge_log_is_refused_without_being_copied():
    outcome = await execute("console.log('y'.repeat(100 << 20)); return 1", timeout_ms=20_000)
    assert error_of(outcome).type == ErrorType.LIMIT


async def test_hidden_frames_count_as_output():
    flood = 'const line = \'{"type":"__debug__","message":"x"}\\n\'.repeat(1000); for (;;) send(line)'
    outcome = await execute(f"{FORGE} {flood}", max_output_bytes=100_000)
    assert error_of(outcome).type == ErrorType.LIMIT


async def test_a_frame_that_is_too_long_ends_the_run():
    outcome = await execute(f"{FORGE} for (;;) send('x'.repeat(10000))")
    assert error_of(outcome).type == ErrorType.LIMIT
    assert "a frame of more than 2097152 bytes" in error_of(outcome).message


@pytest.mark.parametrize(
    "line",
    [
        "not json\\n",
        "123\\n",
        '{"type":"__result__"}\\n',
        '{"type":"unknown"}\\n',
        '{"type":"__ready__","protocol":1,"deno":"x"}\\n',
        "[[[[\\n",
        "\\n",
    ],
)
async def test_a_malformed_frame_ends_the_run_as_a_crash(line):
    outcome = await execute(f"{FORGE} send('{line}'); await new Promise((r) => setTimeout(r, 1000)); return 'honest'")
    assert error_of(outcome).type == ErrorType.CRASH


async def test_invalid_utf_8_ends_the_run_as_a_crash():
    outcome = await execute(
        "Deno[Deno.internal].core.writeSync(1, new Uint8Array([0x7b, 0xff, 0xfe, 0x7d, 0x0a])); return 1"
    )
    assert error_of(outcome).type == ErrorType.CRASH


async def test_stderr_does_not_block_the_run():
    noise = "const bytes = new Uint8Array(65536); for (let n = 0; n < 40; n++) Deno[Deno.internal].core.writeSync(2, bytes); return 1"
    outcome = await execute(noise, timeout_ms=10_000)
    assert outcome.result == 1


async def test_executions_beyond_the_limit_wait_for_their_turn_in_order():
    order: list[int] = []
    async with DenoRuntime(small(max_concurrent=1)) as runtime:

        async def one(number: int) -> None:
            await runtime.execute(ExecutionRequest(code="await new Promise((r) => setTimeout(r, 20)); return 1"))
            order.append(number)

        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(one, number)
                await anyio.lowlevel.checkpoint()
    assert order == sorted(order)


async def test_no_more_than_the_limit_run_at_once():
    running: list[int] = []
    two = anyio.Event()

    class Tools:
        most = 0

        def declarations(self):
            from sandbox import ToolDeclaration

            return [ToolDeclaration("enter")]

        async def call(self, name, arguments):
            running.append(1)
            Tools.most = max(Tools.most, len(running))
            if len(running) == 2:
                two.set()
            await two.wait()  # the other may take its time to start
            await anyio.sleep(0.05)
            running.pop()

    async with DenoRuntime(small(max_concurrent=2)) as runtime, anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(runtime.execute, ExecutionRequest(code="await tools.enter()"), Tools())
    assert Tools.most == 2


async def test_waiting_for_a_turn_is_bounded_in_time():
    async with (
        DenoRuntime(small(max_concurrent=1, queue_timeout_ms=100)) as runtime,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(runtime.execute, ExecutionRequest(code="while (true) {}", timeout_ms=60_000))
        assert await wait_until(lambda: runtime._slots.value == 0)
        outcome = await runtime.execute(ExecutionRequest(code="return 1"))
        assert outcome.refused
        assert "1 executions were running for 100 ms" in error_of(outcome).message
        tasks.cancel_scope.cancel()


async def test_the_queue_is_bounded_in_length():
    async with DenoRuntime(small(max_concurrent=1, max_queued=1)) as runtime, anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(runtime.execute, ExecutionRequest(code="while (true) {}", timeout_ms=60_000))
        assert await wait_until(lambda: runtime._queued == 1)
        outcome = await runtime.execute(ExecutionRequest(code="return 1"))
        assert outcome.refused
        assert "are waiting" in error_of(outcome).message
        tasks.cancel_scope.cancel()
