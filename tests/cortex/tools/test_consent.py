"""Policies, and the owner's word on a call."""

from __future__ import annotations

import contextlib
import math
from types import SimpleNamespace

import anyio
import anyio.lowlevel
import pytest

from cortex.settings.sections import ToolSettings
from cortex.tools import Allowed, Calls, Consent, NotAllowed, Tool, Toolbox, policies_without_tool, policy_of
from cortex.tools.owner import AbsentOwner, Decision, ScriptedOwner
from sandbox import ReadyJson, ToolError


def tool(policy: str = "ask", name: str = "shop.order", calls: list | None = None) -> Tool:
    calls = [] if calls is None else calls

    async def order(item: str, amount: int = 1, note: list[str] | None = None) -> str:
        calls.append((item, amount, note))
        return "ordered"

    return Toolbox().add(order, name=name, policy=policy)


@pytest.mark.parametrize(
    ("declared", "policies", "holds"),
    [
        ("allow", {}, "allow"),
        ("deny", {}, "deny"),
        ("allow", {"shop.order": "deny"}, "deny"),
        ("deny", {"shop.order": "allow"}, "allow"),
        ("allow", {"shop_order": "ask"}, "ask"),
        ("allow", {"SHOP_ORDER": "deny"}, "deny"),
        ("allow", {"shop.order": "allow", "shop_order": "deny"}, "deny"),
        ("ask", {"shop": "allow", "shop.orders": "allow", "order": "allow"}, "ask"),
    ],
)
def test_settings_beat_the_declaration_and_the_strictest_of_them_holds(declared, policies, holds):
    assert policy_of(tool(declared), ToolSettings(policies=policies)) == holds


@pytest.mark.parametrize(
    ("own", "policies", "holds"),
    [
        ("ask", {"slack.admin_post": "allow"}, "allow"),
        ("ask", {"slack_admin.post": "allow"}, "ask"),
        ("ask", {"slack_admin_post": "allow"}, "ask"),
        ("allow", {"slack_admin.post": "deny"}, "deny"),
        ("ask", {"Slack.Admin_Post": "allow", "slack_admin_post": "deny"}, "deny"),
        ("deny", {}, "deny"),
    ],
)
def test_a_server_gets_past_no_policy_by_the_name_of_its_tool(own, policies, holds):
    of_a_server = SimpleNamespace(name="slack.admin_post", server="slack", policy=own)
    assert policy_of(of_a_server, ToolSettings(policies=policies)) == holds


def test_policies_that_match_no_tool_are_found():
    settings = ToolSettings(policies={"shop.order": "ask", "shop_ordr": "deny", "CORE_EXECUTE": "ask"})
    assert policies_without_tool(["core.execute", "shop.order"], settings) == ["shop_ordr"]


async def test_the_owner_is_not_asked_about_allowed_or_denied_tools():
    owner = ScriptedOwner([True, True])
    consent = Consent(owner, ToolSettings())
    assert await consent.of(tool("allow"), {}, origin="model") == Allowed()
    assert await consent.of(tool("deny"), {}, origin="code") == NotAllowed("the owner does not allow shop.order")
    assert owner.questions == []


@pytest.mark.parametrize("origin", ["model", "code"])
async def test_the_owner_decides_wherever_the_call_comes_from(origin):
    owner = ScriptedOwner([True, Decision(False, "too\ndear."), False])
    told = []
    consent = Consent(owner, ToolSettings(), turn="t7", on_decision=lambda *facts: told.append(facts))
    assert await consent.of(tool(), {"item": "pear"}, origin=origin, purpose="restock") == Allowed()
    no = "the owner was asked about shop.order and said no"
    assert await consent.of(tool(), {"item": "gold"}, origin=origin) == NotAllowed(f"{no}: too dear")
    assert await consent.of(tool(), {"item": "gold"}, origin=origin) == NotAllowed(no)
    first = owner.questions[0]
    assert (first.tool, first.arguments, first.origin) == ("shop.order", {"item": "pear"}, origin)
    assert (first.purpose, first.turn) == ("restock", "t7")
    assert [(question.arguments["item"], decision.allowed) for question, decision, _ in told] == [
        ("pear", True),
        ("gold", False),
        ("gold", False),
    ]


async def test_without_an_owner_it_is_no():
    refusal = await Consent(AbsentOwner(), ToolSettings()).of(tool(), {}, origin="model")
    assert refusal == NotAllowed('shop.order has the policy "ask", and no owner can be asked here; do without it')


async def test_silence_is_no():
    told = []
    settings = ToolSettings(owner_timeout_s=0.02)
    consent = Consent(ScriptedOwner([None]), settings, on_decision=lambda *facts: told.append(facts))
    with anyio.fail_after(60):
        refusal = await consent.of(tool(), {}, origin="model")
    assert refusal == NotAllowed("the owner was asked about shop.order and said no: no answer within 0.02 s")
    assert told[0][1].allowed is False


class Broken:
    def __init__(self, answer):
        self.answer = answer

    async def decide(self, question):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "answer", [OSError("HOSTSECRET"), True, None, "yes", Decision(allowed="yes"), Decision(allowed=1), object()]
)
async def test_everything_but_a_clear_yes_is_no(answer):
    refusal = await Consent(Broken(answer), ToolSettings()).of(tool(), {}, origin="code")
    assert isinstance(refusal, NotAllowed)
    assert "HOSTSECRET" not in refusal.reason


async def test_an_owner_who_could_not_be_asked_is_not_said_to_have_said_no():
    told = []
    consent = Consent(
        Broken(OSError()), ToolSettings(), on_decision=lambda _, decision, __: told.append(decision.reason)
    )
    refusal = await consent.of(tool(), {}, origin="code")
    assert refusal == NotAllowed("shop.order needs the owner's consent, and the owner could not be asked")
    assert told == ["the owner could not be asked"]


async def test_questions_to_the_owner_are_limited_per_turn_also_when_asked_at_once():
    owner = ScriptedOwner([True] * 20)
    searched = []

    async def redacted(arguments):
        searched.append(arguments)
        return arguments

    consent = Consent(owner, ToolSettings(max_questions_per_turn=3), redacted=redacted)
    answers = []

    async def ask():
        answers.append(await consent.of(tool(), {}, origin="code"))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(ask)
    assert answers.count(Allowed()) == 3
    assert (
        answers.count(NotAllowed("shop.order needs the owner's consent, and at most 3 questions are asked in one turn"))
        == 7
    )
    assert len(owner.questions) == 3
    assert len(searched) == 3, "what is not asked is not searched for secrets, which takes long"


async def test_no_questions_at_all_may_be_the_limit():
    consent = Consent(ScriptedOwner([True]), ToolSettings(max_questions_per_turn=0))
    assert isinstance(await consent.of(tool(), {}, origin="model"), NotAllowed)


async def test_the_owner_is_asked_one_question_at_a_time():
    now = most = 0

    class Slow:
        async def decide(self, question):
            nonlocal now, most
            now += 1
            most = max(most, now)
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            now -= 1
            return Decision(allowed=True)

    consent = Consent(Slow(), ToolSettings())
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(lambda: consent.of(tool(), {}, origin="code"))
    assert most == 1


async def test_a_question_that_is_given_up_makes_way_for_the_next():
    owner = ScriptedOwner([None, True])
    consent = Consent(owner, ToolSettings())

    async def ask():
        await consent.of(tool(), {}, origin="model")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        with anyio.fail_after(60):
            while not owner.questions:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert await consent.of(tool(), {}, origin="model") == Allowed()


async def test_a_call_is_read_consented_to_made_and_reported():
    calls, told = [], []
    order = tool(calls=calls)
    owner = ScriptedOwner([True])
    made = Calls(Consent(owner, ToolSettings()), on_call=told.append)
    result = await made.make(order, '{"Item": "pear", "amount": "3"}', origin="model")
    assert result == ReadyJson(b'"ordered"')
    assert calls == [("pear", 3, None)]
    given = {"item": "pear", "amount": 3, "note": None}
    assert owner.questions[0].arguments == given
    [called] = told
    assert (called.origin, called.tool, called.arguments) == ("model", "shop.order", given)
    assert (called.ok, called.error_code, called.call) == (True, None, None)
    assert called.duration_ms > 0
    assert called.asked_ms > 0


@pytest.mark.parametrize(
    ("arguments", "decisions", "policy", "code", "asked"),
    [
        ({"amount": 1}, [True], "ask", "invalid_arguments", 0),
        ({"item": "x"}, [False], "ask", "denied", 1),
        ({"item": "x"}, [True], "deny", "denied", 0),
    ],
)
async def test_a_call_that_is_not_made_is_reported_with_its_reason(arguments, decisions, policy, code, asked):
    calls, told = [], []
    owner = ScriptedOwner(decisions)
    made = Calls(Consent(owner, ToolSettings()), on_call=told.append)
    with pytest.raises(ToolError) as caught:
        await made.make(tool(policy, calls=calls), arguments, origin="code")
    assert caught.value.code == code
    assert calls == []
    assert len(owner.questions) == asked
    given = arguments if code == "invalid_arguments" else {"item": "x", "amount": 1, "note": None}
    [called] = told
    assert (called.origin, called.tool, called.arguments) == ("code", "shop.order", given)
    assert (called.ok, called.error_code, called.duration_ms) == (False, code, 0.0)
    assert (called.asked_ms is not None) is bool(asked)


async def test_the_tool_gets_the_arguments_that_the_owner_saw_whatever_changes_either_copy():
    calls = []
    sent = {"item": "pear", "note": ["a"]}

    class Meddling:
        async def decide(self, question):
            sent["note"].append("from outside")
            question.arguments["note"].append("by the owner's side")
            question.arguments["item"] = "gold"
            return Decision(allowed=True)

    await Calls(Consent(Meddling(), ToolSettings())).make(tool(calls=calls), sent, origin="model")
    assert calls == [("pear", 1, ["a"])]


async def test_the_timeout_counts_the_tool_and_not_the_owners_time():
    class Thinking:
        async def decide(self, question):
            await anyio.sleep(1.25 * limit_ms / 1000)
            return Decision(allowed=True)

    began = anyio.Event()

    async def slow():
        began.set()
        await anyio.sleep(math.inf)

    # On a machine that stands still for a moment the tool itself may need more than the first limit.
    for limit_ms in (40, 4_000):
        told = []
        made = Calls(
            Consent(Thinking(), ToolSettings()), on_call=lambda called, told=told: told.append(called.error_code)
        )
        with contextlib.suppress(ToolError):
            assert await made.make(tool(), {"item": "x"}, origin="model", timeout_ms=limit_ms) == ReadyJson(
                b'"ordered"'
            )
            break
    hanging = Toolbox().add(slow, name="slow")
    with pytest.raises(ToolError, match="gave no answer within 20 ms"):
        await made.make(hanging, {}, origin="model", timeout_ms=20)

    async def call():
        await made.make(hanging, {}, origin="model")

    began = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await began.wait()
        tasks.cancel_scope.cancel()
    assert told == [None, "timeout", "cancelled"]
