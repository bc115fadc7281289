"""Single tasks without a run: the same gates, no journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from cortex import Folder, ScriptedOwner
from cortex.workflows import CodeExecutionTask, DecisionTask, McpToolTask, PlanError
from cortex.workflows.single_task import MAX_GIVEN_BYTES, given_to
from tests.cortex.workflows.support import LIMIT_S, cortex
from tests.cortex.workflows.test_workflows import Shop


def code(text: str, **more: Any) -> CodeExecutionTask:
    return CodeExecutionTask(id="code", type="code_execution", code=text, **more)


def tool(name: str, **more: Any) -> McpToolTask:
    return McpToolTask(id="tool", type="mcp_tool", tool=name, **more)


async def test_a_tool_and_code_run_alone_with_the_results_that_they_are_given(tmp_path: Path):
    shop = Shop(commits=[{"author": "ann@example.org"}])
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        run_task = place.workflows.run_task
        listed = await run_task(tool("repo.commits"), {})
        assert (listed.ok, listed.cost) == (True, 0.0)
        assert "example.org" not in str(listed.result)  # redacted
        counted = await run_task(code("return context.list.length + context.more", context={"more": 1}), {"list": [1]})
        assert (counted.result, counted.seen, counted.cost) == (2, 2, pytest.approx(0.001))
        posted = await run_task(tool("repo.post", arguments={"text": "${code.0}"}), {"code": ["hello"]})
        assert (posted.result, shop.posted) == ("posted hello", ["hello"])
        failed = await run_task(code("throw new Error('no ann@example.org')", retries=5), {})
        assert (failed.ok, failed.is_final, failed.error["type"]) == (False, False, "RuntimeError")
        assert failed.seen == {"ok": False, "error": failed.error}
        assert "example.org" not in failed.error["message"]
        assert list(place.workflows.list()) == []
        records = list(place.audit.records())
        assert [each.facts["origin"] for each in records if each.kind == "tool_call"] == ["workflow", "workflow"]
        assert sum(each.kind == "intent" for each in records) == 2


async def test_policies_the_owner_and_the_guard_hold_for_a_single_task(tmp_path: Path):
    shop, owner = Shop(), ScriptedOwner([False])
    policies = {"policies": {"repo.post": "ask", "repo.slow": "deny"}}
    async with cortex(tmp_path, toolbox=shop.toolbox, owner=owner, tools=policies) as place:
        tasks = [
            tool("repo.post", arguments={"text": "a"}),
            tool("repo.slow"),
            tool("core.say", arguments={"text": "a"}),
            tool("repo.none"),
            code("return 1", workspace="none"),
            code("return 1", sandbox_config={"allowNetwork": True}),
            code("await import('https://example.org/a.js')"),
        ]
        for task in tasks:
            result = await place.workflows.run_task(task, {})
            assert (result.ok, result.is_final, result.cost) == (False, True, 0.0), task
        assert place.energy.level() == 1.0
        left = await place.workflows.run_task(code("return await tools.repo.post({text: 'x'})"), {})
        assert not left.ok
    assert [each.origin for each in owner.questions] == ["workflow"]
    assert shop.posted == []


async def test_energy_is_taken_once_for_a_key(tmp_path: Path):
    energy = {"recharge_per_minute": 0.1, "cost_isolated": 0.4, "floor_isolated": 0}
    async with cortex(tmp_path, energy=energy, now=lambda: 1_000_000.0) as place:
        run_task = place.workflows.run_task
        for _ in range(3):
            assert (await run_task(code("return 1"), {}, key="order-7/1")).ok
        assert place.energy.level() == pytest.approx(0.6)
        assert (await run_task(code("return 1"), {}, key="order-7/2")).ok
        assert place.energy.level() == pytest.approx(0.2)
        short = await run_task(code("return 1"), {}, key="order-8/1")
        assert (short.ok, short.is_final, short.cost) == (False, False, 0.0)
        assert short.retry_after_s == pytest.approx(120, abs=1)
        assert short.error["type"] == "InsufficientEnergy"
    async with cortex(tmp_path, energy=energy, now=lambda: 1_000_000.0) as place:  # as after a crash
        assert (await place.workflows.run_task(code("return 1"), {}, key="order-7/1")).ok
        assert place.energy.level() == pytest.approx(0.2)


@pytest.mark.parametrize("metered", [False, True])
async def test_an_attempt_that_is_repeated_and_given_a_kept_result_is_not_free(tmp_path: Path, metered: bool):
    rates = {"enabled": metered, "floor": 0.1, "ceiling": 0.1}
    energy = {"recharge_per_minute": 0, "cost_isolated": 0.1, "floor_isolated": 0, "metered": rates}
    async with cortex(tmp_path, energy=energy, cache={"enabled": True}) as place:
        results = [await place.workflows.run_task(code("return 1 + 1"), {}, key="one") for _ in range(3)]
        assert [result.result for result in results] == [2, 2, 2]
        assert [result.metrics["cached"] for result in results] == [False, True, True]
        assert place.energy.level() == pytest.approx(0.9)


async def test_the_kill_switch_ends_a_single_task_and_refuses_the_next(tmp_path: Path):
    shop = Shop()
    ended = []
    async with cortex(tmp_path, toolbox=shop.toolbox) as place:
        flows = place.workflows

        async def run(task: Any) -> None:
            ended.append(await flows.run_task(task, {}, key="one"))

        with anyio.fail_after(LIMIT_S):
            async with anyio.create_task_group() as group:
                group.start_soon(run, tool("repo.stuck"))
                group.start_soon(run, code("while (true) {}", sandbox_config={"timeoutMs": 60_000}))
                while not shop.gate.is_set():
                    await anyio.sleep(0.02)
                with pytest.raises(PlanError, match="under way"):
                    await flows.run_task(tool("repo.stuck"), {}, key="one")
                place.switch.turn_on("stop", "ann")
        assert shop.is_left
        ended.append(await flows.run_task(tool("repo.commits"), {}))
        assert [(result.ok, result.is_final, result.error["type"]) for result in ended] == [(False, True, "Killed")] * 3
        assert all("stop" in result.error["message"] for result in ended)
        calls = [each.facts["error_code"] for each in place.audit.records() if each.kind == "tool_call"]
        assert calls == ["cancelled"]  # not at the end of its time
        place.switch.turn_off("go on", "ann")
        assert (await flows.run_task(tool("repo.commits"), {}, key="one")).ok


async def test_files_of_a_single_task_are_committed_with_it(tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    write = "await Deno.writeTextFile('/workspace/{}.txt', 'x'); "
    async with cortex(tmp_path / "home", workspace=Folder(folder, commit="auto")) as place:
        run_task = place.workflows.run_task
        assert (await run_task(code(write.format("a") + "return 1", workspace="workspace"), {})).result == 1
        bad = await run_task(code(write.format("b") + "throw new Error('no')", workspace="workspace"), {})
        assert not bad.ok
        place.workflows.grant("asked", Folder(folder, commit="ask"))
        asked = await run_task(code(write.format("c") + "return 1", workspace="asked"), {})
        assert (asked.ok, asked.error["type"]) == (False, "FilesNotWritten")
    assert [path.name for path in folder.iterdir()] == ["a.txt"]
    assert not (tmp_path / "home" / "workflows" / "changes").exists()


@pytest.mark.parametrize(
    ("task", "context", "message"),
    [
        (code("return 1", dependencies=("list",)), {}, 'needs "list"'),
        (code("return 1", context={"a": "${input.day}"}), {}, 'needs "input"'),
        (tool("repo.post", arguments={"text": "${list.0}"}), {}, 'needs "list"'),
        (tool("repo.post", arguments={"text": "${list.0}"}), {"list": []}, 'no "0"'),
        (tool("repo.post", arguments={"text": "${list}"}), {"list": {1, 2}}, "not JSON"),
        (code("return 1"), {"a": float("nan")}, "not JSON"),
        (code("return 1"), {"a": "x" * MAX_GIVEN_BYTES}, "more than"),
        (tool("repo.post", arguments={"text": ["${list}"] * 51}), {"list": 1}, "at most 50"),
    ],
)
def test_a_task_that_cannot_be_given_what_it_needs_says_so(task: Any, context: dict[str, Any], message: str):
    with pytest.raises(PlanError, match=message):
        given_to(task, context)


async def test_a_question_and_a_wrong_key_are_refused(tmp_path: Path):
    assert given_to(code("return 1", context={"a": "${input.day}", "b": "${list}"}), {"input": {"day": 1}}) == {
        "a": 1,
        "b": "${list}",
        "input": {"day": 1},
    }
    async with cortex(tmp_path) as place:
        with pytest.raises(PlanError, match="a question needs a run"):
            await place.workflows.run_task(DecisionTask(id="d", type="decision", ask="?"), {})  # type: ignore[arg-type]
        for key in ("", "\n", "x" * 501):
            with pytest.raises(ValueError, match="a key has"):
                await place.workflows.run_task(code("return 1"), {}, key=key)
