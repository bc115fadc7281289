"""The toolbox inside the sandbox: lent, asked for and refused there as outside."""

from __future__ import annotations

import math

import anyio
import pytest
from pydantic import BaseModel, ConfigDict

from cortex.settings.sections import ToolSettings
from cortex.tools import Calls, Consent, LentTools, Toolbox
from cortex.tools.owner import AbsentOwner, Decision, ScriptedOwner
from sandbox import ReadyJson, ToolError
from tests.conftest import execute

CODE = """
const said = [];
for (const [name, args] of context) {
  try {
    said.push(await tools.shop[name](args));
  } catch (error) {
    said.push(`${error.code}: ${error.message}`);
  }
}
return said;
"""


class Shop:
    def __init__(self) -> None:
        self.made: list[str] = []
        self.toolbox = Toolbox()
        self.toolbox.add(self.stock, name="shop.stock")
        self.toolbox.add(self.order, name="shop.order", policy="ask")
        self.toolbox.add(self.close, name="shop.close", policy="deny")
        self.toolbox.add(self.stock, name="shop.secret", for_code=False)

    def stock(self, item: str) -> int:
        """How many there are."""
        self.made.append(f"stock {item}")
        return len(item)

    async def order(self, item: str, amount: int = 1) -> str:
        self.made.append(f"order {item} {amount}")
        return "ordered"

    async def close(self) -> None:
        self.made.append("close")


def lent(shop: Shop, owner=None, told: list | None = None, **settings) -> LentTools:
    consent = Consent(owner or AbsentOwner(), ToolSettings(**settings))
    told = [] if told is None else told
    return LentTools(shop.toolbox, Calls(consent, on_call=told.append), purpose="restock")


async def test_tools_for_code_are_lent_and_no_others():
    tools = lent(Shop())
    assert [tool.name for tool in tools.declarations()] == ["shop.stock", "shop.order", "shop.close"]
    first = tools.declarations()[0]
    assert (first.description, first.output_schema) == ("How many there are.", {"type": "integer"})
    assert first.input_schema["required"] == ["item"]


@pytest.mark.parametrize("name", ["shop.secret", "shop_stock", "core.execute", "core_execute", "__class__", "", "shop"])
async def test_a_tool_that_was_not_lent_does_not_exist(name):
    shop = Shop()
    with pytest.raises(ToolError) as caught:
        await lent(shop).call(name, {"item": "x"})
    assert caught.value.code == "not_lent"
    assert shop.made == []


async def test_a_tool_that_is_added_later_is_not_lent_to_a_run_that_has_begun():
    shop = Shop()
    tools = lent(shop)
    shop.toolbox.add(shop.stock, name="shop.late")
    with pytest.raises(ToolError, match="was lent"):
        await tools.call("shop.late", {"item": "x"})


@pytest.mark.deno
async def test_the_owner_decides_about_calls_from_code_too():
    shop, told = Shop(), []
    owner = ScriptedOwner([True, Decision(False, "too dear")])
    calls = [
        ["stock", {"item": "pear"}],
        ["order", {"item": "pear", "amount": 2}],
        ["order", {"item": "gold"}],
        ["order", {"item": "plum"}],
        ["close", {}],
        ["order", {"item": 7}],
    ]
    outcome = await execute(CODE, lent(shop, owner, told, max_questions_per_turn=2), context=calls)
    assert outcome.result == [
        4,
        "ordered",
        "denied: the owner was asked about shop.order and said no: too dear",
        "denied: shop.order needs the owner's consent, and at most 2 questions are asked in one turn",
        "denied: the owner does not allow shop.close",
        'invalid_arguments: tools.shop.order: arguments.item: 7 is not of type "string"',
    ]
    assert shop.made == ["stock pear", "order pear 2"]
    assert [(asked.tool, asked.arguments, asked.origin, asked.purpose) for asked in owner.questions] == [
        ("shop.order", {"item": "pear", "amount": 2}, "code", "restock"),
        ("shop.order", {"item": "gold", "amount": 1}, "code", "restock"),
    ]
    assert [(called.tool, called.ok, called.error_code) for called in told] == [
        ("shop.stock", True, None),
        ("shop.order", True, None),
        ("shop.order", False, "denied"),
        ("shop.order", False, "denied"),
        ("shop.close", False, "denied"),
    ]


@pytest.mark.deno
async def test_policies_of_the_settings_hold_for_calls_from_code_too():
    shop = Shop()
    policies = {"shop.stock": "deny", "shop_order": "allow"}
    calls = [["stock", {"item": "pear"}], ["order", {"item": "pear"}]]
    outcome = await execute(CODE, lent(shop, policies=policies), context=calls)
    assert outcome.result == ["denied: the owner does not allow shop.stock", "ordered"]
    assert shop.made == ["order pear 1"]


@pytest.mark.deno
async def test_many_questions_at_once_are_answered_one_by_one():
    shop = Shop()
    owner = ScriptedOwner([True, False, True])
    code = "return await Promise.allSettled(['a', 'b', 'c'].map((item) => tools.shop.order({ item })))"
    outcome = await execute(code, lent(shop, owner))
    assert sorted(settled["status"] for settled in outcome.result) == ["fulfilled", "fulfilled", "rejected"]
    assert len(shop.made) == 2


@pytest.mark.deno
async def test_a_forged_call_of_a_tool_that_needs_consent_needs_it():
    shop = Shop()
    code = """
    const frame = { type: "__tool_call__", call_id: "x1", name: "shop.order", params: { item: "gold" } };
    Deno[Deno.internal].core.writeSync(1, new TextEncoder().encode(JSON.stringify(frame) + "\\n"));
    return await tools.shop.stock({ item: "abc" });
    """
    owner = ScriptedOwner([False])
    outcome = await execute(code, lent(shop, owner))
    assert outcome.result == 3
    assert shop.made == ["stock abc"]
    assert len(owner.questions) == 1


@pytest.mark.deno
async def test_the_clock_of_a_run_stands_still_while_a_person_decides():
    class Slow:
        async def decide(self, question):
            await anyio.sleep(1.6 * limit_ms / 1000)
            return Decision(allowed=True)

    code = "return await tools.shop.order({ item: 'pear' })"
    # On a machine that stands still for a moment the code itself may need more than the first limit.
    for limit_ms in (500, 5_000):
        shop = Shop()
        outcome = await execute(code, lent(shop, Slow()), timeout_ms=limit_ms, tool_timeout_ms=limit_ms)
        if outcome.ok:
            break
    assert outcome.result == "ordered", outcome.error
    assert shop.made == ["order pear 1"]


@pytest.mark.deno
async def test_a_tool_that_ran_into_its_time_is_reported_as_what_the_code_was_told():
    toolbox, told = Toolbox(), []

    @toolbox.tool
    async def hang() -> None:
        await anyio.sleep_forever()

    consent = Consent(AbsentOwner(), ToolSettings())
    tools = LentTools(toolbox, Calls(consent, on_call=told.append))
    code = "try { await tools.hang({}) } catch (error) { return error.code }"
    outcome = await execute(code, tools, tool_timeout_ms=50)
    assert outcome.result == "timeout"
    assert [(called.tool, called.ok, called.error_code) for called in told] == [("hang", False, "timeout")]


@pytest.mark.deno
async def test_a_tool_whose_run_ended_is_reported_as_cancelled():
    toolbox, told, begun = Toolbox(), [], []

    @toolbox.tool
    async def hang() -> None:
        begun.append(1)
        await anyio.sleep_forever()

    consent = Consent(AbsentOwner(), ToolSettings())
    tools = LentTools(toolbox, Calls(consent, on_call=told.append))
    # On a machine that stands still for a moment the first limit may end the run before it has called anything.
    for limit_ms in (200, 5_000):
        told.clear()
        begun.clear()
        outcome = await execute("tools.hang({}); await tools.hang({})", tools, timeout_ms=limit_ms)
        if len(begun) == 2:
            break
    assert outcome.error.type == "TimeoutError", outcome.error
    assert [(called.tool, called.ok, called.error_code) for called in told] == [("hang", False, "cancelled")] * 2


class Measured(BaseModel):
    """Writes what JSON lacks, as JavaScript has it."""

    model_config = ConfigDict(ser_json_inf_nan="constants")
    values: list[float]
    note: str = "NaN\n-Infinity"


def measure() -> Measured:
    return Measured(values=[math.nan, math.inf, -math.inf, 1.5])


async def test_results_for_code_are_passed_on_as_json_text_without_parsing():
    shop = Shop()
    assert await lent(shop).call("shop.stock", {"item": "pear"}) == ReadyJson(b"4")
    shop.toolbox.add(measure, name="shop.measure")
    sent = await lent(shop).call("shop.measure", {})
    assert sent == ReadyJson(b'{"values":[null,null,null,1.5],"note":"NaN\\n-Infinity"}')


@pytest.mark.deno
async def test_nan_in_a_result_is_null_for_code_too():
    shop = Shop()
    shop.toolbox.add(measure, name="shop.measure")
    shop.toolbox.add(lambda: [math.nan, {"a": -math.inf}, (1, 2)], name="shop.any")
    outcome = await execute(CODE, lent(shop), context=[["measure", {}], ["any", {}]])
    assert outcome.result == [
        {"values": [None, None, None, 1.5], "note": "NaN\n-Infinity"},
        [None, {"a": None}, [1, 2]],
    ]
