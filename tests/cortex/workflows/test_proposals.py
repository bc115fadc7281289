"""Plans that a model proposes: kept as runs, shown to the owner, and begun by nothing but a yes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from cortex import Decision, ScriptedOwner
from cortex.home import Home
from cortex.tools import describe
from cortex.workflows import (
    APPROVAL,
    Approve,
    PlanError,
    Reject,
    RunRow,
    SqliteJournal,
    Value,
    WorkflowError,
    Workflows,
)
from tests.cortex.workflows.support import LIMIT_S, asked, code, cortex, decision, kinds, plan, tool, until
from tests.cortex.workflows.test_workflows import Shop

ON = {"workflows": {"plan": True}}
POST = {"name": "post it", "tasks": [tool("post", "repo.post", arguments={"text": "hello"})]}


async def proposed(place: Any, given: object) -> str:
    async with place.turn() as turn:
        return await turn.call("core_plan", json.dumps(given))


async def ended(flows: Workflows, run: str) -> str:
    with anyio.fail_after(LIMIT_S):
        return (await flows.wait(run)).run.status


async def test_without_an_owner_to_ask_the_run_waits_and_goes_on_when_it_is_approved(tmp_path: Path):
    shop = Shop()
    async with cortex(tmp_path, toolbox=shop.toolbox, **ON) as place:
        told = await proposed(place, POST)
        [run] = place.workflows.list()
        assert told.startswith(f"Run {run.id} waits for the owner")
        question = await asked(place.workflows, run.id, APPROVAL)
        row = place.workflows.show(run.id).run
        assert (row.started_by, row.reason) == ("agent", "it waits for the owner to approve its plan")
        assert row.turn
        assert 'Plan "post it": 1 task in 1 layer' in question.shown
        assert '|  "text": "hello"' in question.shown
        assert shop.posted == []
        with pytest.raises(WorkflowError, match="answered by the owner"):
            await place.workflows.decide(run.id, APPROVAL, Approve(), shown_hash=question.shown_hash, by="agent:x")
        with pytest.raises(PlanError, match="approved or rejected as it is"):
            await place.workflows.decide(run.id, APPROVAL, Value(value=1), shown_hash=question.shown_hash, by="ann")
        with pytest.raises(PlanError, match="not put to the agent"):
            await place.workflows.decide_as_agent(run.id, APPROVAL, Approve(), shown_hash=question.shown_hash)
        await place.workflows.decide(run.id, APPROVAL, Approve(), shown_hash=question.shown_hash, by="ann")
        assert await ended(place.workflows, run.id) == "done"
        assert shop.posted == ["hello"]
        answered = [each.facts for each in place.audit.records() if each.facts.get("event") == "decision_answered"]
        assert [(each["task"], each["answer"], each["by"]) for each in answered] == [(APPROVAL, "approve", "ann")]


async def test_the_owner_port_is_shown_the_plan_and_its_yes_starts_the_run(tmp_path: Path):
    shop, owner = Shop(), ScriptedOwner([True])
    steps = {**POST, "tasks": [*POST["tasks"], decision("sure", "post")]}
    async with cortex(tmp_path, toolbox=shop.toolbox, owner=owner, **ON) as place:
        told = await proposed(place, {"plan": steps})
        [run] = place.workflows.list()
        assert told.startswith(f"Run {run.id} has started. It will wait for answers to sure (the owner).")
        assert "hello" not in told
        question = owner.questions[0]
        assert (question.tool, question.origin) == ("core.plan", "model")
        kept = place.workflows.show(run.id).decisions[APPROVAL]
        assert (question.arguments["hash"], question.arguments["shown"]) == (kept.shown_hash, kept.shown)
        lines = describe(question).split("\n")
        assert lines[0] == f"The agent proposes a plan (run {run.id}). May it run?"
        assert lines[1:] == kept.shown.split("\n")
        await until(place.workflows, run.id, "done")


async def test_a_no_of_the_owner_ends_the_run_before_anything_has_run(tmp_path: Path):
    shop, owner = Shop(), ScriptedOwner([Decision(allowed=False, reason="not today")])
    async with cortex(tmp_path, toolbox=shop.toolbox, owner=owner, **ON) as place:
        told = await proposed(place, POST)
        assert told.startswith("EXECUTION_DENIED: ")
        assert "the plan was not approved: not today" in told
        [run] = place.workflows.list()
        assert run.status == "aborted"
        assert shop.posted == []


async def test_an_owner_who_is_not_there_has_not_said_no(tmp_path: Path):
    owner = ScriptedOwner([Decision(allowed=False, reason="no terminal", is_answer=False)])
    settings = {**ON, "tools": {"owner_timeout_s": 0.5}}
    async with cortex(tmp_path, toolbox=Shop().toolbox, owner=owner, **settings) as place:
        assert "waits for the owner" in await proposed(place, POST)
        [run] = place.workflows.list()
        assert place.workflows.show(run.id).decisions[APPROVAL].said is None


async def test_with_the_policy_allow_a_plan_starts_at_once_and_stricter_tools_are_still_asked_about(tmp_path: Path):
    shop, owner = Shop(), ScriptedOwner([False])
    policies = {"tools": {"policies": {"core.plan": "allow", "repo.post": "ask"}}}
    async with cortex(tmp_path, toolbox=shop.toolbox, owner=owner, **ON, **policies) as place:
        told = await proposed(place, POST)
        [run] = place.workflows.list()
        assert told == f"Run {run.id} has started. It goes on by itself, and its results are not told here."
        assert place.workflows.show(run.id).decisions[APPROVAL].by == "policy"
        assert await ended(place.workflows, run.id) == "failed"
        assert [(each.tool, each.origin) for each in owner.questions] == [("repo.post", "workflow")]
        assert shop.posted == []


async def test_a_plan_is_offered_where_the_setting_says_so_and_taken_unless_the_policy_denies_it(tmp_path: Path):
    def names(place: Any) -> list[str]:
        return [each["function"]["name"] for each in place.openai_tools()]

    async with cortex(tmp_path / "off", toolbox=Shop().toolbox) as place:
        assert "core_plan" not in names(place)
        assert "waits for the owner" in await proposed(place, POST)
        async with place.turn() as turn:
            assert "core_plan" not in await turn.call("no_such_tool")
    async with cortex(tmp_path / "on", **ON) as place:
        assert "core_plan" in names(place)
    async with cortex(tmp_path / "deny", **ON, tools={"policies": {"core.plan": "deny"}}) as place:
        assert "core_plan" not in names(place)
        assert await proposed(place, POST) == "EXECUTION_DENIED: the owner does not allow core.plan"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"name": "x", "tasks": [code("__proto__", "return 1")]}, "an id begins with a letter"),
        ({"name": "x", "tasks": [code(f"t{at}", "return 1") for at in range(201)]}, "201 tasks; at most 200"),
        ({"name": "x", "tasks": [code("a", "x" * 2_000_000)]}, "more than 1048576"),
        ({"name": "x", "tasks": [code("a", "x" * 20_001)]}, "the plan is too long to be shown to the owner"),
        (
            {"name": "x", "tasks": [code(f"t{at}", "x" * 19_000) for at in range(11)]},
            'task "t10": the plan is too long',
        ),
        ({"name": "x", "tasks": [code("a", "return 1", "a")]}, "in a circle: a → a"),
        ({"name": "x", "tasks": [code("a", "return 1"), code("a", "return 2")]}, 'two tasks "a"'),
        ({"name": "x", "tasks": [tool("a", "no.such")]}, 'names "no.such", and there is no such tool'),
        ({"name": "x", "tasks": [tool("a", "core.remember")]}, "names core.remember, which is not for workflows"),
        ({"name": "x", "tasks": [code("a", "return 1", tools=["core_plan"])]}, "which is not for workflows"),
        ({"name": "x", "tasks": [code("a", "1", sandbox_config={"allowNetwork": True})]}, "this host allows none"),
        (
            {"name": "x", "tasks": [code("a", "return 1", workspace="docs")]},
            'wants the folder "docs", and no folder is granted',
        ),
        (
            {"name": "x", "tasks": [], "id": "r1", "started_by": "owner"},
            "there is no such field; a plan has: name, tasks",
        ),
        ([1], "core.plan takes one object"),
        ({"name": "x", "tasks": "none"}, "tasks: must be a list"),
    ],
)
async def test_a_plan_that_is_not_sound_is_answered_with_its_error_and_nothing_is_kept(tmp_path: Path, given, why):
    async with cortex(tmp_path, toolbox=Shop().toolbox, **ON) as place:
        told = await proposed(place, given)
        assert told.startswith("EXECUTION_DENIED: ")
        assert why in told
        assert len(told) < 1_500
        assert list(place.workflows.list()) == []


async def test_a_model_cannot_flood_the_owner_with_plans(tmp_path: Path):
    async with cortex(tmp_path, toolbox=Shop().toolbox, **ON) as place:
        for _ in range(5):
            told = await proposed(place, POST)
            await until(place.workflows, told.split()[1], "waiting")
        assert "5 plans wait for the owner already" in await proposed(place, POST)
        first = place.workflows.list()[-1].id
        question = place.workflows.show(first).decisions[APPROVAL]
        await place.workflows.decide(first, APPROVAL, Reject(), shown_hash=question.shown_hash, by="ann")
        await until(place.workflows, first, "aborted")
        assert "waits for the owner" in await proposed(place, POST)


async def test_nothing_of_an_agents_run_begins_in_another_process_either_until_it_is_approved(tmp_path: Path):
    shop = Shop()
    async with cortex(tmp_path, toolbox=shop.toolbox, **ON) as place:
        await proposed(place, POST)
        [run] = place.workflows.list()
        before = await asked(place.workflows, run.id, APPROVAL)
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        await place.workflows.resume(run.id)
        await until(place.workflows, run.id, "waiting")
        assert shop.posted == []
        fork = await place.workflows.fork(run.id, "post")
        question = await asked(place.workflows, fork.id, APPROVAL)
        assert question.shown_hash != before.shown_hash, "a yes to one run is none to another"
        assert shop.posted == []
        await place.workflows.decide(run.id, APPROVAL, Approve(), shown_hash=before.shown_hash, by="ann")
        assert await ended(place.workflows, run.id) == "done"
        assert shop.posted == ["hello"]
        assert (await kinds(place.workflows, run.id)).count("decision_asked") == 1


async def test_a_run_of_the_agent_takes_no_more_energy_than_the_owner_was_shown(tmp_path: Path):
    owner = ScriptedOwner([True])
    steps = {"name": "x", "tasks": [code("a", "return 1", retries=2), code("b", "throw new Error('no')", "a")]}
    async with cortex(tmp_path, owner=owner, **ON) as place:
        await proposed(place, steps)
        [run] = place.workflows.list()
        assert run.energy_budget == pytest.approx(0.005)
        assert "at most 0.005 with all retries" in owner.questions[0].arguments["shown"]
        assert await ended(place.workflows, run.id) == "failed"
        assert place.workflows.show(run.id).run.energy_spent == pytest.approx(0.003)


async def test_a_run_whose_process_died_before_the_owner_was_asked_asks_first(tmp_path: Path):
    shop, steps = Shop(), plan(*POST["tasks"])
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        SqliteJournal(Home(tmp_path).workflows).begin(RunRow("r1", steps, steps.hash, started_by="agent"), [])
        await place.workflows.resume("r1")
        question = await asked(place.workflows, "r1", APPROVAL)
        assert shop.posted == []
        await place.workflows.decide("r1", APPROVAL, Approve(), shown_hash=question.shown_hash, by="ann")
        assert await ended(place.workflows, "r1") == "done"


async def test_a_program_that_starts_a_run_as_the_agent_has_no_more_authority_than_it(tmp_path: Path):
    shop = Shop()
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        run = await place.workflows.start(plan(*POST["tasks"]), by="agent:helper")
        await asked(place.workflows, run.id, APPROVAL)
        assert shop.posted == []
