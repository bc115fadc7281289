"""Deterministic runs: under a fixed clock and seed, and distinguished from runs that used either."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionOutcome, ExecutionRequest, Tier, Workspace, may_vary
from sandbox.testing import FunctionTools
from tests.conftest import small

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]


@pytest.fixture
async def runtime() -> AsyncIterator[DenoRuntime]:
    async with DenoRuntime(small(pool_size=2)) as runtime:
        yield runtime


async def repeat(runtime: DenoRuntime, code: str, **grants) -> ExecutionOutcome:
    return await runtime.execute(ExecutionRequest(code=code, deterministic=True, timeout_ms=20_000), **grants)


SAME = {
    "return [1, 2].map((n) => n * 2)": [2, 4],
    "const n: number = 2; interface A { a: number } return { a: n } as A": {"a": 2},
    "return new Date('2024-02-03T04:05:06Z')": "2024-02-03T04:05:06.000Z",
    "return [new Date(0) instanceof Date, Date.UTC(2000, 0), new Date(2000, 0).getTime()]": [
        *(True, 946684800000, 946684800000)
    ],
    "return new Date(0).toLocaleDateString('en-GB')": "01/01/1970",
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


HIDDEN = [
    "Date(0)",
    "new Date(...[])",
    "new Date(/* of nothing */)",
    "new (new Date(0)['con' + 'struc' + 'tor'])()",
    "Math['ran' + 'dom']()",
    "Object.entries(Object.getOwnPropertyDescriptors(Math)).find(([name]) => /^ran/.test(name))[1].value()",
    "(() => {})['con' + 'struc' + 'tor']('return 1')()",
    "(async () => {})['con' + 'struc' + 'tor']('return 1')()",
    "(function* () {})['con' + 'struc' + 'tor']('yield 1')().next().value",
    "new ((() => {})['con' + 'struc' + 'tor'])('return 1')()",
    "console['time' + 'End']() ?? 1",
    "console['tra' + 'ce']() ?? 1",
    "({ toJSON: () => Math['ran' + 'dom']() })",
]
"""Nothing in their words: only the run can tell."""

SAID = [
    "Date.now()",
    "Math.random()",
    "Temporal.Now.instant().epochMilliseconds",
    "Deno.pid",
    "await new Promise((resolve) => setTimeout(resolve, 1))",
    "(await import('node:os')).EOL",
]


async def test_code_that_hides_how_it_asks_for_time_or_chance_is_found_out_by_the_run(runtime):
    assert [code for code in HIDDEN if may_vary(f"return {code}") is not None] == []
    found = {code: (await repeat(runtime, f"return {code}")) for code in HIDDEN}
    assert [code for code, outcome in found.items() if outcome.deterministic] == []
    assert [(code, outcome.error) for code, outcome in found.items() if not outcome.ok] == []


async def test_code_that_says_what_it_asks_for_is_found_out_by_its_words(runtime):
    found = {code: (await repeat(runtime, f"return {code}")) for code in SAID}
    assert [code for code, outcome in found.items() if outcome.deterministic or not outcome.ok] == []


PLAIN = frozenset(
    """
    Object Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Promise RegExp Error
    AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError JSON Math
    ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array BigUint64Array BigInt64Array
    Uint8ClampedArray Float16Array Float32Array Float64Array DataView Map BigInt Set Iterator WeakMap WeakSet Proxy
    Reflect DisposableStack AsyncDisposableStack decodeURI decodeURIComponent encodeURI encodeURIComponent escape
    unescape isFinite isNaN console queueMicrotask structuredClone atob btoa TextDecoder TextEncoder URL URLPattern
    URLSearchParams Headers DOMException QuotaExceededError ToolError MCPToolError context name close closed
    clearInterval clearTimeout clearImmediate hasOwnProperty isPrototypeOf propertyIsEnumerable toString valueOf
    toLocaleString __defineGetter__ __defineSetter__ __lookupSetter__ getParent
""".split()  # noqa: SIM905 - one name a line would be a page
)
"""Globals that give the same whenever they are used, or nothing at all."""

ONLY_CLASSES = re.compile(
    r"(?:GPU|DOM|Image|Readable|Writable|Transform)\w+|Cache|CacheStorage|\w+QueuingStrategy|Location|Lock|LockManager|"
    r"NavigatorUAData|PerformanceEntry|PerformanceObserverEntryList|Storage|Window"
)
"""Classes whose instances can only be obtained through another name."""


async def test_every_global_leads_nowhere_or_is_a_word_that_is_looked_for(runtime):
    code = """
    const names = [];
    for (let o = globalThis; o; o = Object.getPrototypeOf(o)) names.push(...Object.getOwnPropertyNames(o));
    return names
    """
    names = set((await runtime.execute(ExecutionRequest(code=code))).result)
    unknown = {name for name in names - PLAIN if may_vary(name) is None}
    assert {name for name in unknown if not ONLY_CLASSES.fullmatch(name)} == set()
    assert [name for name in PLAIN if may_vary(name) is not None] == []


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


async def test_what_the_host_answers_is_not_in_the_code(runtime, tmp_path, monkeypatch):
    monkeypatch.setattr("sandbox.runtime.may_vary", lambda code: None)  # whatever its words

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


async def test_telling_it_again_and_again_is_output_like_any_other(runtime):
    code = """
    const line = new TextEncoder().encode('{"type":"__varied__","what":"x"}\\n'.repeat(1000));
    for (;;) Deno[Deno.internal].core.writeSync(1, line)
    """
    outcome = await repeat(runtime, code)
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.message) == (ErrorType.LIMIT, "Output exceeds 1048576 bytes")


async def test_nothing_is_said_of_a_run_that_is_not_to_be_repeated(runtime):
    outcome = await runtime.execute(ExecutionRequest(code="return [typeof Date.now(), Date.toString()]"))
    assert (outcome.result, outcome.deterministic) == (["number", "function Date() { [native code] }"], False)
