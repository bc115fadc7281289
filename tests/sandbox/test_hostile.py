"""Processes that attack the host by the frames they send. Each of these once got further than it should."""

from __future__ import annotations

import json
import time

import anyio
import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionRequest
from sandbox.testing import FunctionTools
from tests.conftest import execute, small

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]

SEND = (
    "const core = Deno[Deno.internal].core; const send = (text) => core.writeSync(1, new TextEncoder().encode(text));"
)


async def echo(arguments):
    return arguments


def error_frame(message="", stack="", phase="run", name="a"):
    return json.dumps({"type": "__error__", "phase": phase, "name": name, "message": message, "stack": stack}) + "\n"


# What the host may compute for one run: a hundred times what it takes, so that a slow machine is no failure.
MOST_CPU_S = 2
# What the run may take: what is refused at once, is refused long before.
LONG_MS = 60_000


async def forged(text: str, **options):
    """Have the process say exactly this, and nothing else."""
    code = f"{SEND} send(context); await new Promise(() => {{}})"
    start = time.thread_time()
    outcome = await execute(code, context=text, **{"timeout_ms": LONG_MS, **options})
    assert time.thread_time() - start < MOST_CPU_S
    return outcome


async def test_sqlite_cannot_spill_to_the_disk():
    code = """
    const { DatabaseSync } = await import("node:sqlite");
    const database = new DatabaseSync(":memory:");
    database.exec("PRAGMA temp_store=1; PRAGMA cache_size=10; CREATE TEMP TABLE t(b)");
    const insert = database.prepare("INSERT INTO t VALUES(zeroblob(1000000))");
    for (let n = 0; n < 20; n++) insert.run();
    return "spilled"
    """
    outcome = await execute(code, timeout_ms=LONG_MS)
    assert not outcome.ok


@pytest.mark.parametrize(
    "frame",
    [
        error_frame(message="\n" * 100_000),
        error_frame(stack="\n    at " * 100_000),
        error_frame(message="code.js, <anonymous>:" + "9" * 5000 + ":1"),
        error_frame(stack="E\n    at code.js, <anonymous>:" + "9" * 5000 + ":1"),
        error_frame(phase="compile", message="x code.js, <anonymous>:3:99999999999999999999999"),
        error_frame(phase="compile", message="x code.js, <anonymous>:1:3000000"),
        error_frame(phase="compile", message="data:application/typescript;base64," * 20_000),
    ],
    ids=["newlines", "frames", "digits", "stack digits", "column overflow", "wide column", "urls"],
)
async def test_a_forged_error_is_cut_and_answered_at_once(frame):
    outcome = await forged(frame)
    assert outcome.error is not None
    assert len(outcome.error.message) < 10_000
    assert len(outcome.error.stack or "") < 20_000


@pytest.mark.parametrize(
    "line",
    [
        "[" * 60_000 + '"' + '\\"' * 60_000 + "\n",
        '{"a":"' + ("9" * 199 + "a") * 8000 + '"}\n',
        "[" + "{}," * 600_000 + "0]\n",
    ],
    ids=["open text", "digits", "objects"],
)
async def test_a_line_made_to_be_slow_is_refused_at_once(line):
    outcome = await forged(line)
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.CRASH


async def test_an_error_whose_stack_is_made_up_is_an_error_like_any_other():
    code = 'const e = new Error("x"); e.stack = "E\\n    at code.js, <anonymous>:" + "9".repeat(5000) + ":1"; throw e'
    outcome = await execute(code)
    assert outcome.error is not None
    assert outcome.error.message == "x"


async def test_a_long_call_id_is_no_frame():
    call = {"type": "__tool_call__", "call_id": "7" * 2000, "name": "echo", "params": {}}
    outcome = await forged(json.dumps(call) + "\n")
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.CRASH


async def test_large_calls_that_wait_for_an_answer_are_limited_together():
    async def never(arguments):
        await anyio.sleep_forever()

    # Written past the harness, which would hold them back.
    code = """
    const text = "x".repeat(1 << 20);
    for (let n = 0; n < 100; n++) {
      const frame = { type: "__tool_call__", call_id: String(n), name: "never", params: { text } };
      Deno[Deno.internal].core.print(JSON.stringify(frame) + "\\n");
    }
    await new Promise(() => {});
    """
    outcome = await execute(code, FunctionTools({"never": never}), timeout_ms=LONG_MS)
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.LIMIT
    assert outcome.metrics.tool_calls < 40  # they may take 32 MB


async def test_honest_code_may_ask_for_more_at_once_than_the_host_keeps():
    most = now = 0

    async def wait(arguments):
        nonlocal most, now
        now += 1
        most = max(most, now)
        await anyio.sleep(0.01)
        now -= 1
        return arguments["n"]

    code = "return (await Promise.all(Array.from({ length: 600 }, (_, n) => tools.wait({ n })))).length"
    outcome = await execute(code, FunctionTools({"wait": wait}), timeout_ms=LONG_MS, max_tool_calls=1000)
    assert outcome.result == 600
    assert most <= 200


async def test_a_tool_does_not_start_after_the_run_has_ended():
    started = []

    async def slow(arguments):
        started.append(True)
        await anyio.sleep(20)

    def call(number: int, name: str) -> str:
        return json.dumps({"type": "__tool_call__", "call_id": str(number), "name": name, "params": {}}) + "\n"

    padding = json.dumps({"type": "__debug__", "message": "x" * 66_000}) + "\n"
    text = call(1, "echo") + call(2, "slow") + padding + '{"type":"__result__","value":1}\n'
    for _ in range(3):
        outcome = await forged(text, tools=FunctionTools({"echo": echo, "slow": slow}))
        assert outcome.result == 1


async def test_arguments_that_are_wrong_ninety_thousand_times_are_refused_at_once():
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}}}
    tools = FunctionTools({"echo": echo}, {"echo": schema})
    start = time.thread_time()
    code = "try { await tools.echo({ items: new Array(90000).fill(1) }) } catch (e) { return e.message.length }"
    outcome = await execute(code, tools, timeout_ms=LONG_MS)
    assert outcome.result < 1000
    assert time.thread_time() - start < MOST_CPU_S


async def test_a_process_that_keeps_talking_is_watched_all_the_same(monkeypatch):
    monkeypatch.setattr("sandbox.wall.wall.can_fork_serve", lambda: False)
    code = """
    const kept = [];
    for (let n = 0; n < 1000; n++) {
      if (n < 40) kept.push(new Uint8Array(8 << 20).fill(1));
      console.log("still here");
      await new Promise((r) => setTimeout(r, 10));
    }
    return "all"
    """
    async with DenoRuntime(small(pool_size=0, max_memory_mb=128)) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=code, timeout_ms=LONG_MS))
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.MEMORY
