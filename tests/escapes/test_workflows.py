"""The attack programs of workflows, as code tasks of runs in a real cortex: one task before the attack, and two behind
it that look at what it did. What the journal and the events say of the run counts as what the caller gets."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from cortex import Folder, MotorCortex, Settings, Toolbox
from cortex.settings.sections import EnergySettings, ExecuteSettings, RedactionSettings
from cortex.workflows import checked
from sandbox import DenoRuntime, ExecutionError, ExecutionOutcome, LogEntry
from sandbox.jail.layers import Layer

from .arena import HOST_SECRET, Arena, Servers, UnpermittedRuntime, arena, settings
from .program import load
from .test_escapes import judge, name_of, wanted

PROGRAMS = [program for program in load() if program.kind == "workflows"]
VICTIM = {"n": 1, "secret": "of the victim"}
LOOKS = "return [context.victim, ({}).victim ?? null, Object.keys(context).sort().slice(0, 20)]"
# Two for each code task more than for a tool, and those of the run, its layers and its checkpoints.
MOST_EVENTS = 40


@dataclass
class WorkflowArena(Arena):
    """Runs the programs as tasks."""

    cortex: MotorCortex = field(kw_only=True)
    echoed: list[Any] = field(kw_only=True)

    async def _execute(self, program, code, tools, places, store):
        flows = self.cortex.workflows
        attack: dict[str, Any] = {"sandbox_config": {"timeoutMs": round(program.timeout_s * 1000)}}
        if program.tier == "workspace":
            attack["workspace"] = places.mark
            flows.grant(places.mark, Folder(places.workspace, commit="auto"))
        run = await flows.start(plan(code, attack))
        with anyio.fail_after(program.timeout_s + 60):
            result = await flows.wait(run.id)
            events = [event async for event in flows.events(run.id)]
        row = result.tasks["attack"]
        said = json.dumps([[event.kind, dict(event.data)] for event in events])
        logs = [LogEntry("log", said), *(LogEntry("log", f"GOT {one}") for one in self._achieved(result, events, said))]
        error = None if row.error is None else ExecutionError(row.error["type"], row.error["message"])
        return ExecutionOutcome(ok=row.status == "ok", result=row.result, error=error, logs=tuple(logs))

    def _achieved(self, result, events, said):
        """What no program may achieve."""
        rows = result.tasks
        if rows["victim"].result != VICTIM or result.state["tasks"]["victim"] != VICTIM:
            yield "the result of another task"
        seen, inherited, names = rows["after"].result or (None, None, [])
        if rows["after"].status != "ok" or seen != VICTIM or inherited is not None:
            yield f"what the next task finds: {rows['after']}"[:500]
        alone, inherited, names = rows["alone"].result or ("nothing", None, [])
        if rows["alone"].status != "ok" or alone is not None or inherited is not None or "after" in names:
            yield f"what a task finds under the name of one that it does not depend on: {rows['alone']}"[:500]
        if rows["attack"].status == "ok" and (
            rows["echo"].status != "ok" or rows["echo"].result != rows["attack"].result
        ):
            yield "an argument that is not its result"
        kinds = [event.kind for event in events]
        if len(events) > MOST_EVENTS or kinds[-1] != "run_done" or kinds.count("run_done") != 1:
            yield f"events: {kinds[:60]}"
        if HOST_SECRET in said or len(said) > 50_000:
            yield "too much in the events"

    def _names(self, places):
        return {**super()._names(places), "HOME": str(self.cortex.settings.home)}


def plan(code: str, attack: dict[str, Any]) -> Any:
    def task(id_: str, text: str, *needs: str, **more: Any) -> dict[str, Any]:
        return {"id": id_, "type": "code_execution", "code": text, "dependencies": list(needs), "retries": 0, **more}

    echo = {"type": "mcp_tool", "tool": "echo", "arguments": {"value": "${attack}"}, "on_error": "continue"}
    return checked(
        {
            "name": "an attack",
            "tasks": [
                task("victim", f"return {json.dumps(VICTIM)}"),
                task("attack", code, "victim", on_error="continue", **attack),
                task("after", LOOKS, "victim", "attack", on_error="continue"),
                task("alone", LOOKS.replace("context.victim", "context.victim ?? null"), "attack", on_error="continue"),
                {"id": "echo", "dependencies": ["attack"], **echo},
            ],
        }
    )


def toolbox(echoed: list[Any]) -> Toolbox:
    box = Toolbox()

    @box.tool(name="echo", description="Return the value.")
    async def echo(value: Any) -> Any:
        return value

    @box.tool(name="admin", description="Never lent.")
    async def admin(value: Any = None) -> Any:
        echoed.append(value)
        return HOST_SECRET

    return box


async def judged(make_runtime, programs, root):
    servers, admitted = Servers(), []
    try:
        async with arena(make_runtime(settings()), servers, root) as place, AsyncExitStack() as stack:
            cortex = MotorCortex(
                Settings.model_validate(
                    {
                        "home": root / "home",
                        "energy": EnergySettings(cost_isolated=0),
                        "execute": ExecuteSettings(guard=False),
                        # Nothing may be hidden by being redacted.
                        "redaction": RedactionSettings(enabled=False),
                        "neurons": {"habits": {"enabled": False}},
                        "cache": {"enabled": False},
                    }
                ),
                toolbox=toolbox(admitted),
                runtime=place.runtime,
            )
            await stack.enter_async_context(cortex)
            parts = (place.runtime, place.servers, place.watcher, root, place.env_secret, place.signalled)
            found = await WorkflowArena(*parts, cortex=cortex, echoed=admitted).judge(programs)
            assert admitted == []
    finally:
        servers.close()
    return found


@pytest.fixture(scope="module")
def behind_both_walls(request, tmp_path_factory):
    programs = wanted(request, test_the_property_of_a_program_holds_in_a_workflow)
    return anyio.run(judged, DenoRuntime, programs, tmp_path_factory.mktemp("workflows"))


@pytest.fixture(scope="module")
def behind_the_system_alone(request, tmp_path_factory):
    programs = wanted(request, test_the_property_of_a_program_holds_in_a_workflow_without_denos_permissions)
    return anyio.run(judged, UnpermittedRuntime, programs, tmp_path_factory.mktemp("alone"))


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_the_property_of_a_program_holds_in_a_workflow(program, behind_both_walls):
    judge(program, behind_both_walls)


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_the_property_of_a_program_holds_in_a_workflow_without_denos_permissions(program, behind_the_system_alone):
    judge(program, behind_the_system_alone, needs={Layer.LANDLOCK, Layer.SECCOMP})
