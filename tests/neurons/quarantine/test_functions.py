"""Candidate functions in real Deno: called with usual and odd arguments, and told what to change."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_core import to_json

from neurons import Neuron, Report
from neurons.contracts.ports import ToolExchange
from neurons.habits.fingerprint_reader import FingerprintReader
from neurons.quarantine import function_arguments
from neurons.quarantine.quarantine import rehearse
from sandbox import DenoRuntime, Tier
from tests.conftest import small
from tests.neurons.candidates import exchange, recording, settings
from tests.neurons.functions.cases import COMPOUND, NUMBER, function, schema

DENO = [
    pytest.mark.deno,
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
]
TEXT = {"type": "string"}


def deno(test: Any) -> Any:
    for mark in DENO:
        test = mark(test)
    return test


async def tried(neuron: Neuron, *recordings: Any, **sections: Any) -> Report:
    given = settings(**{"autonomic": {"timeout_isolated_ms": 5_000}, **sections})
    async with DenoRuntime(small()) as runtime, FingerprintReader() as reader:
        return await rehearse(neuron, runtime, given, recordings=recordings, read=reader.read)


@deno
async def test_an_ordinary_function_passes_and_every_group_of_arguments_is_in_the_report():
    report = await tried(function(returns=NUMBER))
    assert report.problems == ()
    assert [one.name for one in report.scenarios] == ["usual arguments", "edges"]
    assert all(one.ok and one.signals for one in report.scenarios)
    # 1e308 to the power of something is no number: that is told, and is the caller's own fault.
    assert any("returns what it does not promise for the arguments" in finding for finding in report.findings)


@deno
async def test_a_function_that_was_recorded_has_to_give_a_result_for_what_was_recorded():
    code = "if (args.p > 500) throw new Error('too rich'); return args.p"
    passed = await tried(function(code, schema(p=NUMBER)), recording({"p": 1}))
    failed = await tried(function(code, schema(p=NUMBER)), recording({"p": 1}), recording({"p": 501}))
    assert passed.problems == ()
    assert failed.problems == ('recorded 2: failed on the arguments {"p":501}, which were recorded: too rich',)


@deno
async def test_it_may_throw_for_odd_arguments_and_the_owner_reads_that():
    code = "if (!(args.p > 0)) throw new RangeError('p is above 0'); return 1 / args.p"
    report = await tried(function(code, schema(p=NUMBER)))
    assert report.problems == ()
    assert any("throws for the arguments" in finding and "p is above 0" in finding for finding in report.findings)


@deno
@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("args.p + 1", "gave no result for any usual arguments: return a value"),
        ("throw new Error('not yet')", "It threw: not yet"),
        ("return 1 +", "SyntaxError"),
        ("while (true);", "TimeoutError"),
        ("if (args.p < 0) while (true); return 1", "edges: failed on the arguments"),
        ("if (args.p === 0) Deno.exit(1); return 1", "edges: failed on the arguments"),
        ("globalThis.n = (globalThis.n ?? 0) + 1; return globalThis.n", "answered the same arguments differently"),
        ("return await tools.learned.other({ p: 1 })", 'its code calls the tool "learned.other"'),
        ("return (await fetch('https://example.com/')).status", "its code uses fetch, and it is in the isolated tier"),
        ("try { await Deno.readTextFile('a') } catch {} return 1", "a function has none"),
        ("for (const end = Date.now() + 300; Date.now() < end;); return 1", "and the budget is 0.001"),
    ],
)
async def test_what_is_wrong_is_a_problem_in_words(code, problem):
    report = await tried(function(code, schema(p=NUMBER), energy_budget=0.001))
    assert any(problem in found for found in report.problems), report.problems


@deno
async def test_a_result_that_is_not_promised_is_a_problem():
    report = await tried(function("return String(args.p)", schema(p=NUMBER), returns=NUMBER))
    assert any("returned what it does not promise" in problem for problem in report.problems)


@deno
async def test_network_and_tools_are_replayed_and_what_is_not_declared_is_a_problem():
    code = "const r = await fetch('https://api.example.com/a'); return (await r.json()).usd + (await tools.notes.add({})).n"
    declared = {"tier": Tier.NETWORK, "hosts": ("api.example.com",), "tools": ("notes.add",)}
    recorded = recording(None, (exchange("https://api.example.com/a"),), (ToolExchange("notes.add", {}, {"n": 1}),))
    passed = await tried(function(code, schema(p=NUMBER), returns=NUMBER, **declared), recorded)
    assert passed.problems == ()
    assert [one.name for one in passed.scenarios] == ["usual arguments", "edges", "network and tools fail"]
    undeclared = await tried(
        function(code, schema(p=NUMBER), tier=Tier.NETWORK, hosts=("other.example.com",), tools=("notes.add",)),
        recorded,
    )
    assert any("api.example.com" in problem for problem in undeclared.problems)
    nothing_recorded = await tried(function(code, schema(p=NUMBER), **declared))
    assert nothing_recorded.problems == ()
    assert any("nothing was recorded for" in finding for finding in nothing_recorded.findings)


@deno
async def test_what_takes_too_long_in_all_is_a_problem():
    slow = "await new Promise((resolve) => setTimeout(resolve, 400)); return 1"
    report = await tried(function(slow, schema(p=NUMBER)), quarantine={"timeout_ms": 1_000})
    assert any("took longer than 1000 ms" in problem for problem in report.problems)


@deno
async def test_a_schema_that_makes_no_sense_is_a_problem_and_no_error_of_the_host():
    for parameters in (
        schema(p={"type": "number", "minimum": "much"}),
        schema(p={"type": "string", "maxLength": "x"}),
        schema(p={"enum": 3}),
    ):
        report = await tried(function("return 1", parameters))
        assert report.problems


@pytest.mark.parametrize(
    "part",
    [
        NUMBER,
        {"type": "integer", "minimum": 3, "maximum": 4},
        {"type": "string", "minLength": 3, "maxLength": 5},
        {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 4},
        {"type": "boolean"},
        {"enum": ["a", "b"]},
        {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
        {"type": ["string", "null"]},
        {"anyOf": [NUMBER, TEXT]},
        {"type": "string", "default": "given"},
    ],
)
async def test_all_arguments_fit_the_schema_and_usual_ones_are_found_for_each_type(part):
    neuron = function("return 1", schema(a=part, b=part, optional=("b",)))
    usual, odd = function_arguments.typical(neuron), function_arguments.edges(neuron)
    assert {tuple(sorted(each)) for each in usual} == {("a", "b"), ("a",)}
    assert odd
    assert all(function_arguments.fits(neuron, each) for each in [*usual, *odd])
    assert len(odd) <= function_arguments.MAX_EDGES


async def test_defaults_and_names_make_usual_arguments():
    parameters = schema(start_date=TEXT, rate={"type": "number", "default": 0.05})
    assert function_arguments.typical(function(COMPOUND, parameters))[0] == {"start_date": "2026-01-15", "rate": 0.05}


def arrays(levels: int) -> dict[str, Any]:
    return NUMBER if levels == 0 else {"type": "array", "minItems": 50, "items": arrays(levels - 1)}


@pytest.mark.parametrize("levels", [2, 3, 40])
def test_arrays_in_arrays_make_no_arguments_without_end(levels):
    # What is made for three levels would hold the event loop for a second, and for four levels for minutes.
    made = function_arguments.typical(function(parameters=schema(p=arrays(levels))))
    made += function_arguments.edges(function(parameters=schema(p=arrays(min(levels, 2)))))
    assert max((len(to_json(each)) for each in made), default=0) < 20_000


def test_a_matrix_of_a_fixed_size_is_still_made():
    row = {"type": "array", "minItems": 9, "maxItems": 9, "items": NUMBER}
    matrix = {"type": "array", "minItems": 9, "maxItems": 9, "items": row}
    [usual, *_] = function_arguments.typical(function(parameters=schema(p=matrix)))
    assert [len(each) for each in usual["p"]] == [9] * 9
