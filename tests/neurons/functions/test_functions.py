"""The functions of a home, as a process on it calls them: verified, counted, paid for, and refused at once when the
owner or the kill switch says so. A Python function plays their code, except in the last tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from neurons import Functions, Neuron, Status, StorageError
from sandbox import DenoRuntime, ToolError, Work
from sandbox.testing import ScriptedResidents
from tests.conftest import small
from tests.neurons.functions.cases import COMPOUND, NUMBER, P_R_N
from tests.neurons.governance import Governed, shown
from tests.neurons.layer import FREE, Reserve, Skillbook, until

ARGS = {"p": 1000, "r": 0.05, "n": 10}
DECLARED = {"kind": "function", "inputSignals": (), "outputSignals": (), "parameters": P_R_N}


def result(signal, state, emit):
    emit("result", signal["args"])


class Home:
    """A home with functions; each `open` is another process on it, with what they share."""

    def __init__(self, plays: Any = result, *, level: float = 1.0, work: Work | None = None, **settings: Any) -> None:
        self.governed = Governed(**{"max_functions": 8, **settings})
        self.residents = ScriptedResidents(plays, work)
        self.reserve = Reserve(level)
        self.skills = Skillbook()
        self.killed: set[str | None] = set()

    def function(self, name: str = "CompoundInterest", **changes: Any) -> Neuron:
        declared = {**DECLARED, "code": f"return {name!r}", **changes}
        return self.governed.in_trial(name=name, **declared)

    @asynccontextmanager
    async def open(self, **more: Any) -> AsyncIterator[Functions]:
        functions = Functions(
            self.governed,
            more.pop("hosts", self.residents),
            self.reserve,
            self.governed.settings,
            is_killed=lambda neuron: bool({neuron, None} & self.killed),
            skills=self.skills,
            now=self.governed.clock,
            **more,
        )
        async with functions:
            yield functions

    def document(self, neuron: Neuron) -> Neuron:
        return self.governed.store.get(neuron.id)


async def refusal(functions: Functions, name: str = "compoundInterest", **arguments: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await functions.call(name, arguments or ARGS)
    return caught.value


async def test_a_function_in_trial_is_called_by_its_name_and_counted():
    home = Home()
    neuron = home.function()
    async with home.open() as functions:
        assert [one.function_name for one in functions.known()] == ["compoundInterest"]
        assert await functions.call("compoundInterest", ARGS) == ARGS
        assert await functions.call("compoundInterest", {"p": 1}) == {"p": 1}
    trial = home.document(neuron).trial
    assert trial is not None
    assert (trial.counters.signals, trial.counters.errors) == (2, 0)
    assert trial.counters.energy > 0
    assert len(home.residents.opened) == 1  # it is started at the first call, and kept
    assert home.residents.opened[0].is_function
    assert home.residents.closed == home.residents.opened


async def test_nothing_is_started_before_the_first_call():
    home = Home()
    home.function()
    async with home.open() as functions:
        await functions.look()
    assert home.residents.opened == []


async def test_a_neuron_is_no_function_and_a_function_no_neuron():
    home = Home()
    home.governed.in_trial(name="CryptoPrice")
    home.function()
    async with home.open() as functions:
        assert [one.name for one in functions.known()] == ["CompoundInterest"]
        error = await refusal(functions, "cryptoPrice")
    assert error.code == "not_found"
    assert "compoundInterest" in str(error)
    assert [one.name for one in home.governed.awake()] == ["CryptoPrice"]


async def test_only_what_the_owner_approved_is_called():
    home = Home()
    waiting = home.governed.waiting(name="CompoundInterest", **{**DECLARED, "code": "return 1"})
    async with home.open() as functions:
        assert (await refusal(functions)).code == "not_found"
        home.governed.approve(waiting.id, shown(waiting))
        await functions.look()
        assert await functions.call("compoundInterest", ARGS) == ARGS


async def test_a_document_that_was_edited_is_not_called():
    home = Home()
    neuron = home.function()
    async with home.open() as functions:
        await functions.call("compoundInterest", ARGS)
        home.governed.store.persist(neuron.model_copy(update={"code": "return 'mine'"}))
        await functions.look()
        await until(lambda: home.residents.closed)
        assert (await refusal(functions)).code == "not_found"
    assert home.document(neuron).status is Status.QUARANTINE


async def test_what_another_process_disables_is_refused_within_a_second_or_so(monkeypatch):
    home = Home()
    neuron = home.function()
    async with home.open() as functions:
        await functions.call("compoundInterest", ARGS)
        home.governed.restarted().disable(neuron.id, "enough")

        async def is_refused() -> bool:
            try:
                await functions.call("compoundInterest", ARGS)
            except ToolError as error:
                return error.code == "not_found"
            return False

        with anyio.fail_after(60):
            while not await is_refused():
                await anyio.sleep(0.05)


async def test_a_view_that_is_too_old_and_cannot_be_renewed_is_not_gone_by(monkeypatch):
    monkeypatch.setattr("neurons.functions.functions.MAX_AGE_S", -1)
    home = Home()
    home.function()
    async with home.open() as functions:
        assert await functions.call("compoundInterest", ARGS) == ARGS

        def gone() -> object:
            raise StorageError("the disk is gone")

        monkeypatch.setattr(home.governed.store, "stamp", gone)
        error = await refusal(functions)
        assert error.code == "unavailable"
        assert str(error) == "Cannot verify learned functions: the disk is gone"


@pytest.mark.parametrize("which", ["all", "this one"])
async def test_the_kill_switch_refuses_calls_at_once_and_ends_the_process(which):
    home = Home()
    neuron = home.function()
    async with home.open() as functions:
        await functions.call("compoundInterest", ARGS)
        home.killed.add(None if which == "all" else neuron.id)
        assert (await refusal(functions)).code == "denied"
        await functions.look()
        await until(lambda: home.residents.closed)
        home.killed.clear()
        assert await functions.call("compoundInterest", ARGS) == ARGS
    assert home.document(neuron).is_awake


async def test_below_its_floor_nothing_is_called_and_calls_are_paid_from_the_one_reserve():
    home = Home(level=0.5, work=Work(cpu_ms=100))
    home.function()
    async with home.open() as functions:
        await functions.call("compoundInterest", ARGS)
        await until(lambda: home.reserve.spent)
        [(reason, amount)] = home.reserve.spent
        assert reason == "function compound-interest"
        assert amount == pytest.approx(0.0002 + 0.1 * 0.05)
        home.reserve.now = 0.1
        await functions.look()
        error = await refusal(functions)
        assert (error.code, error.retryable) == ("no_energy", True)
        home.reserve.now = 0.9
        await functions.look()
        await functions.call("compoundInterest", ARGS)
    assert len(home.reserve.spent) == 2


async def test_calls_are_not_made_while_the_energy_is_not_known():
    home = Home()
    home.function()
    home.reserve.broken = "no such file"
    async with home.open() as functions:
        assert (await refusal(functions)).code == "unavailable"
        home.reserve.broken = None


async def test_errors_that_the_code_throws_are_answers_and_never_disable_it():
    def throws(signal, state, emit):
        raise ValueError("no rate below zero")

    home = Home(throws)
    neuron = home.function()
    async with home.open() as functions:
        for _ in range(30):
            error = await refusal(functions)
            assert (error.code, str(error)) == ("failed", 'Function "compoundInterest" failed: no rate below zero')
    document = home.document(neuron)
    assert document.status is Status.TRIAL
    assert document.trial is not None
    assert (document.trial.counters.signals, document.trial.counters.errors) == (30, 0)
    assert "no rate below zero" in document.trial.counters.last_error


async def test_a_function_rests_when_calls_cost_its_process_too_often_and_is_never_disabled_by_them():
    """Who calls it chooses the arguments: hostile code could have it disabled."""
    hung = []

    def hangs(signal, state, emit):
        if signal["args"]["p"] < 0:
            hung.append(1)
            raise TimeoutError("It did not end within 1000 ms")
        emit("result", 1)

    home = Home(hangs, trial={"max_errors": 5})
    neuron = home.function()
    async with home.open() as functions:
        assert [(await refusal(functions, p=-1)).code for _ in range(6)] == ["timeout"] * 6
        for p in (-1, 1):
            error = await refusal(functions, p=p)
            assert (error.code, error.retryable) == ("unavailable", True)
            assert "rests for 60 min" in str(error)
        home.governed.clock.forward(hours=1)
        assert await functions.call("compoundInterest", ARGS) == 1
        for _ in range(10):
            await refusal(functions, p=-1)
            home.governed.clock.forward(hours=0.25)
        assert await functions.call("compoundInterest", ARGS) == 1
    document = home.document(neuron)
    assert (document.status, len(hung)) == (Status.TRIAL, 16)


async def test_a_function_rests_when_calls_cost_more_than_its_budget_too_often():
    home = Home(work=Work(cpu_ms=1000), trial={"max_over_budget": 3})
    neuron = home.function(energyBudget=0.001)
    async with home.open() as functions:
        for _ in range(4):
            await functions.call("compoundInterest", ARGS)
        await functions.look()
        assert "cost more than its budget" in str(await refusal(functions))
        home.governed.clock.forward(hours=1)
        await functions.call("compoundInterest", ARGS)
    assert home.document(neuron).status is Status.TRIAL


@pytest.mark.parametrize(("allowed", "status"), [(5, Status.ACTIVE), (0, Status.TRIAL)])
async def test_a_trial_is_not_passed_while_a_function_rests(allowed, status):
    home = Home(cost=FREE, work=Work(restarts=1), trial={"max_restarts_per_hour": allowed})
    neuron = home.function()
    async with home.open() as functions:
        for _ in range(60):
            home.governed.clock.forward(hours=1)
            await functions.call("compoundInterest", ARGS)
        await functions.look()
    assert home.document(neuron).status is status


async def test_a_result_that_was_not_promised_is_refused_and_no_fault():
    home = Home(lambda signal, state, emit: emit("result", None))
    neuron = home.function(returns=NUMBER)
    async with home.open() as functions:
        for _ in range(10):
            error = await refusal(functions)
            assert error.code == "invalid_result"
    assert home.document(neuron).status is Status.TRIAL


async def test_a_trial_is_passed_with_calls_and_the_agent_remembers_that_it_learned_something():
    home = Home(cost=FREE)
    neuron = home.function()
    async with home.open() as functions:
        for _ in range(50):
            await functions.call("compoundInterest", ARGS)
        home.governed.clock.forward(hours=25)
        await functions.call("compoundInterest", ARGS)
        await functions.look()
        assert home.document(neuron).status is Status.TRIAL, "calls in two hours are too few"
        for _ in range(4):
            home.governed.clock.forward(hours=1)
            await functions.call("compoundInterest", ARGS)
        await functions.look()
    assert home.document(neuron).status is Status.ACTIVE
    assert home.skills.names == ["CompoundInterest"]


async def test_at_most_so_many_keep_a_process_and_the_one_called_longest_ago_makes_way():
    home = Home(functions={"max_processes": 2})
    names = ["OneThing", "TwoThings", "ThreeThings"]
    for name in names:
        home.function(name)
    async with home.open() as functions:
        for name in ("oneThing", "twoThings", "oneThing", "threeThings", "oneThing"):
            await functions.call(name, ARGS)
        opened = [program.name for program in home.residents.opened]
        assert opened == ["one-thing", "two-things", "three-things"]
        assert [program.name for program in home.residents.closed] == ["two-things"]


async def test_one_that_is_not_called_gives_its_process_back():
    home = Home(functions={"idle_s": 0.01})
    home.function()
    async with home.open() as functions:
        await functions.call("compoundInterest", ARGS)
        await until(lambda: home.residents.closed)
        assert await functions.call("compoundInterest", ARGS) == ARGS
    assert len(home.residents.opened) == 2


async def test_calls_at_the_same_time_are_all_answered_and_no_more_wait_than_may():
    gate = anyio.Event()

    async def waits(signal, state, emit):
        await gate.wait()
        emit("result", signal["args"])

    home = Home(waits, functions={"max_waiting": 3})
    home.function()
    answers: list[Any] = []

    async def call(functions: Functions, number: int) -> None:
        try:
            answers.append(await functions.call("compoundInterest", {"p": number}))
        except ToolError as error:
            answers.append(error.code)

    async with home.open() as functions, anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(call, functions, number)
        await until(lambda: answers.count("busy") == 2)
        gate.set()
    assert (answers.count("busy"), len(answers)) == (2, 5)


async def test_a_call_that_is_given_up_is_paid_for_and_not_held_against_the_function():
    async def sleeps(signal, state, emit):
        await anyio.sleep(60)

    home = Home(sleeps)
    neuron = home.function(energyBudget=0.0001)
    async with home.open() as functions:
        for _ in range(6):
            with anyio.move_on_after(0.02):
                await functions.call("compoundInterest", ARGS)
        await until(lambda: home.reserve.spent)
        await functions.look()
    document = home.document(neuron)
    assert document.status is Status.TRIAL
    assert document.trial is not None
    assert document.trial.counters.signals == 6


async def test_without_a_process_a_call_says_so_and_nothing_is_counted():
    home = Home()
    neuron = home.function()
    home.residents.unavailable = "no Deno here"
    async with home.open() as functions:
        error = await refusal(functions)
    assert (error.code, error.retryable) == ("unavailable", True)
    assert "no Deno here" in str(error)
    assert home.document(neuron).trial.counters.signals == 0


async def test_counts_that_cannot_be_written_are_written_later():
    home = Home()
    neuron = home.function()
    async with home.open() as functions:
        await functions.call("compoundInterest", ARGS)
        home.governed.storage.refuses = "the disk is full"
        await functions.look()
        home.governed.storage.refuses = None
        await functions.call("compoundInterest", ARGS)
    assert home.document(neuron).trial.counters.signals == 2


@pytest.mark.deno
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_real_function_computes_and_a_crash_fails_its_own_call_only():
    home = Home(autonomic={"timeout_isolated_ms": 5_000})
    home.function(code=COMPOUND)
    home.function(
        "OddOne", code="if (args.p < 0) Deno.exit(1); globalThis.n = (globalThis.n ?? 0) + 1; return globalThis.n"
    )
    async with DenoRuntime(small()) as runtime, home.open(hosts=runtime) as functions:
        assert await functions.call("compoundInterest", ARGS) == 1628.89
        assert await functions.call("oddOne", ARGS) == 1
        assert await functions.call("oddOne", ARGS) == 2
        assert (await refusal(functions, "oddOne", p=-1)).code == "internal"
        assert await functions.call("oddOne", ARGS) == 1  # a fresh process
        assert await functions.call("compoundInterest", ARGS) == 1628.89
