"""What a quarantine gives to a candidate and how it judges the answers, with programs that are Python functions."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from types import SimpleNamespace

import anyio
import pytest

from neurons.contracts.ports import ToolExchange
from neurons.contracts.signals import Signal, as_given
from neurons.pipeline.hashes import code_hash, policy_hash
from neurons.quarantine.attempt import UNDECLARED
from neurons.quarantine.quarantine import rehearse
from neurons.quarantine.scenarios import BURST, EDGES, FAILURES, KEPT_STATE, TYPICAL
from sandbox import BatchAnswer, Finding, NetworkPolicy, Recorder, SandboxUnavailable, Tier, ToolError, Work
from sandbox.testing import FunctionTools, ScriptedResidents
from tests.neurons.candidates import AT, candidate, exchange, recording, settings

PRICE = "https://prices.example/btc"


def echo(signal, state, emit):
    emit("seen", signal["data"])


async def judged(function=echo, neuron=None, work=None, recordings=(), guard=None, read=None, **sections):
    hosts = ScriptedResidents(function, work)
    report = await rehearse(
        neuron or candidate(),
        hosts,
        settings(**sections),
        recordings=recordings,
        guard=guard,
        read=read,
        now=lambda: AT,
    )
    assert len(hosts.opened) == len(hosts.closed)
    return report


def result(report, name):
    return next(each for each in report.scenarios if each.name == name)


async def test_a_candidate_that_does_what_it_declares_passes_with_its_evidence():
    neuron = candidate()
    report = await judged(neuron=neuron)
    assert report.passed
    assert report.findings == ()
    assert (report.at, report.code_hash, report.policy_hash) == (AT, code_hash(neuron.code), policy_hash(neuron.policy))
    assert [each.name for each in report.scenarios] == [TYPICAL, EDGES, BURST]
    assert all(each.ok and each.problem == "" for each in report.scenarios)
    assert result(report, BURST).emitted == {"seen": 50}


async def test_each_scenario_has_a_process_of_its_own_and_hands_its_state_on():
    found = []

    def count(signal, state, emit):
        state["n"] = state.get("n", 0) + 1
        found.append((len(hosts.opened), state["n"]))

    hosts = ScriptedResidents(count)
    neuron = candidate(output_signals=(), state={"n": 40})
    report = await rehearse(neuron, hosts, settings(), now=lambda: AT)
    assert [each.name for each in report.scenarios] == [TYPICAL, EDGES, BURST, KEPT_STATE]
    counts = [[n for process, n in found if process == number] for number in (1, 2, 3, 4)]
    assert [numbers[0] for numbers in counts] == [1, 1, 1, 41]
    assert all(numbers == list(range(numbers[0], numbers[0] + len(numbers))) for numbers in counts)
    assert report.findings == ("keeps a state, of at most 8 bytes here",)


async def test_signals_look_like_real_ones_with_ids_of_their_own_and_the_time_of_now():
    seen = []

    def look(signal, state, emit):
        seen.append(signal)

    await judged(look, candidate(output_signals=(), tools=("clock.now",)))
    assert len({signal["id"] for signal in seen}) == len(seen)
    assert {len(signal["id"]) for signal in seen} == {16}
    assert all(signal["correlation"] == signal["id"] and signal["parent"] is None for signal in seen)
    real = as_given(Signal("tick", "cortex", at=AT))
    assert all(list(signal) == list(real) for signal in seen)
    assert all((signal["at"], signal["source"]) == (real["at"], "cortex") for signal in seen)


async def test_the_burst_comes_in_batches_as_the_layer_gives_them_and_the_rest_one_by_one():
    hosts = ScriptedResidents(echo)
    await rehearse(candidate(), hosts, settings(quarantine={"burst": 10}, autonomic={"max_batch": 4}), now=lambda: AT)
    sizes = [len(batch) for _, batch in hosts.batches]
    *others, first, second, third, once, again = sizes
    assert (first, second, third) == (4, 4, 2)
    assert set(others) == {1}
    assert once == again  # the same twice, see below


@pytest.mark.parametrize(
    ("tier", "expected"),
    [
        (Tier.ISOLATED, 77),
        (Tier.NETWORK, 88),
    ],
)
async def test_the_limits_are_those_of_the_layer(tier, expected):
    hosts = ScriptedResidents(echo)
    limits = {
        "timeout_isolated_ms": 77,
        "timeout_network_ms": 88,
        "max_state_bytes": 99,
        "max_emitted": 3,
        "max_signal_bytes": 4000,
        "max_memory_mb": 111,
    }
    await rehearse(candidate(tier=tier), hosts, settings(autonomic=limits), now=lambda: AT)
    program = hosts.opened[0]
    assert (program.tier, program.timeout_ms) == (tier, expected)
    assert (program.max_state_bytes, program.max_emitted, program.max_signal_bytes, program.max_memory_mb) == (
        99,
        3,
        4000,
        111,
    )


async def test_a_crash_on_missing_data_is_a_problem_that_says_what_to_do():
    def careless(signal, state, emit):
        if not signal["data"]:
            raise ValueError("Cannot read properties of null (reading 'number')")
        emit("seen", 1)

    report = await judged(careless)
    assert report.problems[0] == (
        'edges: failed on signal "tick" with the data null and 1 more: RuntimeError: Cannot read properties of null '
        "(reading 'number'). Data may be missing or of another type: check signal.data before it is used"
    )
    assert len(report.problems) == 1
    assert [each.ok for each in report.scenarios] == [True, False, True]
    assert result(report, EDGES).problem in report.problems[0]


@pytest.mark.parametrize(
    ("type_", "recordings", "expected"),
    [
        ("tick", [], "That was an ordinary signal: correct the code"),
        ("price", [], "Data may be missing or of another type"),
        ("price", [recording({"usd": 5})], "That was an ordinary signal: correct the code"),
    ],
)
async def test_invented_data_is_not_called_ordinary_and_what_was_recorded_is(type_, recordings, expected):
    def broken(signal, state, emit):
        raise ValueError("broken" if recordings and signal["data"] == {"usd": 5} else "invented")

    report = await judged(broken, candidate(input_signals=(type_,)), recordings=recordings)
    assert expected in next(each for each in report.problems if ("broken" in each) == bool(recordings))


async def test_a_timeout_is_a_problem_and_the_rest_is_not_tried():
    def slow(signal, state, emit):
        raise TimeoutError

    report = await judged(slow, autonomic={"timeout_isolated_ms": 123})
    assert len(report.scenarios) == 1
    assert report.findings == ()
    (problem,) = report.problems
    assert problem.startswith(
        'typical signals: failed on signal "tick" with the data {"number":1,"intervalS":60}: no answer in 123 ms'
    )


async def test_only_declared_signals_may_be_emitted():
    def chatty(signal, state, emit):
        emit("seen", 1)
        emit("secret\u202e\n" + "x" * 500, 1)

    report = await judged(chatty)
    (problem,) = report.problems
    assert problem.startswith('emitted "secret\\u{202e} xxx')
    assert len(problem) < 200
    assert result(report, TYPICAL).emitted == {"seen": 2, UNDECLARED: 2}
    assert not any(each.ok for each in report.scenarios)


async def test_a_signal_that_costs_more_than_the_budget_is_a_problem():
    work = Work(cpu_ms=200, fetches=1)
    report = await judged(work=work, neuron=candidate(energy_budget=0.01))
    problem = report.problems[0]
    assert problem == (
        "typical signals: a signal cost 0.0122 of energy (200 ms of CPU, 1 requests, 0 tool calls), and the budget is "
        "0.01. Do less for each signal, or declare a larger energyBudget"
    )
    assert result(report, TYPICAL).energy == pytest.approx(0.0122)
    assert (await judged(work=work, neuron=candidate(energy_budget=0.0123))).passed
    assert (await judged(work=work, neuron=candidate(energy_budget=0.01), cost={"per_cpu_second": 0})).passed


async def test_a_batch_may_cost_its_budget_for_each_signal():
    class Batches(ScriptedResidents):
        @asynccontextmanager
        async def resident(self, program, tools=None, *, network=None):
            async with super().resident(program, tools, network=network) as inner:

                class Wrapped:
                    async def handle(self, signals, state):
                        answer = await inner.handle(signals, state)
                        return replace(answer, work=Work(cpu_ms=100 * len(signals)))

                yield Wrapped()

    assert (await rehearse(candidate(energy_budget=0.0055), Batches(echo), settings(), now=lambda: AT)).passed
    report = await rehearse(candidate(energy_budget=0.0051), Batches(echo), settings(), now=lambda: AT)
    assert len(report.problems) == 3


async def test_one_costly_signal_among_cheap_ones_is_over_the_budget():
    class Uneven(ScriptedResidents):
        @asynccontextmanager
        async def resident(self, program, tools=None, *, network=None):
            async with super().resident(program, tools, network=network) as inner:

                class Wrapped:
                    async def handle(self, signals, state):
                        answer = await inner.handle(signals, state)
                        first, *others = answer.answers
                        costly = replace(first, cpu_ms=1200 if len(signals) > 10 else 1)
                        return replace(answer, answers=(costly, *others), work=Work(cpu_ms=costly.cpu_ms))

                yield Wrapped()

    report = await rehearse(candidate(energy_budget=0.01), Uneven(echo), settings(), now=lambda: AT)
    (problem,) = report.problems
    assert "a signal cost 0.0602 of energy (1200 ms of CPU, 0 requests, 0 tool calls)" in problem


async def test_noise_of_the_machine_is_not_held_against_the_candidate():
    class Noisy(ScriptedResidents):
        @asynccontextmanager
        async def resident(self, program, tools=None, *, network=None):
            self.work = Work(cpu_ms=900 if len(self.opened) % 2 == 0 else 1)
            async with super().resident(program, tools, network=network) as inner:
                yield inner

    hosts = Noisy(echo)
    report = await rehearse(candidate(energy_budget=0.01), hosts, settings(), now=lambda: AT)
    assert report.passed
    assert len(hosts.opened) > len(report.scenarios)


async def test_what_the_guard_finds_rejects_and_does_not_run():
    class Strict:
        async def inspect(self, code, *, is_kept=False):
            assert is_kept
            return (Finding("eval", "runs text as code that was not checked", 3, 1),)

    def never(signal, state, emit):
        raise AssertionError

    report = await judged(never, guard=Strict())
    assert report.problems == ("the guard found eval in line 3, which runs text as code that was not checked",)
    assert report.scenarios == ()


async def test_what_the_code_names_and_never_reached_counts_where_it_can_be_read():
    async def read(code):
        assert code == candidate().code
        return SimpleNamespace(hosts=["far.example"], tools=["mail.send"], globals=[])

    report = await judged(read=read)
    assert report.problems == ('its code calls the tool "mail.send", which is not among its tools (none)',)
    assert report.findings == ('its code names "far.example", which it does not declare and cannot reach',)

    async def cannot(code):
        return None

    assert (await judged(read=cannot)).passed


async def test_a_sandbox_that_cannot_start_says_nothing_about_the_candidate():
    hosts = ScriptedResidents(echo)
    hosts.unavailable = "no Deno here"
    with pytest.raises(SandboxUnavailable, match="no Deno here"):
        await rehearse(candidate(), hosts, settings(), now=lambda: AT)


async def test_all_scenarios_together_have_a_clock():
    async def forever(signal, state, emit):
        await anyio.sleep_forever()

    with anyio.fail_after(30):
        report = await judged(forever, quarantine={"timeout_ms": 50})
    assert report.problems == ("took longer than 50 ms for all scenarios: 0 of 3 scenarios were tried",)


async def test_what_it_asked_for_and_did_not_declare_is_a_problem():
    report = await judged(work=Work(hosts=("evil.example",), tools=("mail.send",)))
    assert report.problems == (
        'asked for "evil.example", which is not among its hosts (none); it is in the isolated tier',
        'called the tool "mail.send", which is not among its tools (none)',
    )


async def test_what_is_kept_outside_of_the_state_is_a_problem():
    kept = []

    def sly(signal, state, emit):
        kept.append(signal)
        emit("seen", len(kept))

    (problem,) = (await judged(sly)).problems
    assert problem.startswith("answered the same signals with the same state differently the second time")
    # Code that says that it depends on time, or on the network, may differ: that is a finding of its own.
    assert (await judged(sly, candidate("emit('seen', Date.now())"))).passed
    assert (await judged(sly, candidate(tools=("clock.now",)))).passed


async def test_the_report_tells_the_owner_of_a_flood_of_signals():
    def chatty(signal, state, emit):
        emit("seen", 1)
        emit("seen", 2)

    report = await judged(chatty, trial={"max_emitted_per_minute": 99})
    assert report.passed
    assert report.findings == ("emitted 100 signals in one scenario: a trial ends at more than 99 in a minute",)


async def test_the_report_stays_short_whatever_the_code_says():
    def loud(signal, state, emit):
        raise ValueError(f"{signal['id']}\x1b[2J\n" + "y" * 100_000)

    report = await judged(loud, candidate(input_signals=tuple(f"s{n}" for n in range(16))))
    assert 0 < len(report.problems) <= 24
    assert all(len(problem) <= 600 and problem.isprintable() for problem in report.problems)
    assert len(report.model_dump_json()) < 40_000


class Worlds(ScriptedResidents):
    """Keeps the network and the tools that each process was given."""

    def __init__(self, function, tool="clock.now"):
        super().__init__(function)
        self.networks = []
        self.tools = []

    @asynccontextmanager
    async def resident(self, program, tools=None, *, network=None):
        self.networks.append(network)
        self.tools.append(tools)
        async with super().resident(program, tools, network=network) as inner:
            yield inner


@pytest.mark.parametrize("tier", list(Tier))
async def test_every_process_has_a_replay_for_its_network_and_only_the_declared_hosts(tier):
    hosts = Worlds(echo)
    neuron = candidate(tier=tier, hosts=("prices.example",))
    await rehearse(neuron, hosts, settings(), recordings=[recording(None, (exchange(PRICE),))], now=lambda: AT)
    assert len(hosts.networks) == 6
    for network in hosts.networks:
        assert network.replay is not None
        assert network.recorder is None
        assert [rule.host for rule in network.allow] == ["prices.example"]


async def test_tools_answer_what_was_recorded_and_fail_like_real_ones_otherwise():
    calls = (
        ToolExchange("clock.now", {"zone": "utc", "a": 1}, result=1),
        ToolExchange("clock.now", {"a": 1, "zone": "utc"}, result=2),
        ToolExchange("clock.now", {"zone": "mars"}, error="no such zone"),
    )
    hosts = Worlds(echo)
    neuron = candidate(tools=("clock.now",))
    report = await rehearse(neuron, hosts, settings(), recordings=[recording(None, (), calls)], now=lambda: AT)
    assert report.passed
    tools = hosts.tools[0]
    assert [each.name for each in tools.declarations()] == ["clock.now"]
    assert [await tools.call("clock.now", {"a": 1, "zone": "utc"}) for _ in range(3)] == [1, 2, 2]
    with pytest.raises(ToolError, match="no such zone"):
        await tools.call("clock.now", {"zone": "mars"})
    for name, arguments in (("clock.now", {}), ("clock.set", {"a": 1}), ("clock.now", {"zone": float("nan")})):
        with pytest.raises(ToolError, match="failed with ConnectionError"):
            await tools.call(name, arguments)


async def test_the_tools_and_the_network_that_it_will_have_say_what_may_be_asked_and_are_not_asked():
    schema = {"type": "object", "required": ["zone"]}
    real = FunctionTools({"clock.now": None, "mail.send": None}, {"clock.now": schema})
    policy = NetworkPolicy.model_validate(
        {"allow": [{"host": "prices.example", "methods": ["GET"]}], "max_requests": 3, "recorder": Recorder()}
    )
    hosts = Worlds(echo)
    neuron = candidate(tools=("clock.now", "gone"), hosts=("prices.example",), tier=Tier.NETWORK)
    await rehearse(neuron, hosts, settings(), tools=real, network=policy, now=lambda: AT)
    assert [(each.name, each.input_schema) for each in hosts.tools[0].declarations()] == [
        ("clock.now", schema),
        ("gone", {}),
    ]
    with pytest.raises(ToolError):
        await hosts.tools[0].call("clock.now", {"zone": "utc"})
    assert real.calls == []
    for network in hosts.networks:
        assert (network.allow, network.max_requests) == (policy.allow, 3)
        assert network.replay is not None
        assert network.recorder is None


async def test_an_unrecorded_request_is_a_finding_and_not_a_problem():
    async def ask(signal, state, emit):
        emit("seen", 1)
        run = hosts.networks[-1].replay.begin()
        with pytest.raises(ToolError, match=r"Cannot connect to other\.example: nothing answers at port 8443"):
            run.answer("GET", "https://other.example:8443/x?key=1", None)
        with pytest.raises(ToolError):
            await hosts.tools[-1].call("clock.now", {})

    hosts = Worlds(ask)
    neuron = candidate(tools=("clock.now",), hosts=("*.example",), tier=Tier.NETWORK)
    report = await rehearse(neuron, hosts, settings(), now=lambda: AT)
    assert report.passed
    assert (
        'nothing was recorded for "GET https://other.example:8443/x": what it does with the answer was not tried'
    ) in report.findings
    assert any('nothing was recorded for the tool "clock.now"' in finding for finding in report.findings)
    assert result(report, FAILURES).ok


async def test_what_one_recording_lacks_and_another_has_was_tried():
    async def ask(signal, state, emit):
        emit("seen", 1)
        with suppress(ToolError):
            hosts.networks[-1].replay.begin().answer("GET", PRICE, None)

    hosts = Worlds(ask)
    neuron = candidate(hosts=("prices.example",), tier=Tier.NETWORK)
    other = f"{PRICE}/other"
    recordings = [recording({}, (exchange(other),)), recording({}, (exchange(PRICE),))]
    report = await rehearse(neuron, hosts, settings(), recordings=recordings, now=lambda: AT)
    assert report.passed
    assert not any("nothing was recorded" in finding for finding in report.findings)


async def test_what_fails_because_nothing_was_recorded_is_told_as_that():
    async def ask(signal, state, emit):
        hosts.networks[-1].replay.begin().answer("GET", PRICE, None)

    hosts = Worlds(ask)
    neuron = candidate(hosts=("prices.example",), tier=Tier.NETWORK, output_signals=())
    report = await rehearse(neuron, hosts, settings(), now=lambda: AT)
    # Once, although it fails so in every scenario.
    (problem,) = report.problems
    assert problem.startswith(TYPICAL)
    assert f'Nothing was recorded for "GET {PRICE}", so that it failed, as it may at any time' in problem

    report = await rehearse(neuron, hosts, settings(), recordings=[recording({}, (exchange(PRICE),))], now=lambda: AT)
    (problem,) = report.problems
    assert problem.startswith(FAILURES)
    assert not any("nothing was recorded" in finding for finding in report.findings)
    assert "put them into try and catch" in problem


async def test_quarantine_reads_no_clock_but_the_given_one(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: pytest.fail("the machine's clock was read"))
    assert (await judged()).at == AT


async def test_an_answer_without_a_reason_is_a_crash():
    class Mute(ScriptedResidents):
        @asynccontextmanager
        async def resident(self, program, tools=None, *, network=None):
            async with super().resident(program, tools, network=network) as inner:

                class Wrapped:
                    async def handle(self, signals, state):
                        answer = await inner.handle(signals, state)
                        answers = tuple(replace(each, ok=False, error=None) for each in answer.answers)
                        return BatchAnswer(answers, answer.state)

                yield Wrapped()

    report = await rehearse(candidate(), Mute(echo), settings(), now=lambda: AT)
    assert ": CrashError: no answer" in report.problems[0]
