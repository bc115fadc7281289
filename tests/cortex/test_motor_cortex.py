"""The whole cortex with real Deno: what code reaches, what it does not, and what is left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from cortex import MotorCortex, ScriptedOwner, Settings, Toolbox
from cortex.home import Home, HomeFiles
from cortex.settings.sections import EnergySettings, ExecuteSettings, MeteredSettings, ToolSettings
from sandbox import ExecutionOutcome, NetworkPolicy, SandboxUnavailable
from sandbox.testing import ScriptedRuntime
from tests.conftest import descendants, small
from tests.sandbox.network.servers import Server, Talk

pytestmark = pytest.mark.deno

MANY = ExecuteSettings(max_calls_per_turn=50)


def shop() -> Toolbox:
    toolbox = Toolbox()

    @toolbox.tool(name="shop.stock")
    async def stock(item: str) -> int:
        """How many are left."""
        return len(item)

    @toolbox.tool(name="shop.buy")
    def buy(item: str, count: int = 1) -> str:
        """Buy some."""
        return f"bought {count} {item}"

    return toolbox


async def test_the_public_contract(tmp_path: Path, nothing_left):
    toolbox = Toolbox()

    @toolbox.tool
    async def add(a: int, b: int) -> int:
        return a + b

    async with MotorCortex(Settings(home=tmp_path, sandbox=small()), toolbox=toolbox) as cortex:
        async with cortex.turn() as turn:
            text = await turn.call("core.execute", {"purpose": "sum", "code": "return 1 + 1"})
            lent = await turn.call("core.execute", {"purpose": "sum", "code": "return await tools.add({a: 1, b: 2})"})
        names = [tool["function"]["name"] for tool in cortex.openai_tools()]
    assert (text, lent) == ("2", "3")
    assert names == ["core_execute", "core_energy", "core_say", "core_remember", "core_consolidate", "add"]


async def test_a_cortex_keeps_its_state_in_the_home_that_it_is_given(tmp_path: Path, nothing_left):
    here, there = tmp_path / "here", tmp_path / "there"
    settings = Settings(home=here, sandbox=small())
    async with MotorCortex(settings, home=HomeFiles(Home(there))) as cortex, cortex.turn() as turn:
        assert await turn.call("core.execute", {"purpose": "sum", "code": "return 1 + 1"}) == "2"
        await turn.call("core.remember", {"text": "likes pears"})
    assert [record.kind for record in HomeFiles(Home(there)).trail(settings.audit).records()][:2] == [
        "intent",
        "execution",
    ]
    assert {path.name for path in (there / "state").iterdir()} >= {"energy-ledger.jsonl", "memory.jsonl"}
    left = {path.relative_to(here).as_posix() for path in (here / "state").rglob("*") if path.is_file()}
    assert left <= {"state/approval.key", "state/approval.key.lock"}


async def test_a_machine_without_deno_is_one_clear_error(tmp_path: Path, nothing_left):
    settings = Settings(home=tmp_path, sandbox=small(deno_path=tmp_path / "deno"))
    with pytest.raises(SandboxUnavailable, match="Cannot start Deno"):
        async with MotorCortex(settings):
            pass


async def test_consent_is_asked_for_inside_code_too_and_the_clock_waits_for_the_person(tmp_path: Path):
    class Slow(ScriptedOwner):
        async def decide(self, question):
            await anyio.sleep(2 * limit_ms / 1000)
            return await super().decide(question)

    code = "return await tools.shop.buy({item: 'tea'}).catch((error) => `${error.code}: ${error.message}`)"
    # On a machine that stands still for a moment the code itself may need more than the first limit.
    for limit_ms in (200, 4_000):
        owner = Slow([True, False])
        policies = ToolSettings(policies={"shop.buy": "ask"})
        settings = Settings(home=tmp_path / str(limit_ms), sandbox=small(), tools=policies)
        async with MotorCortex(settings, toolbox=shop(), owner=owner) as cortex, cortex.turn() as turn:
            call = {"purpose": "shopping", "code": code, "timeout": limit_ms}
            texts = [await turn.call("core.execute", call) for _ in range(2)]
        if not any(text.startswith("EXECUTION_TIMEOUT") for text in texts):
            break
    assert [json.loads(text) for text in texts] == [
        "bought 1 tea",
        "denied: the owner was asked about shop.buy and said no",
    ]
    assert [(asked.tool, asked.origin, asked.purpose) for asked in owner.questions] == [
        ("shop.buy", "code", "shopping")
    ] * 2
    decisions = [record.facts for record in cortex.audit.records() if record.kind == "owner_decision"]
    assert [(facts["allowed"], facts["origin"]) for facts in decisions] == [(True, "code"), (False, "code")]


async def test_core_tools_are_never_lent(tmp_path: Path):
    settings = Settings(home=tmp_path, sandbox=small(), execute=MANY)
    async with MotorCortex(settings, toolbox=shop()) as cortex, cortex.turn() as turn:
        listed = await turn.call("core.execute", "return [Object.keys(tools), typeof tools.core]")
        forged = await turn.call("core.execute", "return await tools.core.execute({code: 'return 1'})")
    assert json.loads(listed) == [["shop"], "undefined"]
    assert forged.startswith("EXECUTION_ERROR: ")


async def test_hosts_come_from_the_settings_whatever_the_arguments_say(tmp_path: Path):
    def answer(talk: Talk) -> None:
        talk.reply(b"hello")

    with Server({"/": answer}) as server, Server({"/": answer}) as other:
        policy = NetworkPolicy.model_validate(
            {"allow": [{"host": "127.0.0.1", "ports": [server.port], "http": True, "private": True}]}
        )
        settings = Settings(home=tmp_path, sandbox=small(network=policy), execute=MANY)
        async with MotorCortex(settings) as cortex, cortex.turn() as turn:
            for port, tier in ((server.port, "network"), (other.port, "network"), (server.port, "isolated")):
                arguments = {
                    "purpose": "look",
                    "tier": tier,
                    "code": f"return (await fetch('http://127.0.0.1:{port}/')).status",
                    "hosts": [f"127.0.0.1:{other.port}"],
                    "network": {"allow": ["*"]},
                    "allow": ["*"],
                }
                text = await turn.call("core.execute", arguments)
                assert text.isdigit() == (port == server.port and tier == "network"), text
        assert other.paths() == []


async def test_a_cancelled_turn_stops_the_sandbox(tmp_path: Path):
    toolbox, running = Toolbox(), anyio.Event()

    @toolbox.tool
    async def begin() -> None:
        running.set()

    async with MotorCortex(Settings(home=tmp_path, sandbox=small()), toolbox=toolbox) as cortex, cortex.turn() as turn:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.call, "core.execute", "await tools.begin({}); while (true) {}")
            with anyio.fail_after(60):
                await running.wait()
            before = {pid for pid, command in descendants().items() if "deno run" in command}
            tasks.cancel_scope.cancel()
        with anyio.fail_after(60):
            while before <= descendants().keys():  # one waits already for the next run, and stays
                await anyio.sleep(0.01)


async def test_a_metered_run_is_settled_by_what_it_took(tmp_path: Path):
    metered = MeteredSettings(enabled=True, floor=0.0001, per_tool_call=0.02, per_cpu_second=0, per_peak_gib=0)
    settings = Settings(home=tmp_path, sandbox=small(), energy=EnergySettings(recharge_per_minute=0, metered=metered))
    async with MotorCortex(settings, toolbox=shop()) as cortex, cortex.turn() as turn:
        code = "for (let n = 0; n < 4; n++) await tools.shop.stock({item: 'tea'}); return 'done'"
        assert await turn.call("core.execute", code) == '"done"'
        assert cortex.energy.level() == pytest.approx(1 - 4 * 0.02)


def test_energy_that_was_spent_survives_a_host_that_is_killed_in_the_middle_of_a_run(tmp_path: Path):
    program = (
        "import anyio, os, sys\n"
        "from pathlib import Path\n"
        "from cortex import MotorCortex, Settings\n"
        "from sandbox import SandboxSettings\n"
        "async def main():\n"
        f"    settings = Settings(home=Path({str(tmp_path)!r}), sandbox=SandboxSettings(pool_size=0))\n"
        "    async with MotorCortex(settings) as cortex:\n"
        "        async with cortex.turn(lambda event: os.kill(os.getpid(), 9)) as turn:\n"
        "            await turn.call('core.execute', 'while (true) {}')\n"
        "anyio.run(main)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True)
    assert done.returncode == -9, done.stderr
    after = MotorCortex(Settings(home=tmp_path, energy=EnergySettings(recharge_per_minute=0)))
    assert after.energy.level() == pytest.approx(0.95, abs=0.001)
    assert [entry.reason for entry in after.energy.entries(1)] == ["execution"]
    assert [record.kind for record in after.audit.records()] == ["intent"]
    assert after.audit.verify().ok


async def test_the_kill_switch_stops_a_runtime_that_is_not_deno(tmp_path: Path):
    began = anyio.Event()

    class Endless:
        """Has `execute` and nothing else."""

        async def execute(self, request, tools=None, *, network=None, workspace=None):
            began.set()
            await anyio.sleep_forever()

    answers: list[str] = []
    async with MotorCortex(Settings(home=tmp_path), runtime=Endless()) as cortex:

        async def act() -> None:
            async with cortex.turn() as turn:
                answers.append(await turn.call("core.execute", {"purpose": "x", "code": "for (;;);"}))
                answers.append(await turn.call("core.execute", {"purpose": "x", "code": "return 1"}))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(act)
                await began.wait()
                cortex.switch.turn_on("enough", by="owner")
    assert answers[0].startswith("EXECUTION_ERROR: CrashError: The run was stopped: ")
    assert answers[1].startswith("EXECUTION_DENIED: Kill switch is on since ")
    assert [one.facts.get("stopped") for one in cortex.audit.records() if one.kind == "execution"] == [True]


async def test_listeners_hear_what_happens_in_every_turn_and_what_the_owner_decides(tmp_path: Path):
    heard: list[str] = []
    outcomes = [ExecutionOutcome(ok=True, result=1), ExecutionOutcome(ok=True, result=2)]
    async with MotorCortex(Settings(home=tmp_path), runtime=ScriptedRuntime(outcomes)) as cortex:
        cortex.subscribe(lambda event: heard.append(event.kind))
        for _ in outcomes:
            async with cortex.turn() as turn:
                await turn.call("core.execute", {"purpose": "x", "code": "return 1"})
        cortex.switch.turn_on("enough", by="owner")
        async with cortex.turn() as turn:
            await turn.call("core.execute", {"purpose": "x", "code": "return 1"})
            await turn.call("core.energy")
    ran = ["code_execution_started", "code_execution_completed"]
    assert heard == [*ran, *ran, "recorded", "refused", "core_tool_called"]
