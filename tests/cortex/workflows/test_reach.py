"""What an agent may make of a plan: no more than the plan could do, and nothing past the owner."""

from __future__ import annotations

import pytest

from cortex.workflows import Plan, PlanError, Replan, replanned
from cortex.workflows.reach import require_within
from tests.cortex.workflows.support import code, decision, plan, tool

POLICIES = {"repo.read": "allow", "repo.list": "allow", "repo.post": "allow", "mail.send": "ask", "disk.wipe": "deny"}
PLAN = plan(
    tool("read", "repo.read"),
    decision("which", "read", by="agent", may_replan=True),
    decision("sure", "which"),
    tool("post", "repo.post", "sure"),
)


def after(steps: Plan, *tasks: dict, remove: tuple[str, ...] = ()) -> Plan:
    said = Replan.model_validate({"add": list(tasks), "remove": list(remove)})
    found = replanned(steps, said.add, said.remove, frozenset({"read", "which"}), revision=2)
    require_within(steps, said, found, POLICIES.get)
    return found


def test_an_agent_adds_what_the_plan_does_already_and_plain_code():
    found = after(PLAN, tool("more", "repo.read", "which"), code("sum", "return 1", "more", tools=["repo.read"]))
    assert [task.id for task in found.tasks][-2:] == ["more", "sum"]
    after(PLAN, code("plain", "return 1"), decision("again", by="agent", may_replan=True), decision("ask_owner"))
    after(PLAN, tool("later", "repo.post", "sure"), remove=("post",))
    after(PLAN, tool("behind", "repo.list", "sure"))


@pytest.mark.parametrize(
    ("tasks", "remove", "why"),
    [
        ([tool("p", "repo.post", "which")], (), 'would call repo.post before the owner has answered "sure"'),
        ([tool("post", "repo.post", "which")], ("post",), 'before the owner has answered "sure"'),
        ([code("p", "return 1", "which", tools=["repo.post"])], (), 'before the owner has answered "sure"'),
        ([tool("p", "repo.list", "which")], (), 'would call repo.list before the owner has answered "sure"'),
        ([], ("sure", "post"), 'task "sure" asks the owner: only the owner can remove it'),
        ([tool("m", "mail.send", "sure")], (), "would call mail.send, whose policy is stricter than the plan has"),
        ([tool("m", "disk.wipe", "sure")], (), "whose policy is stricter than the plan has"),
        ([tool("m", "nobody.knows", "sure")], (), "whose policy is stricter than the plan has"),
        ([code("n", "return 1", "sure", sandbox_config={"allowNetwork": True})], (), "would have the network"),
        ([code("n", "return 1", "sure", workspace="docs")], (), "would have files"),
        ([code("n", "return 1", "sure", intent="send mail")], (), "would have tools that fit an intent"),
    ],
)
def test_an_agent_reaches_no_further_than_the_plan_and_never_past_the_owner(tasks, remove, why):
    with pytest.raises(PlanError, match=why):
        after(PLAN, *tasks, remove=remove)


def test_a_stricter_tool_of_the_plan_lets_others_be_as_strict_and_no_stricter():
    steps = plan(*(task.model_dump() for task in PLAN.tasks), tool("mail", "mail.send", "sure"))
    after(steps, tool("m", "mail.send", "sure"))
    with pytest.raises(PlanError, match=r"would call disk\.wipe, whose policy is stricter"):
        after(steps, tool("m", "disk.wipe", "sure"))


TWICE = plan(
    *(task.model_dump() for task in PLAN.tasks),
    tool("twice", "repo.list", "sure", idempotent=True, retries=1),
    code("words", "return 1", "sure", intent="read mail"),
)


@pytest.mark.parametrize(
    "task",
    [
        tool("p", "repo.post", "sure", idempotent=True),
        tool("p", "repo.post", "sure", idempotent=True, retries=10),
        code("p", "return 1", "sure", tools=["repo.post"], idempotent=True),
        tool("p", "repo.list", "sure", idempotent=True, retries=2),
        code("p", "return 1", "sure", intent="read mail", idempotent=True),
    ],
)
def test_an_agent_repeats_only_what_the_plan_may_repeat_and_as_often(task):
    with pytest.raises(PlanError, match='task "p" would repeat what no task of the plan may repeat as often'):
        after(TWICE, task)


def test_an_agent_keeps_what_the_plan_may_repeat_and_its_words():
    after(TWICE, tool("l", "repo.list", "sure", idempotent=True, retries=1), tool("p", "repo.post", "sure", retries=9))
    after(TWICE, code("plain", "return 1", retries=10), code("w", "return 1", "sure", intent="read mail "))
    with pytest.raises(PlanError, match="would have tools that fit an intent"):
        after(TWICE, code("w", "return 1", "sure", intent="send money"))
