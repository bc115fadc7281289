"""Runs that are to be deterministic: under a fixed clock and seed, and told apart from those that asked for either."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionOutcome, ExecutionRequest, Tier, Workspace
from sandbox.testing import FunctionTools
from tests.conftest import small

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]


@pytest.fixture
async def runtime() -> AsyncIterator[DenoRuntime]:
    async with DenoRuntime(small(pool_size=2)) as runtime:
        yield runtime


async def repeat(runtime: DenoRuntime, code: str, **grants) -> ExecutionOutcome:
    return await runtime.execute(ExecutionRequest(code=code, deterministic=True, timeout_ms=5000), **grants)


SAME = {
    "return [1, 2].map((n) => n * 2)": [2, 4],
    "const n: number = 2; interface A { a: number } return { a: n } as A": {"a": 2},
    "return new Date('2024-02-03T04:05:06Z')": "2024-02-03T04:05:06.000Z",
    "return [new Date(0) instanceof Date, Date.UTC(2000, 0), new Date(2000, 0).getTime()]": [
        *(True, 946684800000, 946684800000)
    ],
    "return new Date(0).toLocaleDateString('en-GB')": "01/01/1970",
    "class Day extends Date { iso() { return this.toJSON() } } return new Day(0).iso()": "1970-01-01T00:00:00.000Z",
    "return (() => {}) instanceof Function": True,
    "console.log(() => {}, new Date(0), new Map([[1, new Set()]])); return null": None,
    "return await new Promise((resolve) => queueMicrotask(() => resolve(1)))": 1,
    "return new URL('https://a.example/b?c').pathname": "/b",
    "return structuredClone(new Uint8Array(2))": [0, 0],
    "return [Math.max(1, 2), Math.sqrt(4), JSON.parse('[1]'), 2n ** 64n]": [2, 2, [1], 2**64],
}


async def test_code_that_asks_for_nothing_is_deterministic_and_gives_what_it_always_gives(runtime):
    for code, expected in SAME.items():
        plain = await runtime.execute(ExecutionRequest(code=code))
        outcome = await repeat(runtime, code)
        assert (outcome.result, outcome.deterministic, plain.deterministic) == (expected, True, False), code
        assert (outcome.result, outcome.logs) == (plain.result, plain.logs), code


async def test_an_error_of_the_code_is_the_same_again_too(runtime):
    outcome = await repeat(runtime, "throw 'no'")
    assert (outcome.ok, outcome.deterministic) == (False, True)
    assert (await repeat(runtime, "return (")).deterministic


VARIES = [
    "Date.now()",
    "new Date()",
    "Date()",
    "new (new Date(0)['con' + 'structor'])()",
    "Reflect.construct(Date, [])",
    "new Date(...[])",
    "Math.random()",
    "Math['ran' + 'dom']()",
    "performance.now()",
    "crypto.randomUUID()",
    "crypto.getRandomValues(new Uint8Array(1))[0]",
    "Temporal.Now.instant().epochMilliseconds",
    "new Intl.DateTimeFormat().format()",
    "Deno.pid",
    "process.hrtime()[0]",
    "navigator.hardwareConcurrency",
    "await new Promise((resolve) => setTimeout(resolve, 1))",
    "new Event('x').timeStamp",
    "(() => {})['con' + 'structor']('return 1')()",
    "(async () => {})['con' + 'structor']('return 1')()",
    "(function* () {})['con' + 'structor']('yield 1')().next().value",
    "eval('1')",
    "globalThis['ev' + 'al']('1')",
    "typeof new WeakRef({})",
    "(await import('node:os')).EOL",
    "(console['time' + 'End'](), 1)",
    "({ toJSON: () => Date.now() })",
]


async def test_code_that_asks_for_time_chance_or_the_process_is_found_out(runtime):
    found = {code: (await repeat(runtime, f"return {code}")) for code in VARIES}
    assert [code for code, outcome in found.items() if outcome.deterministic] == []
    assert [(code, outcome.error) for code, outcome in found.items() if not outcome.ok] == []


async def test_clock_and_chance_are_the_same_in_every_such_run(runtime):
    code = """
    const looks = [Date.now(), new Date(), Date(), Math.random(), performance.now(), performance.timeOrigin];
    return [...looks, crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(2))]
    """
    first, second = [(await repeat(runtime, code)) for _ in range(2)]
    assert first.ok
    assert first.result == second.result
    real = await runtime.execute(ExecutionRequest(code=code))
    assert not {str(value) for value in first.result} & {str(value) for value in real.result}


async def test_code_that_waits_for_a_moment_to_pass_does_not_wait_for_ever(runtime):
    outcome = await repeat(runtime, "const end = Date.now() + 500; while (Date.now() < end); return 'there'")
    assert (outcome.result, outcome.deterministic) == ("there", False)


async def test_what_the_host_answers_is_not_in_the_code(runtime, tmp_path):
    async def echo(arguments):
        return 1

    called = await repeat(runtime, "return await tools.echo()", tools=FunctionTools({"echo": echo}))
    assert (called.result, called.deterministic) == (1, False)
    (tmp_path / "a").write_text("b")
    read = await repeat(runtime, "return await Deno.readTextFile('a')", workspace=Workspace(tmp_path))
    assert (read.result, read.deterministic) == ("b", False)
    request = ExecutionRequest(
        code="try { await fetch('https://a.example') } catch {} return 1", tier=Tier.NETWORK, deterministic=True
    )
    fetched = await runtime.execute(request)
    assert (fetched.result, fetched.deterministic) == (1, False)


async def test_a_run_that_did_not_come_to_its_own_end_is_not_deterministic(runtime):
    request = ExecutionRequest(code="for (;;);", deterministic=True, timeout_ms=50)
    outcome = await runtime.execute(request)
    assert outcome.error is not None
    assert (outcome.error.type, outcome.deterministic) == (ErrorType.TIMEOUT, False)
    refused = await runtime.execute(ExecutionRequest(code=" ", deterministic=True))
    assert (refused.refused, refused.deterministic) == (True, False)


async def test_nothing_is_said_of_a_run_that_nobody_wants_to_repeat(runtime):
    outcome = await runtime.execute(ExecutionRequest(code="return [typeof Date.now(), Date.toString()]"))
    assert (outcome.result, outcome.deterministic) == (["number", "function Date() { [native code] }"], False)
