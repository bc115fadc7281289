"""Candidates are compared with recorded scripts in real Deno processes: wrong ones are caught, right ones pass."""

from __future__ import annotations

import anyio
import pytest

from neurons import LiteralReader
from neurons.contracts.ports import ToolExchange
from neurons.quarantine.equality import compare
from sandbox import DenoRuntime, Tier
from sandbox.testing import FunctionTools
from tests.conftest import small
from tests.neurons.candidates import candidate, exchange, settings
from tests.neurons.quarantine.equality_corpus import ALL, INTEREST, LOW, PRICES, TOTALS, Habitual, run

pytestmark = [
    pytest.mark.deno,
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
]


def function(habit: Habitual, code: str, **changes):
    return candidate(
        code,
        kind="function",
        parameters=habit.parameters,
        hosts=habit.hosts,
        tools=habit.tools,
        tier=Tier.NETWORK if habit.hosts else Tier.ISOLATED,
        input_signals=(),
        output_signals=(),
        **changes,
    )


async def compared(neuron, recordings, *, is_killed=lambda: False, tools=None, **quarantine):
    async with DenoRuntime(small(pool_size=2)) as runtime, LiteralReader() as reader:
        return await compare(
            neuron,
            runtime,
            settings(quarantine=quarantine),
            recordings=recordings,
            reader=reader,
            tools=tools,
            is_killed=is_killed,
        )


async def test_thirty_wrong_candidates_are_caught_and_thirty_right_ones_pass():
    of = [(h, kind, what, code) for h in ALL for kind in ("right", "wrong") for what, code in getattr(h, kind).items()]
    assert [kind for _, kind, _, _ in of].count("right") == [kind for _, kind, _, _ in of].count("wrong") == 30
    found: dict[tuple[str, str, str], object] = {}
    async with (
        DenoRuntime(small(pool_size=4)) as runtime,
        LiteralReader() as reader,
        anyio.create_task_group() as tasks,
    ):
        room = anyio.Semaphore(3)

        async def judge(habit: Habitual, kind: str, what: str, code: str) -> None:
            async with room:
                result = await compare(
                    function(habit, code),
                    runtime,
                    # A busy machine must not cut it.
                    settings(quarantine={"equal_timeout_ms": 300_000}),
                    recordings=habit.runs,
                    reader=reader,
                )
            if result.is_different != (kind == "wrong") or not result.compared or result.skipped:
                found[habit.name, kind, what] = result

        for one in of:
            tasks.start_soon(judge, *one)
    assert found == {}


async def test_the_owner_reads_what_was_given_and_what_each_gave():
    result = await compared(function(TOTALS, TOTALS.wrong["swapped fields"]), TOTALS.runs)
    assert result.first_difference.input.startswith("recorded run 1; called with {")
    assert result.first_difference.script == '{"count": 3, "total": 106.88}'
    assert result.first_difference.candidate == '{"count": 106.88, "total": 3}'
    assert (result.compared, result.equal, result.runs) == (1, 0, 1)


async def test_a_mail_to_another_is_a_difference_although_the_result_is_the_same():
    result = await compared(function(LOW, LOW.wrong["other recipient"]), LOW.runs)
    assert "buyer@shop.example" in result.first_difference.script
    assert "seller@shop.example" in result.first_difference.candidate


async def test_runs_without_a_script_or_without_the_arguments_are_told_and_not_counted_as_equal():
    result = await compared(function(INTEREST, INTEREST.right["power"]), [run("")])
    assert (result.compared, result.line) == (0, "not compared with the recorded scripts: its scripts were not kept")
    result = await compared(function(INTEREST, INTEREST.right["power"]), [run('return "nothing of the kind"')])
    assert (result.compared, result.skipped) == (0, 1)
    assert result.line.endswith("its arguments are not in the recorded runs")


async def test_how_many_runs_and_inputs_are_compared_and_for_how_long_are_settings():
    neuron = function(TOTALS, TOTALS.right["loop"])
    result = await compared(neuron, TOTALS.runs, equal_runs=2, equal_cases=10)
    assert (result.runs, result.compared, result.skipped) == (2, 10, 1)
    forever = function(TOTALS, "for (;;);")
    result = await compared(forever, TOTALS.runs, equal_timeout_ms=200)
    assert result.is_cut


async def test_nothing_more_is_run_when_the_kill_switch_is_on():
    result = await compared(function(TOTALS, TOTALS.right["loop"]), TOTALS.runs, is_killed=lambda: True)
    assert result.compared == 0


async def test_what_a_candidate_keeps_between_calls_counts_and_what_a_script_keeps_does_not():
    keeps = "globalThis.n = (globalThis.n ?? 0) + 1;\n"
    late = TOTALS.right["loop"].replace("return {", "if (globalThis.n > 3) count += 1;\nreturn {")
    assert (await compared(function(TOTALS, keeps + late), TOTALS.runs)).is_different
    counting = run(f"{keeps}return context.a + (globalThis.n > 3 ? 1 : 0)", {"a": 1})
    habit = Habitual("", (), {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}, {}, {})
    assert not (await compared(function(habit, "return args.a"), [counting], equal_cases=8)).is_different


WATCH = """const stock = await tools.shop.stock({});
return { low: stock.filter((item) => item.left < 5).length };"""
ITEMS = [{"name": "nuts", "left": 3}, {"name": "bolts", "left": 40}]


def watched():
    return [run(WATCH, calls=[ToolExchange("shop.stock", {}, items)]) for items in (ITEMS, ITEMS[1:])]


def neuron_of(code: str):
    return candidate(code, tools=("shop.stock",))


async def test_what_a_neuron_emits_under_the_names_of_the_result_has_to_be_the_result():
    right = "const s = await tools.shop.stock({}); emit('seen', { low: s.filter((i) => i.left < 5).length, at: 1 })"
    result = await compared(neuron_of(right), watched())
    assert (result.is_different, result.only_calls) == (False, False)
    wrong = "const s = await tools.shop.stock({}); emit('seen', { low: s.filter((i) => i.left <= 5).length })"
    result = await compared(neuron_of(wrong), watched())
    assert result.is_different


async def test_of_a_neuron_that_emits_something_else_only_the_calls_are_claimed():
    silent = "const s = await tools.shop.stock({}); if (s.length > 900) emit('seen', s)"
    result = await compared(neuron_of(silent), watched())
    assert result.only_calls
    assert result.line.startswith("asks the same of shop.stock in ")
    other = await compared(neuron_of("await tools.shop.stock({ all: true })"), watched())
    assert other.is_different
    assert other.line.startswith("asks shop.stock for other things than the recorded scripts, so what it emits")
    assert (other.first_difference.script, other.first_difference.candidate) == (
        "calls shop.stock {}",
        'calls shop.stock {"all":true}',
    )
    more = await compared(neuron_of("for (const a of [{}, { b: 1 }]) await tools.shop.stock(a)"), watched())
    assert (more.first_difference.script, more.first_difference.candidate) == (
        "calls only shop.stock {}",
        'also calls shop.stock {"b":1}',
    )
    nothing = await compared(candidate("emit('seen', 1)"), [run("return { a: 2 }")])
    assert (nothing.compared, nothing.is_different) == (0, False)


async def test_runs_that_give_the_result_in_another_form_say_nothing_of_a_function_that_does_the_same_as_some():
    habit = Habitual("", (), {"type": "object", "properties": {"by": {"type": "number"}}, "required": ["by"]}, {}, {})
    plain = run("return 2 * context.by", {"by": 3})
    wrapped = run("return { twice: 2 * context.by }", {"by": 4})
    named = run("return { result: 2 * context.by }", {"by": 5})
    right = await compared(function(habit, "return { twice: 2 * args.by }"), [plain, wrapped, named], equal_cases=9)
    assert not right.is_different
    assert (right.runs, right.other_form) == (1, 2)
    assert right.line.endswith("; 2 runs gave the result in another form")
    # A value that is wrong in one's own form is a difference, and so is a form that no run has.
    wrong = await compared(function(habit, "return { twice: 3 * args.by }"), [plain, wrapped, named], equal_cases=9)
    assert wrong.is_different
    other = await compared(function(habit, "return [2 * args.by]"), [plain, wrapped, named], equal_cases=9)
    assert other.is_different
    nothing = await compared(function(habit, "return args.by > 4 ? null : 2 * args.by"), [plain, named], equal_cases=9)
    assert nothing.is_different, "null is no form"


async def test_runs_that_asked_for_other_things_say_nothing_of_a_neuron_that_does_the_same_as_some():
    def of(shop: str):
        code = f"return {{ left: (await tools.shop.stock({{ shop: '{shop}' }})).length }}"
        return run(code, calls=[ToolExchange("shop.stock", {"shop": shop}, ITEMS)])

    watch = "emit('seen', { left: (await tools.shop.stock({ shop: 'east' })).length })"
    result = await compared(neuron_of(watch), [of("east"), of("west"), of("north")])
    assert not result.is_different
    assert (result.runs, result.other_things) == (1, 2)
    assert result.line.endswith("; 2 runs asked for other things")
    assert (await compared(neuron_of(watch), [of("west"), of("north")])).is_different, "it does the same as none"
    wrong = watch.replace(".length", ".length + 1")
    assert (await compared(neuron_of(wrong), [of("east"), of("west")])).is_different


async def test_a_script_that_is_one_expression_is_run_as_one():
    recorded = [run("[3, 1, 2].map((x) => x * context.by).at(-1)", {"by": by}) for by in (2, 5)]
    habit = Habitual("", (), {"type": "object", "properties": {"by": {"type": "number"}}, "required": ["by"]}, {}, {})
    assert not (await compared(function(habit, "return 2 * args.by"), recorded)).is_different
    assert (await compared(function(habit, "return 2 + args.by"), recorded)).is_different


async def test_nothing_real_is_asked_for():
    """The recorded address is not one that anything answers at."""
    result = await compared(function(PRICES, PRICES.right["template"]), PRICES.runs, equal_cases=6)
    assert result.equal == result.compared == 6
    far = [
        run('return (await fetch("https://never.example/x")).status', exchanges=[exchange("https://never.example/y")])
    ]
    habit = Habitual("", (), {"type": "object", "properties": {}}, {}, {}, hosts=("never.example",))
    result = await compared(function(habit, 'return (await fetch("https://never.example/x")).status'), far)
    assert result.equal == result.compared > 0


async def test_arguments_that_the_schema_of_a_tool_refuses_are_refused_to_script_and_candidate_alike():
    async def never(_: object) -> None:
        raise AssertionError("a recorded tool was called")

    code = "return (await tools.weather.rows({ days: %s })).length"
    recorded = [run(code % days, calls=[ToolExchange("weather.rows", {"days": days}, [1] * days)]) for days in (1, 2)]
    properties = {"days": {"type": "number"}}
    habit = Habitual("", (), {"type": "object", "properties": properties, "required": ["days"]}, {}, {})
    neuron = function(habit, code % "args.days").model_copy(update={"tools": ("weather.rows",)})
    whole = {"type": "object", "properties": {"days": {"type": "integer"}}}
    result = await compared(neuron, recorded, tools=FunctionTools({"weather.rows": never}, {"weather.rows": whole}))
    assert result.first_difference is None
    assert result.equal == result.compared > 2
