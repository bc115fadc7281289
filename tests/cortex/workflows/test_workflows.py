"""Runs of workflows in a real sandbox, with a real toolbox and a real journal."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import anyio
import pytest

from cortex import Decision, Folder, ScriptedOwner, Toolbox
from cortex.workflows import (
    Approve,
    CodeExecutionTask,
    JournalError,
    McpToolTask,
    NoSuchRun,
    PlanError,
    Reject,
    Replan,
    Value,
    WorkflowError,
    hash_of,
)
from tests.cortex.workflows.support import LIMIT_S, asked, code, cortex, decision, kinds, plan, tool, until

COMMITS = [{"author": "Ann"}, {"author": "Ben"}, {"author": "Ann"}]


class Shop:
    """A toolbox that counts."""

    def __init__(self, *, commits: object = COMMITS) -> None:
        self.toolbox = Toolbox()
        self.posted: list[str] = []
        self.at_once = self.most_at_once = self.fails = 0
        self.gate = threading.Event()
        self.is_left = False

        @self.toolbox.tool(name="repo.commits", description="The commits.")
        def commits_() -> list:
            return commits

        @self.toolbox.tool(name="repo.post", description="Posts a text.")
        def post(text: str) -> str:
            self.posted.append(text)
            return f"posted {text}"

        @self.toolbox.tool(name="repo.slow", description="Waits.")
        async def slow() -> str:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            try:
                await anyio.sleep(0.2)
            finally:
                self.at_once -= 1
            return "slow"

        @self.toolbox.tool(name="repo.stuck", description="Waits for ever.")
        async def stuck() -> str:
            self.gate.set()
            try:
                await anyio.sleep(60)
            finally:
                self.is_left = True
            return "never"

        @self.toolbox.tool(name="repo.shaky", description="Fails twice.")
        def shaky() -> str:
            self.fails += 1
            if self.fails < 3:
                raise RuntimeError("not yet")
            return "at last"


async def test_a_hybrid_of_tools_code_and_a_decision(tmp_path: Path):
    shop = Shop()
    shop.toolbox.tool(name="repo.number", description="Posts a number.")(lambda: 1)
    group = "const n = {}; for (const c of context.list) n[c.author] = (n[c.author] ?? 0) + 1; return n"
    steps = plan(
        tool("list", "repo.commits", idempotent=True),
        tool("other", "repo.slow", idempotent=True),
        code(
            "group",
            f"const f = () => {{ {group} }}; return {{ text: JSON.stringify(f()), state: {{ seen: 3 }} }}",
            "list",
            "other",
        ),
        decision("sure", "group"),
        tool("post", "repo.post", "sure", "group", arguments={"text": "${group.text}"}),
    )
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        flows = place.workflows
        run = await flows.start(steps, id="r1")
        question = await asked(flows, run.id, "sure")
        assert "Is sure right?" in question.shown
        assert "Ann" in question.shown
        assert shop.posted == []
        await flows.decide(run.id, "sure", Approve(), shown_hash=question.shown_hash, by="ann")
        with anyio.fail_after(LIMIT_S):
            result = await flows.wait(run.id)
        assert (result.run.status, result.ok) == ("done", True)
        assert shop.posted == ['{"Ann":2,"Ben":1}']
        assert result.state["context"] == {"seen": 3}
        assert result.state["decisions"]["sure"] == {"answer": "approve", "by": "ann"}
        assert result.run.energy_spent == pytest.approx(0.001)
        entries = [entry.turn for entry in place.energy.entries() if entry.reason == "execution"]
        assert entries == ["r1/group/1"]
        told = await kinds(flows, run.id)
        assert told[:3] == ["run_queued", "run_started", "layer_started"]
        assert told[-2:] == ["checkpoint_saved", "run_done"]
        assert {"code_execution_started", "code_execution_completed", "decision_asked", "decision_answered"} <= {*told}
        records = list(place.audit.records())
        calls = [(each.facts["tool"], each.facts["origin"]) for each in records if each.kind == "tool_call"]
        assert ("repo.post", "workflow") in calls
        assert [each.facts["event"] for each in records if each.kind == "workflow"][-2:] == [
            "decision_answered",
            "run_done",
        ]
        assert "Ann" not in str([each.facts for each in records if each.kind == "workflow"])
        assert (await flows.start(steps, id="r1")).status == "done"  # the run that there is
        assert shop.posted == ['{"Ann":2,"Ben":1}']


async def test_tasks_of_a_layer_run_at_the_same_time(tmp_path: Path):
    shop = Shop()
    async with cortex(tmp_path, toolbox=shop.toolbox, sandbox={"pool_size": 1, "max_concurrent": 8}) as place:
        run = await place.workflows.start(plan(*(tool(f"t{n}", "repo.slow") for n in range(4))))
        with anyio.fail_after(LIMIT_S):
            assert (await place.workflows.wait(run.id)).ok
    assert shop.most_at_once == 4


async def test_a_rejection_skips_what_depends_on_it_and_is_told(tmp_path: Path):
    shop = Shop()
    steps = plan(decision("sure"), tool("post", "repo.post", "sure", arguments={"text": "a"}), code("free", "return 1"))
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        flows = place.workflows
        run = await flows.start(steps)
        question = await asked(flows, run.id, "sure")
        with pytest.raises(JournalError, match="shows something else"):
            await flows.decide(run.id, "sure", Approve(), shown_hash="0" * 64, by="ann")
        with pytest.raises(WorkflowError, match="by the owner"):
            await flows.decide(run.id, "sure", Approve(), shown_hash=question.shown_hash, by="agent")
        with pytest.raises(PlanError, match="cannot be answered with a new plan"):
            await flows.decide(run.id, "sure", Replan(), shown_hash=question.shown_hash, by="ann")
        await flows.decide(run.id, "sure", Reject(reason="too soon"), shown_hash=question.shown_hash, by="ann")
        with anyio.fail_after(LIMIT_S):
            result = await flows.wait(run.id)
        with pytest.raises(WorkflowError, match="has an answer already"):
            await flows.decide(run.id, "sure", Approve(), shown_hash=question.shown_hash, by="ben")
    assert (result.run.status, result.run.reason) == ("done", "rejected: sure")
    assert {id_: row.status for id_, row in result.tasks.items()} == {
        "sure": "skipped",
        "post": "skipped",
        "free": "ok",
    }
    assert result.tasks["sure"].error["message"] == "too soon"
    assert shop.posted == []


async def test_a_value_is_the_result_of_a_decision(tmp_path: Path):
    async with cortex(tmp_path) as place:
        flows = place.workflows
        run = await flows.start(plan(decision("how"), code("twice", "return context.how * 2", "how")))
        question = await asked(flows, run.id, "how")
        await flows.decide(run.id, "how", Value(value=21), shown_hash=question.shown_hash, by="ann")
        with anyio.fail_after(LIMIT_S):
            assert (await flows.wait(run.id)).state["tasks"]["twice"] == 42


async def test_a_decision_may_change_what_is_still_to_be_done(tmp_path: Path):
    steps = plan(code("a", "return 1"), decision("next", "a", may_replan=True), code("old", "return 'old'", "next"))
    more = CodeExecutionTask(id="new", type="code_execution", code="return context.a + 1", dependencies=("next", "a"))
    async with cortex(tmp_path) as place:
        flows = place.workflows
        run = await flows.start(steps)
        question = await asked(flows, run.id, "next")
        with pytest.raises(PlanError, match="has begun"):
            await flows.decide(run.id, "next", Replan(remove=("a",)), shown_hash=question.shown_hash, by="ann")
        said = Replan(add=(more,), remove=("old",))
        await flows.decide(run.id, "next", said, shown_hash=question.shown_hash, by="ann")
        with anyio.fail_after(LIMIT_S):
            result = await flows.wait(run.id)
        assert "replanned" in await kinds(flows, run.id)
    assert result.state["tasks"]["new"] == 2
    assert (result.run.revision, "old" in result.tasks) == (2, False)


async def test_a_decision_that_nobody_answers_in_time_is_a_no(tmp_path: Path):
    async with cortex(tmp_path) as place:
        run = await place.workflows.start(plan(decision("sure", timeout_s=1), code("then", "return 1", "sure")))
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(run.id)
    assert result.tasks["then"].status == "skipped"
    assert (result.tasks["sure"].error["by"], result.run.status) == ("timeout", "done")


@pytest.mark.parametrize(("allowed", "then"), [(True, "ok"), (False, "skipped")])
async def test_an_owner_who_is_there_is_asked(tmp_path: Path, allowed: bool, then: str):
    owner = ScriptedOwner([Decision(allowed, "because")])
    async with cortex(tmp_path, owner=owner) as place:
        run = await place.workflows.start(plan(decision("sure"), code("then", "return 1", "sure")))
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(run.id)
    assert result.tasks["then"].status == then
    assert [(each.tool, each.origin) for each in owner.questions] == [("core.decision", "workflow")]


async def test_a_plan_that_wants_what_is_not_granted_is_refused(tmp_path: Path):
    async with cortex(tmp_path) as place:
        with pytest.raises(PlanError, match='wants the folder "docs", and no folder is granted'):
            await place.workflows.start(plan(code("a", "return 1", workspace="docs")))
        assert list(place.workflows.list()) == []
        with pytest.raises(NoSuchRun):
            await place.workflows.resume("r0")


async def test_a_tool_of_a_workflow_is_under_the_policies_and_the_consent_of_others(tmp_path: Path):
    shop, owner = Shop(), ScriptedOwner([False])
    policies = {"policies": {"repo.post": "ask", "repo.slow": "deny"}}
    steps = plan(
        tool("post", "repo.post", arguments={"text": "a"}, on_error="continue"),
        tool("slow", "repo.slow", on_error="continue", retries=3, idempotent=True),
        tool("core", "core.say", arguments={"text": "a"}, on_error="continue"),
        tool("none", "repo.none", on_error="continue"),
        tool("wrong", "repo.post", arguments={"word": 1}, on_error="continue"),
        code("sees", "return context.post.error.message", "post"),
    )
    async with cortex(tmp_path, toolbox=shop.toolbox, owner=owner, tools=policies) as place:
        run = await place.workflows.start(steps)
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(run.id)
        assert "repo.stuck" not in await kinds(place.workflows, run.id)
    messages = {id_: row.error["message"] for id_, row in result.tasks.items() if row.error is not None}
    assert result.run.status == "done"
    assert "said no" in messages["post"]
    assert "does not allow" in messages["slow"]
    assert "not for workflows" in messages["core"]
    assert "repo.none" in messages["none"]
    assert "text" in messages["wrong"]
    assert "said no" in result.state["tasks"]["sees"]
    assert result.tasks["slow"].attempt == 1  # a no stays a no
    assert [each.origin for each in owner.questions] == ["workflow"]
    assert shop.posted == []


async def test_code_is_lent_only_the_tools_that_it_names(tmp_path: Path):
    shop = Shop()
    call = "return await tools.repo.post({text: 'x'})"
    steps = plan(code("no", call, on_error="continue", retries=0), code("yes", call, tools=["repo.post"]))
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        run = await place.workflows.start(steps)
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(run.id)
    assert {id_: row.status for id_, row in result.tasks.items()} == {"no": "failed", "yes": "ok"}
    assert shop.posted == ["x"]


async def test_attempts_are_made_until_one_succeeds_and_only_where_that_is_safe(tmp_path: Path):
    shop = Shop()
    steps = plan(
        tool("shaky", "repo.shaky", idempotent=True, retries=5),
        code("never", "throw new Error('no')", retries=2, on_error="continue"),
    )
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        run = await place.workflows.start(steps)
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(run.id)
        assert (result.tasks["shaky"].result, result.tasks["shaky"].attempt) == ("at last", 3)
        assert (result.tasks["never"].status, result.tasks["never"].attempt) == ("failed", 3)
        assert result.run.energy_spent == pytest.approx(0.003)
        keys = [entry.turn for entry in place.energy.entries() if entry.reason == "execution"]
        assert keys == [f"{run.id}/never/{n}" for n in (1, 2, 3)]
        shop.fails = 0
        unsafe = await place.workflows.start(
            plan(tool("shaky", "repo.shaky", retries=5), code("b", "return 1", "shaky"))
        )
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(unsafe.id)
    assert (result.run.status, result.tasks["shaky"].attempt, shop.fails) == ("failed", 1, 1)
    assert 'task "shaky" failed' in result.run.reason
    assert "b" not in result.tasks


async def test_results_are_redacted_before_they_are_saved(tmp_path: Path):
    shop = Shop(commits=[{"mail": "ann@example.org"}])
    steps = plan(
        tool("list", "repo.commits"), code("sees", "return [context.list[0].mail, 'ben@exam' + 'ple.org']", "list")
    )
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        run = await place.workflows.start(steps)
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(run.id)
    assert result.run.status == "done"
    assert "example.org" not in str(result.state)
    assert b"example.org" not in b"".join(path.read_bytes() for path in (tmp_path / "workflows").rglob("*.sqlite*"))


async def test_without_energy_a_run_rests_and_goes_on_when_there_is_enough(tmp_path: Path):
    clock = [1_000_000.0]
    energy = {"recharge_per_minute": 0.1, "cost_isolated": 0.5, "floor_isolated": 0}
    steps = plan(code("a", "return 1"), code("b", "return 2", "a"), code("c", "return 3", "b", tools=["repo.slow"]))
    async with cortex(tmp_path, toolbox=Shop().toolbox, energy=energy, now=lambda: clock[0]) as place:
        flows = place.workflows
        run = await flows.start(steps)
        row = await until(flows, run.id, "resting")
        assert row.wake_at == pytest.approx(clock[0] + 300, abs=1)
        assert flows.show(run.id).tasks["c"].status == "pending"  # surely not begun
        await anyio.sleep(0.6)
        assert flows.show(run.id).run.status == "resting"
        clock[0] += 301
        with anyio.fail_after(LIMIT_S):
            result = await flows.wait(run.id)
        assert result.run.status == "done"
        assert [entry.turn for entry in place.energy.entries() if entry.reason == "execution"] == [
            f"{run.id}/{id_}/1" for id_ in "abc"
        ]


async def test_a_run_takes_no_more_energy_than_its_budget(tmp_path: Path):
    energy = {"recharge_per_minute": 0, "cost_isolated": 0.1, "floor_isolated": 0}
    steps = plan(*(code(f"t{n}", "return 1", on_error="continue") for n in range(4)))
    async with cortex(tmp_path, energy=energy) as place:
        run = await place.workflows.start(steps, energy_budget=0.25)
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(run.id)
        assert place.energy.level() == pytest.approx(0.8)
    assert result.run.energy_spent == pytest.approx(0.2)
    assert sorted(row.status for row in result.tasks.values()) == ["failed", "failed", "ok", "ok"]
    assert {row.error["type"] for row in result.tasks.values() if row.error} == {"EnergyBudget"}


async def test_an_abort_kills_what_runs_and_leaves_the_run_at_its_last_checkpoint(tmp_path: Path):
    shop, folder = Shop(), tmp_path / "files"
    folder.mkdir()
    write = "await Deno.writeTextFile('/workspace/a.txt', 'x'); while (true) {}"
    steps = plan(
        code("first", "await Deno.writeTextFile('/workspace/first.txt', 'x'); return 1", workspace="workspace"),
        code("spins", write, "first", workspace="workspace"),
        tool("stuck", "repo.stuck", "first"),
    )
    given = {"toolbox": shop.toolbox, "workspace": Folder(folder, commit="auto")}
    async with cortex(tmp_path / "home", **given) as place:
        flows = place.workflows
        run = await flows.start(steps)
        with anyio.fail_after(LIMIT_S):
            while not shop.gate.is_set():
                await anyio.sleep(0.02)
        await anyio.sleep(0.3)
        began = time.perf_counter()
        await flows.abort(run.id, "enough", by="ann")
        took = time.perf_counter() - began
        assert shop.is_left  # what was under way has ended
        state = flows.show(run.id)
        assert (state.run.status, state.run.reason) == ("aborted", "enough")
        assert state.tasks["first"].status == "ok"
        assert [path.name for path in folder.iterdir()] == ["first.txt"]
        assert (await kinds(flows, run.id))[-1] == "run_aborted"
        with pytest.raises(WorkflowError, match="has ended"):
            await flows.resume(run.id)
        await flows.abort(run.id, "again", by="ben")  # changes nothing
        assert flows.show(run.id).run.reason == "enough"
        async with place.turn() as turn:
            assert await turn.call("core.execute", {"purpose": "p", "code": "return 1"}) == "1"
    assert took < 2


async def test_the_kill_switch_aborts_every_run_and_nothing_starts_when_it_is_off_again(tmp_path: Path):
    shop = Shop()
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        flows = place.workflows
        runs = [
            await flows.start(plan(code("spins", "while (true) {}"), code("then", "return 1", "spins"))),
            await flows.start(plan(decision("sure"), tool("post", "repo.post", "sure", arguments={"text": "a"}))),
        ]
        question = await asked(flows, runs[1].id, "sure")
        await until(flows, runs[0].id, "running")
        await anyio.sleep(0.3)
        place.switch.turn_on("stop", "ann")
        for run in runs:
            row = await until(flows, run.id, "aborted")
            assert "stop" in row.reason
        with pytest.raises(WorkflowError, match="stop"):
            await flows.start(plan(code("a", "return 1")))
        place.switch.turn_off("go on", "ann")
        await anyio.sleep(1)
        assert [flows.show(run.id).run.status for run in runs] == ["aborted", "aborted"]
        with pytest.raises(JournalError, match="has ended"):
            await flows.decide(runs[1].id, "sure", Approve(), shown_hash=question.shown_hash, by="ann")
        assert shop.posted == []


async def test_a_fork_takes_over_what_was_done_before(tmp_path: Path):
    shop = Shop()
    steps = plan(
        tool("post", "repo.post", arguments={"text": "once"}),
        code("bad", "throw new Error('no')", "post", retries=0),
        code("after", "return context.bad", "bad"),
    )
    good = plan(
        tool("post", "repo.post", arguments={"text": "once"}),
        code("bad", "return 'good'", "post"),
        code("after", "return context.bad", "bad"),
    )
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        flows = place.workflows
        run = await flows.start(steps)
        with anyio.fail_after(LIMIT_S):
            assert (await flows.wait(run.id)).run.status == "failed"
            fork = await flows.fork(run.id, "bad", plan=good)
            result = await flows.wait(fork.id)
        assert (result.run.status, result.run.parent) == ("done", run.id)
        assert result.state["tasks"]["after"] == "good"
        assert shop.posted == ["once"]
        other = plan(tool("post", "repo.post", arguments={"text": "twice"}), code("bad", "return 1", "post"))
        with anyio.fail_after(LIMIT_S):
            await flows.wait((await flows.fork(run.id, "bad", plan=other)).id)
        assert shop.posted == ["once", "twice"]  # it was given something else
        with pytest.raises(PlanError, match='no task "none"'):
            await flows.fork(run.id, "none")
        assert flows.show(run.id).run.status == "failed"


async def test_events_are_followed_without_losing_or_repeating_one(tmp_path: Path):
    heard: list[int] = []
    async with cortex(tmp_path, toolbox=Shop().toolbox) as place:
        flows = place.workflows
        place.subscribe(lambda event: heard.append(event.seq) if event.kind == "workflow_stepped" else None)
        run = await flows.start(plan(*(tool(f"t{n}", "repo.slow", *([f"t{n - 1}"] if n else [])) for n in range(3))))
        with anyio.fail_after(LIMIT_S):
            seen = [event.seq async for event in flows.events(run.id)]
            assert [event.seq async for event in flows.events(run.id, after=seen[-1])] == []
            assert [event.seq async for event in flows.events(run.id, after=3)] == seen[3:]
    assert seen == list(range(1, len(seen) + 1))
    assert heard == seen


async def test_a_result_of_a_megabyte_reaches_the_next_task(tmp_path: Path):
    shop = Shop(commits=["x" * 1_000] * 1_100)
    steps = plan(tool("list", "repo.commits"), code("count", "return context.list.join('').length", "list"))
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        run = await place.workflows.start(steps)
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(run.id)
    assert result.state["tasks"]["count"] == 1_100_000
    assert hash_of(result.tasks["list"].result) == hash_of(["x" * 1_000] * 1_100)


async def test_two_hundred_tasks_in_twenty_layers(tmp_path: Path):
    box = Toolbox()

    @box.tool(name="sum.add", description="Adds.")
    def add(a: int, b: int) -> int:
        return a + b

    tasks = [
        McpToolTask(
            id=f"t{layer}_{n}",
            type="mcp_tool",
            tool="sum.add",
            arguments={"a": 1, "b": f"${{t{layer - 1}_{n}}}" if layer else 0},
            dependencies=(f"t{layer - 1}_{n}",) if layer else (),
            idempotent=True,
        ).model_dump(mode="json")
        for layer in range(20)
        for n in range(10)
    ]
    async with cortex(tmp_path, toolbox=box) as place:
        run = await place.workflows.start(plan(*tasks))
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(run.id)
        assert (await kinds(place.workflows, run.id)).count("checkpoint_saved") == 20
    assert [result.state["tasks"][f"t19_{n}"] for n in range(10)] == [20] * 10


async def test_two_tasks_of_a_layer_that_write_the_same_file_do_not_overwrite_each_other(tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    append = "await Deno.writeTextFile('/workspace/a.txt', '{}', {{append: true}}); return 1"
    steps = plan(*(code(id_, append.format(id_), workspace="workspace") for id_ in ("one", "two")))
    async with cortex(tmp_path / "home", workspace=Folder(folder, commit="auto")) as place:
        run = await place.workflows.start(steps)
        with anyio.fail_after(LIMIT_S):
            result = await place.workflows.wait(run.id)
        assert result.run.status == "done"
        assert result.run.energy_spent == pytest.approx(0.002)
        assert place.energy.level() == pytest.approx(0.998)
    assert (folder / "a.txt").read_text() == "onetwo"
    assert list((tmp_path / "home" / "workflows" / "changes").iterdir()) == []
