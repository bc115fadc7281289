"""The whole way in one cortex, with real Deno: from a script that comes back to a neuron that answers without a model,
and to the switch that ends it."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from cortex import MotorCortex, Settings, Toolbox
from cortex.audit import AuditError
from cortex.settings.sections import EnergySettings, ExecuteSettings
from neurons import KillSwitch, Neuron, Notice, On, Signal, Status, watch_switch
from sandbox import NetworkPolicy
from sandbox.testing import ScriptedRuntime
from tests.conftest import small
from tests.neurons.governance import MAX_CODE_BYTES, Clock, proposal, report_of, shown
from tests.sandbox.network.servers import Server

pytestmark = pytest.mark.deno


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    """What a process does every two seconds it does at once."""
    monkeypatch.setattr("neurons.quarantine.queue.LOOK_S", 0.1)
    # A clock that is moved by an hour is no machine that slept for it.
    monkeypatch.setattr("neurons.autonomic.nerve._LONGEST_LEAP_S", 3_600)


BUDGET = EnergySettings(cost_isolated=0, cost_network=0)
# Only what hangs takes so long, on a slow machine too.
BOUND_S = 120
# By default a signal has a second. A machine that stands still for one must not make an error of it.
PATIENT = {"timeout_isolated_ms": 60_000, "timeout_network_ms": 60_000}
COUNTER = {
    "name": "Counter",
    "purpose": "Count how often the door opens",
    "code": "state.seen = (state.seen ?? 0) + 1; emit('counted', { seen: state.seen });",
    "inputSignals": ["door_opened"],
    "outputSignals": ["counted"],
    "energyBudget": 0.05,
}


class Told:
    """A channel of the owner's that keeps what it is told."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []

    async def notify(self, notice: Notice) -> None:
        self.notices.append(notice)


class Life:
    """A home, and the cortices that live in it one after the other."""

    def __init__(self, home: Path, **settings: Any) -> None:
        self.clock = Clock()
        self.told = Told()
        self.signals: list[Signal] = []
        self._home = home
        neurons = {"autonomic": PATIENT, **settings.pop("neurons", {})}
        execute = ExecuteSettings(max_timeout_isolated_ms=60_000)
        self._sections = {"sandbox": small(), "energy": BUDGET, "execute": execute, "neurons": neurons, **settings}

    def cortex(self, **more: Any) -> MotorCortex:
        settings = Settings(home=self._home, **self._sections)
        return MotorCortex(settings, now=self.clock, channels=[self.told], **more)

    async def propose(self, cortex: MotorCortex, proposal: dict[str, Any]) -> Neuron:
        """Through quarantine, to the owner's question or to its refusal."""
        async with cortex.turn() as turn:
            assert "is in quarantine" in await turn.call("core.consolidate", proposal)
        await until(lambda: not cortex.learning.pipeline.quarantined())
        return cortex.learning.store.get(proposal["name"])

    async def approve(self, cortex: MotorCortex, neuron: Neuron) -> None:
        assert neuron.request is not None, neuron.reason
        cortex.learning.pipeline.approve(neuron.id, neuron.request.shown_hash[:8])
        await cortex.autonomic.refresh()

    async def open_doors(self, cortex: MotorCortex, times: int = 1) -> None:
        for number in range(times):
            cortex.autonomic.emit("door_opened", {"number": number})
        await cortex.autonomic.idle()

    async def day(self, cortex: MotorCortex) -> None:
        """A day in which it is awake, with one door in each hour."""
        for _ in range(24):
            self.clock.forward(hours=1)
            await self.open_doors(cortex)
            await cortex.autonomic.refresh()

    def heard(self, type_: str) -> list[Any]:
        return [signal.data for signal in self.signals if signal.type == type_]


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(BOUND_S):
        while not is_so():
            await anyio.sleep(0.02)


async def run(cortex: MotorCortex, code: str, **more: Any) -> str:
    async with cortex.turn() as turn:
        return await turn.call("core.execute", {"purpose": "check the price", "code": code, **more})


async def told_in(cortex: MotorCortex) -> list[str]:
    """What the model is told beside its answers: until the first hint, and then in a few answers more."""
    hints: list[str] = []
    async with cortex.turn() as turn:
        with anyio.fail_after(BOUND_S):
            while not hints:
                await anyio.sleep(0.02)
                hints += filter(None, [(await turn.answer("core.energy")).note])
        for _ in range(5):
            hints += filter(None, [(await turn.answer("core.energy")).note])
    return hints


async def test_from_a_script_that_comes_back_to_a_neuron_that_answers_without_a_model(tmp_path, nothing_left):
    prices = count(100)
    with Server({"/price": lambda talk: talk.reply(json.dumps({"usd": next(prices)}).encode())}) as server:
        url = f"{server.url}/price"
        network = NetworkPolicy.model_validate({"allow": [server.url]})
        life = Life(tmp_path, sandbox=small(network=network))
        async with life.cortex() as cortex:
            cortex.autonomic.watch(life.signals.append)
            for name in ("bitcoin", "ether", "price"):
                code = f"const answer = await fetch('{url}'); const {name} = await answer.json(); return {name}.usd;"
                assert (await run(cortex, code, tier="network")).startswith("10")
            hints = await told_in(cortex)
            assert len(hints) == 1, "a habit is told once"
            assert "core.consolidate" in hints[0]
            asked = len(server.paths())
            habit = cortex.learning.habits.all()[0]
            neuron = await life.propose(
                cortex,
                {
                    "name": "CryptoPrice",
                    "purpose": "Tell when the price moves",
                    "code": f"""
                        let usd: number;
                        try {{ usd = (await (await fetch('{url}')).json()).usd; }} catch {{ return; }}
                        if (Math.abs(usd - (state.told ?? 0)) >= 2) {{
                          state.told = usd;
                          emit('crypto_price_change', {{ usd }});
                        }}""",
                    "inputSignals": ["door_opened"],
                    "outputSignals": ["crypto_price_change"],
                    "energyBudget": 0.05,
                    "tier": "network",
                    "hosts": [server.url],
                    "habit": habit.id,
                },
            )
            assert neuron.status is Status.AWAITING_OWNER, neuron.reason
            assert len(server.paths()) == asked, "a quarantine asks no real server"
            assert any(scenario.name.startswith("recorded") for scenario in neuron.report.scenarios)
            await until(lambda: bool(life.told.notices))
            assert [notice.title for notice in life.told.notices] == ["Agent wants to learn: CryptoPrice neuron"]
            await life.approve(cortex, neuron)
            await life.open_doors(cortex, 27)
            assert cortex.learning.store.get("crypto-price").status is Status.TRIAL
            await life.day(cortex)
            await until(lambda: cortex.learning.store.get("crypto-price").status is Status.ACTIVE)
            assert life.heard("crypto_price_change")[:2] == [{"usd": 103}, {"usd": 105}]
            await until(lambda: bool(cortex.memory.recent()))
            learned = "Learned skill: CryptoPrice: Tell when the price moves. "
            answers = "It answers door_opened and emits crypto_price_change without me."
            assert [memory.text for memory in cortex.memory.recent()] == [learned + answers]
            assert cortex.learning.habits.all()[0].neuron == "crypto-price"
        kinds = [record.facts.get("what") for record in cortex.audit.records() if record.kind == "owner_decision"]
        assert kinds == ["neuron approve"]


async def test_an_active_neuron_is_there_again_after_a_restart_with_its_state(tmp_path, nothing_left):
    life = Life(tmp_path)
    async with life.cortex() as cortex:
        await life.approve(cortex, await life.propose(cortex, COUNTER))
        await life.open_doors(cortex, 26)
        await life.day(cortex)
        life.clock.forward(hours=1)
        await life.open_doors(cortex)
        await until(lambda: cortex.learning.store.get("counter").status is Status.ACTIVE)
    async with life.cortex() as cortex:
        cortex.autonomic.watch(life.signals.append)
        await life.open_doors(cortex, 2)
    assert life.heard("counted") == [{"seen": 52}, {"seen": 53}]


async def test_a_document_that_was_edited_by_hand_does_not_run(tmp_path, nothing_left):
    life = Life(tmp_path)
    async with life.cortex() as cortex:
        await life.approve(cortex, await life.propose(cortex, COUNTER))
    path = tmp_path / "state" / "neurons" / "counter.json"
    document = json.loads(path.read_text())
    document["code"] = "emit('counted', { stolen: true })"
    path.write_text(json.dumps(document))
    async with life.cortex() as cortex:
        cortex.autonomic.watch(life.signals.append)
        await life.open_doors(cortex, 3)
        await until(lambda: cortex.learning.store.get("counter").status is not Status.QUARANTINE)
        assert cortex.learning.store.get("counter").status is Status.AWAITING_OWNER
    assert life.heard("counted") == []


async def test_a_document_whose_hosts_are_none_is_disabled_and_ends_nothing(tmp_path, nothing_left):
    life = Life(tmp_path)
    async with life.cortex() as cortex:
        await life.propose(cortex, COUNTER)
    path = tmp_path / "state" / "neurons" / "counter.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "status": "quarantine", "tier": "network", "hosts": ["not a host!"]}))
    async with life.cortex() as cortex:
        await until(lambda: cortex.learning.store.get("counter").status is Status.DISABLED)
        assert "not a host" in cortex.learning.store.get("counter").reason
        assert await run(cortex, "return 1") == "1"


async def test_a_candidate_that_fails_is_disabled_and_the_owner_is_not_asked(tmp_path, nothing_left):
    life = Life(tmp_path)
    async with life.cortex() as cortex:
        neuron = await life.propose(cortex, {**COUNTER, "code": "emit('something_else', 1)"})
    assert neuron.status is Status.DISABLED
    assert "something_else" in neuron.reason
    assert life.told.notices == []


async def test_what_was_in_quarantine_when_a_process_ended_is_tried_by_the_next_one(tmp_path, nothing_left):
    life = Life(tmp_path)
    switch = KillSwitch(tmp_path / "state")
    async with life.cortex() as cortex:
        async with cortex.turn() as turn:
            text = await turn.call("core.consolidate", COUNTER)
            assert "is in quarantine" in text
        switch.turn_on("a test", "owner")
    switch.turn_off("a test", "owner")
    async with life.cortex() as cortex:
        await until(lambda: not cortex.learning.pipeline.quarantined())
        assert cortex.learning.store.get("counter").status is Status.AWAITING_OWNER
    assert len(life.told.notices) <= 2


async def test_the_switch_ends_neurons_and_executions_and_lets_them_go_on_when_it_is_off(tmp_path, nothing_left):
    life = Life(tmp_path)
    async with life.cortex() as cortex:
        cortex.autonomic.watch(life.signals.append)
        await life.approve(cortex, await life.propose(cortex, COUNTER))
        await life.open_doors(cortex)
        texts: list[str] = []

        async def endless() -> None:
            texts.append(await run(cortex, "for (;;);"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(endless)
            await until(lambda: any(record.kind == "intent" for record in cortex.audit.records()))
            killed = KillSwitch(tmp_path / "state").turn_on("smoke in the room", "owner")
            await until(lambda: bool(texts))
        assert killed.is_on
        assert killed.processes
        assert texts[0].startswith("EXECUTION_")
        assert "Kill switch is on" in texts[0]
        assert (await run(cortex, "return 1")).startswith("EXECUTION_DENIED: Kill switch is on")
        await until(lambda: cortex.autonomic.overview().state == "killed")
        before = len(life.heard("counted"))
        await life.open_doors(cortex, 3)
        assert len(life.heard("counted")) == before
        KillSwitch(tmp_path / "state").turn_off("it was toast", "owner")
        await until(lambda: cortex.autonomic.overview().state == "leading")
        await cortex.autonomic.refresh()
        await life.open_doors(cortex)
        assert life.heard("counted")[before:] == [{"seen": 2}]
        assert await run(cortex, "return 1") == "1"


async def test_neurons_wake_up_when_the_sandbox_runs_again_and_not_before(tmp_path, nothing_left, monkeypatch):
    stopped, is_slow = anyio.Event(), True

    async def watch(switch: KillSwitch, poll_ms: int, on_kill: Callable[[On], None], on_revive: Callable[[], None]):
        def kill(on: On) -> None:
            on_kill(on)
            stopped.set()

        def revive() -> None:
            if is_slow:
                raise RuntimeError("not yet")  # it is asked again with the next look
            on_revive()

        await watch_switch(switch, poll_ms, kill, revive)

    monkeypatch.setattr("cortex.motor_cortex.watch_switch", watch)
    life = Life(tmp_path)
    async with life.cortex() as cortex:
        cortex.autonomic.watch(life.signals.append)
        await life.approve(cortex, await life.propose(cortex, COUNTER))
        await life.open_doors(cortex)
        cortex.switch.turn_on("a moment", "owner")
        await stopped.wait()
        await until(lambda: cortex.autonomic.overview().state == "killed")
        cortex.switch.turn_off("go on", "owner")
        for _ in range(3):
            cortex.autonomic.beat()
            await cortex.autonomic.refresh()
        assert cortex.autonomic.overview().state == "killed"
        is_slow = False
        await until(lambda: cortex.autonomic.overview().state == "leading")
        await cortex.autonomic.refresh()
        await life.open_doors(cortex)
    assert life.heard("counted") == [{"seen": 1}, {"seen": 2}]


async def test_a_candidate_that_was_killed_alone_holds_up_no_other(tmp_path, nothing_left):
    life = Life(tmp_path)
    switch = KillSwitch(tmp_path / "state")
    switch.turn_on("not this one", "owner", neuron="aaa")
    async with life.cortex() as cortex:
        for name in ("Aaa", "Bbb"):
            async with cortex.turn() as turn:
                code = f'{COUNTER["code"]} void "{name}";'
                assert "is in quarantine" in await turn.call(
                    "core.consolidate", {**COUNTER, "name": name, "code": code}
                )
        store = cortex.learning.store
        await until(lambda: store.get("bbb").status is Status.AWAITING_OWNER)
        assert store.get("aaa").status is Status.QUARANTINE
        await anyio.sleep(0.5)  # several looks: it must not be forgotten by then
        switch.turn_off("this one too", "owner", neuron="aaa")
        await until(lambda: store.get("aaa").status is Status.AWAITING_OWNER)


async def test_what_waited_for_the_switch_is_tried_when_it_is_off(tmp_path, nothing_left):
    life = Life(tmp_path)
    async with life.cortex() as cortex:
        async with cortex.turn() as turn:
            await turn.call("core.consolidate", COUNTER)
            cortex.switch.turn_on("a moment", "owner")
        await until(lambda: cortex.autonomic.overview().state == "killed")
        cortex.switch.turn_off("go on", "owner")
        await until(lambda: cortex.learning.store.get("counter").status is Status.AWAITING_OWNER)


@pytest.mark.parametrize("fault", ["audit", "channel"])
async def test_a_full_disk_or_a_broken_channel_ends_neither_the_agent_nor_the_quarantine(
    tmp_path, nothing_left, monkeypatch, fault
):
    class Broken:
        async def notify(self, notice: Notice) -> None:
            raise RuntimeError("no line")

    life = Life(tmp_path)
    settings = Settings(home=tmp_path, sandbox=small(), energy=BUDGET, neurons={"autonomic": PATIENT})
    cortex = MotorCortex(settings, now=life.clock, channels=[Broken()])
    is_full = fault == "audit"
    record = cortex.learning.pipeline._record

    def recorded(kind: str, /, **facts: Any) -> None:
        if is_full and facts.get("what") == "neuron passed":
            raise AuditError("the disk is full")
        record(kind, **facts)

    monkeypatch.setattr(cortex.learning.pipeline, "_record", recorded)
    async with cortex:
        async with cortex.turn() as turn:
            await turn.call("core.consolidate", COUNTER)
        if is_full:
            await anyio.sleep(0.3)
            assert cortex.learning.store.get("counter").status is Status.QUARANTINE
        assert await run(cortex, "return 1") == "1"
        is_full = False
        await until(lambda: cortex.learning.store.get("counter").status is Status.AWAITING_OWNER)
        assert await run(cortex, "return 2") == "2"


async def test_a_message_of_the_user_is_a_signal(tmp_path, nothing_left):
    life = Life(tmp_path)
    async with life.cortex() as cortex:
        cortex.autonomic.watch(life.signals.append)
        async with cortex.turn(message="what is the price?"):
            pass
        await cortex.autonomic.idle()
    assert life.heard("user_message") == [{"text": "what is the price?"}]
    assert [signal.source for signal in life.signals if signal.type == "user_message"] == ["cortex"]


async def test_a_signal_wakes_the_agent_where_the_settings_say_so(tmp_path, nothing_left):
    woken: list[Signal] = []

    async def wake(signal: Signal) -> None:
        woken.append(signal)

    life = Life(tmp_path, neurons={"wake_on": ["door_opened"], "max_wakes_per_hour": 2})
    async with life.cortex(wake=wake) as cortex:
        for number in range(4):
            cortex.autonomic.emit("door_opened", {"number": number})
        cortex.autonomic.emit("door_closed")
        await cortex.autonomic.idle()
    assert [signal.data for signal in woken] == [{"number": 0}, {"number": 1}]


async def test_a_neuron_calls_the_tools_that_were_approved_and_that_is_recorded(tmp_path, nothing_left):
    stock = iter(range(100))
    toolbox = Toolbox()
    toolbox.add(lambda: next(stock), name="shop.stock")
    life = Life(tmp_path)
    proposal = {
        **COUNTER,
        "code": "try { emit('counted', { left: await tools.shop.stock({}) }); } catch { return; }",
        "tools": ["shop.stock"],
    }
    async with life.cortex(toolbox=toolbox) as cortex:
        cortex.autonomic.watch(life.signals.append)
        neuron = await life.propose(cortex, proposal)
        assert next(stock) == 0, "a quarantine calls no real tool"
        await life.approve(cortex, neuron)
        await life.open_doors(cortex, 2)
        calls = [record.facts["turn"] for record in cortex.audit.records() if record.kind == "tool_call"]
    assert life.heard("counted") == [{"left": 1}, {"left": 2}]
    assert calls.count("neuron:counter") == 2


async def test_a_neuron_whose_tool_is_not_here_does_not_run_and_passes_no_trial(tmp_path, nothing_left):
    toolbox = Toolbox()
    toolbox.add(lambda: 1, name="shop.stock")
    life = Life(tmp_path)
    code = "try { emit('counted', await tools.shop.stock({})); } catch { return; }"
    async with life.cortex(toolbox=toolbox) as cortex:
        await life.approve(cortex, await life.propose(cortex, {**COUNTER, "code": code, "tools": ["shop.stock"]}))
    async with life.cortex() as cortex:
        cortex.autonomic.watch(life.signals.append)
        await until(lambda: any("shop.stock" in nerve.reason for nerve in cortex.autonomic.overview().nerves))
        cortex.autonomic.emit("door_opened")
        await anyio.sleep(0.2)
        await cortex.autonomic.refresh()
        trial = cortex.learning.store.get("counter").trial
    assert trial is not None
    assert trial.counters.signals == 0
    assert life.heard("counted") == []


async def test_what_no_neuron_can_have_here_cannot_be_proposed(tmp_path):
    async with Life(tmp_path).cortex() as cortex, cortex.turn() as turn:
        text = await turn.call("core.consolidate", {**COUNTER, "tier": "network", "hosts": ["api.example.com"]})
        assert cortex.learning.store.load_all() == []
    assert text.startswith("EXECUTION_DENIED: ")
    assert "not in the allowlist" in text


async def test_a_cortex_whose_runtime_keeps_no_programs_offers_no_learning(tmp_path):
    async with MotorCortex(Settings(home=tmp_path), runtime=ScriptedRuntime([])) as cortex:
        names = [tool["function"]["name"] for tool in cortex.openai_tools()]
        async with cortex.turn() as turn:
            text = await turn.call("core.consolidate", COUNTER)
        with pytest.raises(RuntimeError, match="keeps no neurons"):
            _ = cortex.autonomic
    assert "core_consolidate" not in names
    assert text.startswith("EXECUTION_DENIED")


async def test_with_max_awake_0_nothing_can_be_proposed(tmp_path):
    async with Life(tmp_path, neurons={"max_awake": 0}).cortex() as cortex:
        assert "core_consolidate" not in [tool["function"]["name"] for tool in cortex.openai_tools()]


async def test_habits_can_be_switched_off(tmp_path):
    async with Life(tmp_path, neurons={"habits": {"enabled": False}}).cortex() as cortex:
        for _ in range(4):
            await run(cortex, "let sum = 0; for (const one of [1, 2, 3]) sum += one; return sum;")
        async with cortex.turn() as turn:
            assert (await turn.answer("core.energy")).note is None
    assert not (tmp_path / "state" / "habits").exists()


async def test_a_whole_state_that_is_put_back_wakes_nothing_that_was_disabled(tmp_path):
    home, backup = tmp_path / "home", tmp_path / "backup"
    async with MotorCortex(Settings(home=home), runtime=ScriptedRuntime([])) as cortex:
        pipeline = cortex.learning.pipeline
        neuron = pipeline.propose(proposal(), max_code_bytes=MAX_CODE_BYTES)
        asked = pipeline.judged(neuron.id, report_of(neuron, at=time.time()))
        pipeline.approve(neuron.id, shown(asked))
        assert len(pipeline.awake()) == 1
        cortex.learning.store.flush()
        shutil.copytree(home / "state", backup)
        pipeline.disable(neuron.id, "it spams")
    shutil.rmtree(home / "state")
    shutil.copytree(backup, home / "state")
    async with MotorCortex(Settings(home=home), runtime=ScriptedRuntime([])) as cortex:
        assert cortex.learning.store.get(neuron.id).is_awake
        assert cortex.learning.pipeline.awake() == []
        assert "the audit says disabled" in cortex.learning.store.get(neuron.id).reason
