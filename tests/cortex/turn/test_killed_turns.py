"""What an agent is told while the kill switch is on, and when it is turned on in the middle of something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from cortex import Decision, MotorCortex, Question, Settings, Toolbox
from cortex.settings.sections import EnergySettings, ToolSettings
from neurons import KillSwitch, NeuronSettings, On
from sandbox import DenoRuntime, ExecutionOutcome, ToolError
from sandbox.testing import ScriptedRuntime
from tests.conftest import descendants, small

RUN = {"purpose": "sum", "code": "return 1 + 1"}
DENIED = "EXECUTION_DENIED: Kill switch is on since "
# Only what hangs takes so long, on a slow machine too.
BOUND_S = 120


class Killing:
    """An owner who is asked, turns the switch on, and then says yes."""

    def __init__(self, switch: KillSwitch) -> None:
        self._switch = switch
        self.questions = 0

    async def decide(self, question: Question) -> Decision:
        self.questions += 1
        self._switch.turn_on("asked too often", "owner")
        return Decision(allowed=True)


class Calling:
    """A runtime whose code calls a tool before and after the switch is turned on."""

    def __init__(self, switch: KillSwitch) -> None:
        self._switch = switch
        self.answers: list[str] = []

    async def execute(self, request: Any, tools: Any = None, **named: Any) -> ExecutionOutcome:
        for _ in range(2):
            try:
                self.answers.append((await tools.call("act", {})).data.decode())
            except ToolError as error:
                self.answers.append(f"{error.code}: {error}")
            self._switch.turn_on("enough", "owner")
        return ExecutionOutcome(ok=True, result=2)


def toolbox(done: list[int]) -> Toolbox:
    tools = Toolbox()

    @tools.tool
    async def act() -> str:
        """Do something in the world."""
        done.append(1)
        return "acted"

    return tools


def cortex(home: Path, runtime: Any, done: list[int], **more: Any) -> MotorCortex:
    policies = ToolSettings(policies=more.pop("policies", {}))
    settings = Settings(home=home, energy=EnergySettings(recharge_per_minute=0), tools=policies)
    return MotorCortex(settings, runtime=runtime, toolbox=toolbox(done), **more)


@pytest.mark.parametrize("name", ["core.execute", "core_execute", "act", "core.consolidate"])
async def test_every_tool_that_acts_is_refused_and_recorded(tmp_path, name):
    done: list[int] = []
    async with cortex(tmp_path, ScriptedRuntime([]), done) as place, place.turn() as turn:
        place.switch.turn_on("it buys too much", "owner")
        text = await turn.call(name, RUN if "execute" in name else {})
    assert text.startswith(DENIED)
    assert text.endswith('(it buys too much). The owner can turn it off with "cortex revive"')
    assert (done, place.energy.level()) == ([], 1.0)
    assert [record.kind for record in place.audit.records()] == ["owner_decision", "refusal"]


async def test_tools_that_run_nothing_still_work(tmp_path):
    async with cortex(tmp_path, ScriptedRuntime([]), []) as place, place.turn() as turn:
        place.switch.turn_on("x", "owner")
        assert await turn.call("core.say", {"text": "I was stopped"}) == "Said."
        assert await turn.call("core.remember", {"text": "I was stopped"}) == "Remembered."
        assert (await turn.call("core.energy")).startswith('{"level":1.0')


async def test_a_consent_given_after_the_kill_switch_does_not_count(tmp_path):
    done: list[int] = []
    for name, arguments in (("core.execute", RUN), ("act", {})):
        owner = Killing(KillSwitch(tmp_path / "state"))
        policies = {"core.execute": "ask", "act": "ask"}
        place = cortex(tmp_path, ScriptedRuntime([]), done, owner=owner, policies=policies)
        async with place, place.turn() as turn:
            text = await turn.call(name, arguments)
        assert (owner.questions, text.startswith(DENIED), done, place.energy.level()) == (1, True, [], 1.0)
        place.switch.turn_off("next", "owner")


async def test_code_that_is_running_calls_no_tool_any_more(tmp_path):
    done: list[int] = []
    runtime = Calling(KillSwitch(tmp_path / "state"))
    async with cortex(tmp_path, runtime, done) as place, place.turn() as turn:
        await turn.call("core.execute", RUN)
    assert (runtime.answers[0], done) == ('"acted"', [1])
    assert runtime.answers[1].startswith("denied: Kill switch is on since ")


async def test_a_switch_that_cannot_be_read_refuses(tmp_path):
    async with cortex(tmp_path, ScriptedRuntime([]), []) as place, place.turn() as turn:
        (tmp_path / "state" / "KILLED").touch()
        assert "cannot be read, which counts as on" in await turn.call("core.execute", RUN)


@pytest.mark.deno
async def test_the_program_that_is_killed_from_within_goes_on_when_it_is_revived(tmp_path, nothing_left):
    async with MotorCortex(Settings(home=tmp_path, sandbox=small())) as place:
        async with place.turn() as turn:
            assert await turn.call("core.execute", RUN) == "2"
        killed = place.switch.turn_on("why not", "owner")
        assert (killed.problems, len(killed.processes) >= 2) == ((), True)
        with anyio.fail_after(BOUND_S):
            while any("deno" in command or "-S -c" in command for command in descendants().values()):
                await anyio.sleep(0.01)
        async with place.turn() as turn:
            assert (await turn.call("core.execute", RUN)).startswith(DENIED)
        assert isinstance(place.switch.turn_off("it was a test", "owner"), On)
        with anyio.fail_after(BOUND_S):
            while await one(place) != "2":  # it looks at the switch only now and then
                await anyio.sleep(0.01)


@pytest.mark.deno
async def test_a_given_runtime_is_stopped_by_the_watcher_of_the_switch(tmp_path, nothing_left):
    """Nobody has noted its processes, so that only this program can kill them."""
    tools = Toolbox()
    started = anyio.Event()

    @tools.tool
    async def begun() -> None:
        """Say that it runs."""
        started.set()

    texts = []
    async with (
        DenoRuntime(small()) as runtime,
        MotorCortex(Settings(home=tmp_path), runtime=runtime, toolbox=tools) as place,
        place.turn() as turn,
    ):

        async def run() -> None:
            texts.append(
                await turn.call("core.execute", {"purpose": "x", "code": "await tools.begun(); while (true) {}"})
            )

        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await started.wait()
                assert KillSwitch(tmp_path / "state").turn_on("why not", "owner").processes == ()
        assert texts[0].startswith("EXECUTION_ERROR: CrashError: The run was stopped: Kill switch is on since ")
        (ended,) = [record.facts for record in place.audit.records() if record.kind == "execution"]
        assert ended["stopped"] is True


@pytest.mark.deno
async def test_a_program_looks_at_the_switch_as_often_as_the_settings_say(tmp_path, monkeypatch, nothing_left):
    neurons = NeuronSettings.model_validate({"kill_poll_ms": 1, "autonomic": {"enabled": False}})
    place = MotorCortex(Settings(home=tmp_path, sandbox=small(pool_size=0), neurons=neurons))
    looks = 0
    look = place.switch.state

    def counted(neuron: str | None = None) -> object:
        nonlocal looks
        looks += 1
        return look(neuron)

    monkeypatch.setattr(place.switch, "state", counted)
    async with place:
        before, waits = looks, 0
        # As often as we wake up would be every 50 ms. A busy machine holds up both, so that no clock is asked.
        with anyio.fail_after(BOUND_S):
            while looks - before <= 20 + 2 * waits:
                await anyio.sleep(0.05)
                waits += 1


async def one(place: MotorCortex) -> str:
    async with place.turn() as turn:
        return await turn.call("core.execute", RUN)
