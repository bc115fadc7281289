"""Candidates in real Deno processes: what they do wrong is found, and nothing that they do reaches anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from neurons.contracts.ports import Recording, ToolExchange
from neurons.contracts.program import program_of
from neurons.contracts.signals import Signal, as_given
from neurons.habits.fingerprint_reader import FingerprintReader
from neurons.quarantine.quarantine import rehearse
from neurons.quarantine.scenarios import EDGES, FAILURES, ODD_ANSWERS, TYPICAL
from sandbox import DenoRuntime, ExecutionRequest, Guard, NetworkPolicy, Recorder, Replay, Tier
from tests.conftest import small
from tests.neurons.candidates import candidate, exchange, recording, settings
from tests.sandbox.network.servers import Server

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]

EXAMPLES = Path(__file__).parents[3] / "examples" / "neurons"
BITCOIN = "https://api.coingecko.com/api/v3/simple/price?ids=bitcoin&vs_currencies=usd"


def crypto_price(**changes):
    declared = {
        "input_signals": ("tick",),
        "output_signals": ("crypto_price_change",),
        "energy_budget": 0.02,
        "tier": Tier.NETWORK,
        "hosts": ("api.coingecko.com",),
    }
    return candidate((EXAMPLES / "crypto_price.ts").read_text(encoding="utf-8"), **{**declared, **changes})


def price(usd: float):
    return exchange(BITCOIN, b'{"bitcoin":{"usd":%a}}' % usd)


def result(report, name):
    return next(each for each in report.scenarios if each.name == name)


async def test_the_neuron_of_the_example_passes_with_its_recorded_prices(monkeypatch):
    monkeypatch.setattr("sandbox.guard.guard.ANSWER_TIMEOUT_S", 60)  # which ordinary code may need on a busy machine
    recordings = [recording({}, (price(97_500),)), recording({}, (price(99_000),))]
    async with DenoRuntime(small()) as runtime, Guard() as guard, FingerprintReader() as reader:
        report = await rehearse(
            crypto_price(), runtime, settings(), recordings=recordings, guard=guard, read=reader.read
        )
    assert report.problems == ()
    assert report.findings == ("keeps a state, of at most 20 bytes here",)
    # The first price, and the second, which differs by more than one per cent.
    assert result(report, TYPICAL).emitted == {"crypto_price_change": 2}
    assert result(report, "recorded 1").emitted == {"crypto_price_change": 1}
    assert result(report, FAILURES).emitted == {}
    assert all(0 < each.energy < 0.02 for each in report.scenarios)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_neuron_of_the_example_sees_a_slow_drift(anyio_backend):
    """Each step is smaller than the threshold: compared with the one before, nothing would ever be told."""
    prices = [100, 100.3, 100.6, 100.9, 101.2, 101.3]
    policy = NetworkPolicy.model_validate(
        {"allow": ["api.coingecko.com"], "replay": Replay([price(usd) for usd in prices])}
    )
    tick = as_given(Signal("tick", "cortex"))
    async with (
        DenoRuntime(small()) as runtime,
        runtime.resident(program_of(crypto_price(), settings()), network=policy) as resident,
    ):
        answer = await resident.handle([tick] * len(prices), {})
    assert [emitted for each in answer.answers for emitted in each.emitted] == [
        ("crypto_price_change", {"usd": 100, "before": None}),
        ("crypto_price_change", {"usd": 101.2, "before": 100}),
    ]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_other_example_passes_too(anyio_backend):
    neuron = candidate(
        (EXAMPLES / "overdue_reminder.ts").read_text(encoding="utf-8"),
        input_signals=("user_message", "hour_changed"),
        output_signals=("reminder_due",),
        energy_budget=0.01,
    )
    async with DenoRuntime(small()) as runtime:
        report = await rehearse(neuron, runtime, settings())
        async with runtime.resident(program_of(neuron, settings())) as resident:
            given = [
                ("user_message", {"text": "Please remind me at 17 to call the dentist"}),
                ("hour_changed", {"hour": 16}),
                ("hour_changed", {"hour": 17}),
                ("hour_changed", {"hour": 17}),
            ]
            answer = await resident.handle([as_given(Signal(type_, "cortex", data)) for type_, data in given], {})
    assert report.problems == ()
    assert [each.emitted for each in answer.answers] == [
        (),
        (),
        (("reminder_due", {"what": "call the dentist"}),),
        (),
    ]


@dataclass
class Fault:
    code: str
    says: str
    """In its first problem."""
    declares: dict[str, Any] = field(default_factory=dict)


FAULTS = {
    "throws": Fault("throw new Error('no way')", ": RuntimeError: no way. That was an ordinary signal"),
    "missing data": Fault(
        "emit('seen', signal.data.number)", 'edges: failed on signal "tick" with the data null: RuntimeError: TypeError'
    ),
    "syntax": Fault("emit('seen',", ": SyntaxError: "),
    "hangs": Fault("while (true) {}", ": no answer in 1500 ms. Do less"),
    "waits": Fault("await new Promise(() => {})", "a promise that nothing will settle"),
    "exits": Fault("Deno.exit(0)", "The code has to return, and not to end its process"),
    "undeclared signal": Fault("emit('seen'); emit('gossip', 1)", 'emitted "gossip", which is not among'),
    "a circle": Fault("const a = {}; a.a = a; emit('seen', a)", 'Cannot emit "seen" with data.a'),
    "too much state": Fault("state.all = 'x'.repeat(20_000)", "Keep less in state"),
    "too much memory": Fault(
        "const all = []; while (true) all.push(new Uint8Array(64e6).fill(1))", "Do less for each signal"
    ),
    "data that is no JSON": Fault("emit('seen', () => 1)", 'Cannot emit "seen" with data: a function'),
    "too many signals": Fault("for (let i = 0; i < 99; i++) emit('seen', i)", "emit fewer"),
    "a signal that is too large": Fault("emit('seen', 'x'.repeat(20_000))", "emit fewer and smaller"),
    "a memory outside of the state": Fault(
        "emit.times = (emit.times ?? 0) + 1; console.times = (console.times ?? 0) + 1; emit('seen', [emit.times, console.times])",
        "keep what is to be remembered in state, and nowhere else",
    ),
    "undeclared host": Fault(
        "try { await fetch('https://evil.example/x') } catch {} emit('seen')",
        'asked for "evil.example", which is not among its hosts ("good.example")',
        {"tier": Tier.NETWORK, "hosts": ("good.example",)},
    ),
    "a network that is not caught": Fault(
        "const r = await fetch('https://good.example/x'); emit('seen', r.status)",
        'Nothing was recorded for "GET https://good.example/x", so that it failed, as it may at any time: catch that',
        {"tier": Tier.NETWORK, "hosts": ("good.example",)},
    ),
    "network in the isolated tier": Fault(
        "emit('seen', await fetch('https://a.example/'))",
        "PermissionError: PermissionDenied: fetch needs the network tier",
    ),
    "undeclared tool": Fault("emit('seen', await tools.mail.send({}))", "Tools lent to this run: none"),
    "a tool that is not caught": Fault(
        "emit('seen', await tools.clock.now({}))", 'Nothing was recorded for "clock.now"', {"tools": ("clock.now",)}
    ),
    "over budget": Fault(
        "let x = 0; for (let i = 0; i < 1e7; i++) x = (x + i) % 7; emit('seen', x)",
        "typical signals: a signal cost",
        {"energy_budget": 0.0005},
    ),
}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_each_fault_of_a_candidate_is_a_problem_in_words(anyio_backend, subtests):
    async with DenoRuntime(small()) as runtime:
        for name, fault in FAULTS.items():
            # Little time only where that is what ends it.
            timeout_ms = 1_500 if "1500 ms" in fault.says else 10_000
            chosen = settings(autonomic={"timeout_isolated_ms": timeout_ms}, quarantine={"burst": 5})
            report = await rehearse(candidate(fault.code, **fault.declares), runtime, chosen)
            with subtests.test(name):
                assert not report.passed
                assert fault.says in report.problems[0], report.problems
                assert all(len(problem) <= 600 for problem in report.problems)
        # None of them has broken anything for those that come after.
        assert (await rehearse(candidate(), runtime, chosen)).passed


async def test_nothing_real_is_asked_neither_with_recordings_nor_without():
    """The runtime itself may fetch from the server: a quarantine may not."""
    code = "try { const r = await fetch('%s/price'); emit('seen', await r.json()) } catch { state.failed = true }"
    with Server(
        {"/price": lambda talk: talk.reply(b'{"usd": 5}', headers={"Content-Type": "application/json"})}
    ) as server:
        allowed = {"allow": [server.url]}
        async with DenoRuntime(small(network=allowed)) as runtime:
            recorder = Recorder()
            request = ExecutionRequest(
                code=f"return (await (await fetch('{server.url}/price')).json()).usd", tier=Tier.NETWORK
            )
            policy = NetworkPolicy.model_validate({**allowed, "recorder": recorder})
            outcome = await runtime.execute(request, network=policy)
            assert (outcome.result, server.paths()) == (5, ["/price"])

            made = Recording("a" * 64, 0.0, {}, recorder.exchanges)
            neuron = candidate(code % server.url, tier=Tier.NETWORK, hosts=(server.url,))
            replayed = await rehearse(neuron, runtime, settings(), recordings=[made])
            without = await rehearse(neuron, runtime, settings())
            elsewhere = await rehearse(candidate(code % server.url, tier=Tier.NETWORK), runtime, settings())
        assert (server.paths(), server.connections) == (["/price"], 1)
    assert replayed.problems == ()
    assert result(replayed, TYPICAL).emitted == {"seen": 2}
    assert result(replayed, FAILURES).emitted == {}
    assert without.problems == ()
    assert f'nothing was recorded for "GET {server.url}/price"' in " ".join(without.findings)
    assert 'declares the output "seen" and never emitted it' in without.findings
    assert 'asked for "127.0.0.1", which is not among its hosts (none)' in elsewhere.problems[0]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_code_that_looks_for_a_rehearsal_finds_a_network_that_fails(anyio_backend):
    """What code is told must be what it is told when a server is not there, word for word."""
    ask = "try {{ await fetch('{0}') }} catch (e) {{ emit('seen', [e.name, e.message, e.code, e.retryable]) }}"
    with Server() as gone:
        url = gone.url + "/x"
    neuron = candidate(ask.format(url), tier=Tier.NETWORK, hosts=(gone.url,))
    heard = []
    policy = NetworkPolicy.model_validate({"allow": [gone.url]})

    class Overheard:
        def __init__(self, runtime):
            self._runtime = runtime

        def resident(self, program, tools=None, *, network=None):
            return Listener(self._runtime.resident(program, tools, network=network))

    class Listener:
        def __init__(self, inner):
            self._inner = inner

        async def __aenter__(self):
            self._resident = await self._inner.__aenter__()
            return self

        async def __aexit__(self, *exc):
            return await self._inner.__aexit__(*exc)

        async def handle(self, signals, state):
            answer = await self._resident.handle(signals, state)
            heard.extend(data for each in answer.answers for _, data in each.emitted)
            return answer

    async with DenoRuntime(small()) as runtime:
        report = await rehearse(neuron, Overheard(runtime), settings())
        async with runtime.resident(program_of(neuron, settings()), network=policy) as resident:
            real = await resident.handle([as_given(Signal("tick", "cortex"))], {})
    assert report.problems == ()
    ((_, expected),) = real.answers[0].emitted
    assert expected[2] == "network"
    assert heard
    assert all(each == expected for each in heard)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_recorded_tools_answer_and_odd_answers_of_servers_are_survived(anyio_backend):
    call = ToolExchange("clock.now", {"zone": "utc"}, result={"hour": 7})
    code = """
        try {
            const { hour } = await tools.clock.now({ zone: "utc" });
            const response = await fetch("https://good.example/x");
            emit("seen", { hour, usd: (await response.json()).usd.toFixed(2) });
        } catch (error) { state.error = error.message }
    """
    neuron = candidate(code, tier=Tier.NETWORK, hosts=("good.example",), tools=("clock.now",))
    made = recording({}, (exchange("https://good.example/x", b'{"usd": 7}'),), (call,))
    async with DenoRuntime(small()) as runtime:
        report = await rehearse(neuron, runtime, settings(), recordings=[made])
    assert report.problems == ()
    assert result(report, "recorded 1").emitted == {"seen": 2}
    assert result(report, ODD_ANSWERS).ok
    assert result(report, ODD_ANSWERS).emitted == {}
    assert result(report, EDGES).ok
