"""Neurons in processes of their own: what crashes, hangs, leaks or spams stays its own trouble."""

from __future__ import annotations

import gc
import os
import signal
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from neurons import Autonomic, Neuron, Signal, Status
from sandbox import DenoRuntime, NetworkPolicy
from sandbox.testing import FunctionTools
from tests.conftest import descendants, small
from tests.neurons.governance import Governed
from tests.neurons.layer import FREE, Reserve, one, until
from tests.sandbox.network.servers import Server

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]

COUNTS = 'state.seen = (state.seen ?? 0) + 1; emit("counted", { by: "NAME", seen: state.seen, of: signal.data })'
BOUND_S = 120
"""For a busy machine. Nothing here waits so long."""


class Home:
    """A layer with real processes, and all that it emitted."""

    def __init__(self, governed: Governed | None = None, **settings) -> None:
        settings["autonomic"] = {"tick_s": 1_000_000, "save_s": 0.02, **settings.get("autonomic", {})}
        self.governed = governed or Governed(**settings)
        self.reserve = Reserve()
        self.heard: list[Signal] = []
        self.tools = FunctionTools({})
        self.network = NetworkPolicy()

    def neuron(self, name: str, code: str = COUNTS, **changes) -> Neuron:
        code = code.replace("NAME", name)
        return self.governed.in_trial(name=name, code=code, outputSignals=["counted"], **changes)

    @asynccontextmanager
    async def open(self):
        async with DenoRuntime(small(pool_size=0)) as runtime, self.layer(runtime) as layer:
            yield layer

    @asynccontextmanager
    async def layer(self, runtime: DenoRuntime, bound_s: float = BOUND_S):
        layer = Autonomic(
            self.governed,
            runtime,
            self.reserve,
            self.governed.settings,
            now=self.governed.clock,
            tools=lambda neuron: self.tools if neuron.tools else None,
            network=lambda neuron: self.network,
        )
        layer.watch(lambda signal: self.heard.append(signal) if signal.type == "counted" else None)
        with anyio.fail_after(bound_s):
            async with layer:
                yield layer

    def told(self, name: str) -> list:
        return [signal.data["seen"] for signal in self.heard if signal.data["by"] == name]

    def counters(self, neuron: Neuron):
        return self.governed.store.get(neuron.id).trial.counters


async def test_a_neuron_answers_signals_keeps_its_state_and_goes_on_after_a_restart():
    home = Home()
    neuron = home.neuron("Typical")
    for rounds in (1, 2):
        async with home.open() as autonomic:
            for number in range(3):
                autonomic.emit("tick", {"number": number})
            await autonomic.idle()
        assert home.told("Typical") == list(range(1, 3 * rounds + 1))
    assert home.heard[-1].data["of"] == {"number": 2}
    found = home.governed.restarted().store.get(neuron.id)
    assert (found.state, found.trial.counters.signals, found.trial.counters.emitted) == ({"seen": 6}, 6, 6)
    assert found.trial.counters.energy == pytest.approx(sum(amount for _, amount in home.reserve.spent))
    assert found.trial.counters.energy >= 6 * home.governed.settings.cost.per_signal


@pytest.mark.parametrize(
    ("name", "bad", "kind"),
    [
        ("Crashes", "Deno.exit(3)", "CrashError"),
        ("Hangs", "while (true) {}", "TimeoutError"),
        ("Leaks", "const all = []; while (true) all.push(new Uint8Array(1 << 20).fill(1))", "MemoryError"),
    ],
)
async def test_a_crash_a_hang_and_a_leak_cost_one_signal_each_and_end_no_other_neuron(name, bad, kind):
    # Little time only where that is what ends it; and more of it when the machine stood still for so long.
    for timeout_ms in (1_000, 15_000) if kind == "TimeoutError" else (20_000,):
        if await costs_one_signal(name, bad, kind, timeout_ms):
            break
    else:
        raise AssertionError("others failed too")


async def costs_one_signal(name: str, bad: str, kind: str, timeout_ms: int) -> bool:
    home = Home(autonomic={"timeout_isolated_ms": timeout_ms, "max_memory_mb": 64}, cost={"per_cpu_second": 0})
    neuron = home.neuron(name, f'if (signal.data === "bad") {{ {bad} }}\n{COUNTS}')
    other = home.neuron("Neighbour")
    async with home.open() as autonomic:
        for data in ("good", "bad", "good"):
            autonomic.emit("tick", data)
        await autonomic.idle()
        await autonomic.refresh()
        counters = home.counters(neuron)
        assert counters.signals == 3
        if (counters.errors, home.counters(other).errors) != (1, 0):
            return False
        assert counters.restarts == 1
        assert counters.last_error.startswith(kind)
        assert (home.told(name), home.told("Neighbour")) == ([1, 2], [1, 2, 3])
        assert home.counters(other).restarts == 0
        assert home.governed.store.get(neuron.id).status is Status.TRIAL
    return True


async def test_a_neuron_that_hangs_delays_neither_another_neuron_nor_the_heartbeat():
    home = Home(autonomic={"timeout_isolated_ms": 20_000, "tick_s": 60})
    home.neuron("Hangs", "while (true) {}", inputSignals=["go"])
    home.neuron("Quick")
    async with home.open() as autonomic:
        autonomic.emit("go")
        for number in range(1, 6):
            home.governed.clock.forward(seconds=60)
            await until(lambda number=number: len(home.told("Quick")) == number)


async def test_spam_disables_at_once_and_its_process_is_gone():
    home = Home(trial={"max_emitted_per_minute": 20})
    neuron = home.neuron("Spams", "for (let i = 0; i < 10; i++) emit('counted', { by: 'Spams', seen: i })")
    async with home.open() as autonomic:
        await until(lambda: one(autonomic, neuron).state == "awake")
        before = descendants()
        for _ in range(3):
            autonomic.emit("tick")
        await until(lambda: autonomic.overview().nerves == ())
        found = home.governed.store.get(neuron.id)
        assert (found.status, found.reason) == (Status.DISABLED, "30 signals emitted within a minute, 20 are allowed")
        await until(lambda: len(descendants()) < len(before))


async def test_code_that_is_wrong_fails_its_signals_and_is_disabled():
    home = Home(trial={"max_errors": 2})
    neuron = home.neuron("Wrong", "this is not a program")
    async with home.open() as autonomic:
        for _ in range(3):
            autonomic.emit("tick")
        await until(lambda: autonomic.overview().nerves == ())
    found = home.governed.store.get(neuron.id)
    assert found.status is Status.DISABLED
    assert "SyntaxError" in found.reason


async def test_a_process_that_is_killed_from_outside_is_replaced_and_counted():
    home = Home()
    neuron = home.neuron("Killed")
    async with DenoRuntime(small(pool_size=0)) as runtime:
        before = descendants()
        async with home.layer(runtime) as autonomic:
            autonomic.emit("tick")
            await autonomic.idle()
            for pid in descendants().keys() - before.keys():
                os.kill(pid, signal.SIGKILL)
            autonomic.emit("tick")
            autonomic.emit("tick")
            await autonomic.idle()
            assert home.told("Killed")[-1] >= 2
            assert one(autonomic, neuron).neuron.trial.counters.restarts == 1


async def test_a_neuron_reaches_its_tools_and_the_hosts_that_were_approved_and_no_others():
    async def price(arguments):
        return {"usd": arguments["of"] * 2}

    home = Home(cost={"per_tool_call": 0, "per_fetch": 0})
    home.tools = FunctionTools({"price": price})
    code = """
      const own = await (await fetch(`http://127.0.0.1:PORT/price`)).json();
      const lent = await tools.price({ of: 21 });
      let other = "reached";
      try { await fetch("https://elsewhere.example/") } catch (error) { other = "refused" }
      state.got = [own.usd, lent.usd, other];
    """
    with Server({"/price": lambda talk: talk.reply(b'{"usd": 97500}')}) as server:
        home.network = NetworkPolicy.model_validate(
            {"allow": [{"host": "127.0.0.1", "ports": [server.port], "http": True, "private": True}]}
        )
        neuron = home.neuron(
            "Reaches", code.replace("PORT", str(server.port)), tier="network", hosts=["127.0.0.1"], tools=["price"]
        )
        async with home.open() as autonomic:
            autonomic.emit("tick")
            await autonomic.idle()
    assert home.governed.store.get(neuron.id).state == {"got": [97500, 42, "refused"]}


async def test_each_neuron_has_a_process_of_its_own_that_ends_when_it_is_stopped():
    home = Home()
    for name in ("First", "Second", "Third", "Fourth", "Fifth"):
        home.neuron(name)
    async with DenoRuntime(small(pool_size=0)) as runtime:
        before = descendants().keys()  # among them one that is about to end, perhaps
        async with home.layer(runtime) as autonomic:
            await until(lambda: [view.state for view in autonomic.overview().nerves] == ["awake"] * 5)
            assert len(descendants().keys() - before) >= 5
            autonomic.stop()
            await until(lambda: descendants().keys() <= before)


@pytest.mark.soak
async def test_memory_stays_flat_over_two_hundred_thousand_signals():
    home = Home(cost=FREE)
    for name in ("First", "Second", "Third", "Fourth", "Fifth"):
        home.neuron(name, "state.by = 'NAME'; state.seen = (state.seen ?? 0) + 1; state.last = signal.data")
    async with DenoRuntime(small(pool_size=0)) as runtime, home.layer(runtime, bound_s=600) as autonomic:
        memory = []
        for _ in range(5):
            for number in range(8_000):
                if not number % 100:
                    await autonomic.idle()
                assert autonomic.emit("tick", {"number": number, "text": "x" * 100})
            await autonomic.idle()
            gc.collect()
            memory.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20)
        assert (autonomic.counts().delivered, autonomic.counts().dropped) == (200_000, {})
    assert memory[-1] - memory[0] < 4, memory
