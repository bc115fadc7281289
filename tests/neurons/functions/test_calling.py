"""One call of a function in a real process: its result, its errors, and what counts as a fault of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from neurons.contracts.program import program_of
from neurons.functions.calling import FunctionAnswer, call_function, result_problem
from sandbox import DenoRuntime, ErrorType, Resident
from sandbox.testing import FunctionTools, ScriptedResidents
from tests.conftest import small
from tests.neurons.candidates import settings
from tests.neurons.functions.cases import NUMBER, P_R_N, function, schema

pytestmark = [
    pytest.mark.deno,
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
]


@asynccontextmanager
async def opened(code: str, tools: FunctionTools | None = None, **sections: Any) -> AsyncIterator[Resident]:
    program = program_of(function(code, tools=("notes.add",) if tools else ()), settings(**sections))
    async with DenoRuntime(small(pool_size=0)) as runtime, runtime.resident(program, tools) as resident:
        yield resident


async def called(code: str, arguments: dict[str, Any], **sections: Any) -> FunctionAnswer:
    async with opened(code, **sections) as resident:
        return await call_function(resident, arguments)


async def test_a_call_gives_what_the_code_returned():
    async with opened("interface A { p: number }\nconst { p } = args as A;\nreturn { doubled: p * 2 }") as resident:
        first = await call_function(resident, {"p": 2})
        second = await call_function(resident, {"p": 0.5})
    assert first.ok
    assert [first.result, second.result] == [{"doubled": 4}, {"doubled": 1}]
    assert first.work.cpu_ms >= 0


async def test_a_call_may_use_the_tools_that_the_function_was_lent():
    async def add(arguments: dict[str, Any]) -> Any:
        return {"id": arguments["text"].upper()}

    tools = FunctionTools({"notes.add": add})
    async with opened("return (await tools.notes.add({ text: args.text })).id", tools) as resident:
        answer = await call_function(resident, {"text": "abc"})
    assert (answer.result, answer.work.tool_calls) == ("ABC", 1)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("throw new RangeError(`no rate below ${args.p}`)", "RangeError: no rate below 2"),
        ("return undefined.x", "Cannot read properties of undefined"),
        ("return { f: () => 1 }", "Cannot return result.f: a function"),
        ("return 'x'.repeat(1e6)", "Cannot return a result of 1000002 bytes, more than 262144"),
        ("return { get p() { throw new Error('got') } }", "reading it threw Error: got"),
        ("return { toJSON() { return { toJSON: this.toJSON } } }", "Cannot return result"),
        ("return await tools.learned.other({})", "Tools lent to this run: none"),
        ("emit('x')", "emit is not defined"),
        ("return await fetch('https://example.com/')", "fetch"),
        ("await Deno.readTextFile('/etc/passwd')", ""),
    ],
)
async def test_an_error_that_the_code_meets_is_an_answer_and_no_fault(code, said):
    answer = await called(code, {"p": 2})
    assert answer.error is not None
    assert said in answer.error.message
    assert not answer.is_fault
    assert answer.result is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("while (true);", ErrorType.TIMEOUT),
        ("await new Promise((resolve) => setTimeout(resolve, 60000))", ErrorType.TIMEOUT),
        ("const kept = []; while (true) kept.push(new Array(1e5).fill(args.p))", None),
        ("Deno.exit(0)", None),
        ("return 1 +", ErrorType.SYNTAX),
        ("for (;;) console.log('x'.repeat(1e5))", None),
    ],
)
async def test_a_call_that_costs_the_process_is_a_fault(code, kind):
    answer = await called(code, {"p": 2}, autonomic={"timeout_isolated_ms": 5_000})
    assert answer.is_fault
    assert answer.error is not None
    assert kind in {None, answer.error.type}


async def test_arguments_and_results_are_as_large_as_the_settings_say():
    async with opened("return 'x'.repeat(args.p)", functions={"max_bytes": 1_000}) as resident:
        fits = await call_function(resident, {"p": 900})
        too_long = await call_function(resident, {"p": 1_000})
        too_much = await call_function(resident, {"p": 1, "more": "x" * 3_000})
    assert fits.result == "x" * 900
    assert too_long.error is not None
    assert "Cannot return a result of 1002 bytes, more than 1000" in too_long.error.message
    assert too_much.error is not None
    assert too_much.error.type is ErrorType.LIMIT
    assert [too_long.is_fault, too_much.is_fault] == [False, False]


async def test_after_a_fault_the_next_call_finds_a_fresh_process():
    code = "globalThis.calls = (globalThis.calls ?? 0) + 1; if (args.p === 0) while (true); return globalThis.calls"
    async with opened(code) as resident:
        answers = [await call_function(resident, {"p": p}) for p in (1, 1, 0, 1)]
    # What a function leaves behind in its process is seen by its own later calls, and by no other function.
    assert [answer.result for answer in answers] == [1, 2, None, 1]
    assert [answer.is_fault for answer in answers] == [False, False, True, False]


async def test_prototypes_that_a_call_pollutes_change_neither_arguments_nor_answers_of_the_host():
    code = """
    Object.prototype.args = { p: 99 };
    JSON.stringify = () => '"forged"';
    return [args.p];
    """
    async with opened(code) as resident:
        answers = [await call_function(resident, {"p": p}) for p in (1, 2)]
    assert [answer.result for answer in answers] == [[1], [2]]


async def test_a_process_that_answers_with_what_is_no_result_has_failed():
    residents = ScriptedResidents(lambda signal, state, emit: emit("other", signal["args"]))
    async with residents.resident(program_of(function(), settings())) as resident:
        answer = await call_function(resident, {"p": 1})
    assert answer.error is not None
    assert answer.error.type is ErrorType.CRASH


async def test_a_result_is_compared_with_what_the_function_promised():
    promised = function(returns=schema(total=NUMBER))
    assert result_problem(promised, {"total": 1.5}) is None
    assert "total" in (result_problem(promised, {"total": "much"}) or "")
    assert result_problem(promised, None) is not None
    assert result_problem(function(), None) is None
    assert P_R_N["additionalProperties"] is False
