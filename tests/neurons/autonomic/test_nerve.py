"""One awake neuron: its state, its energy, its verdict, and that it stays its own trouble."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import anyio
import anyio.lowlevel
import pytest

from neurons import Status
from neurons.autonomic.autonomic_view import NerveState
from neurons.autonomic.tally import over_budget, with_one_more
from neurons.contracts import CostSettings, cost_of
from neurons.pipeline.trial import Delivered
from sandbox import BatchAnswer, SignalAnswer, Work
from tests.neurons.governance import HOUR_S
from tests.neurons.layer import FREE, Layer, one, settled, until


@pytest.fixture(autouse=True)
def soon_again(monkeypatch):
    """Nobody waits half a second for the next attempt to get a process."""
    monkeypatch.setattr("neurons.autonomic.nerve._FIRST_PAUSE_S", 0.01)


def count(signal, state, emit):
    state["seen"] = state.get("seen", 0) + 1


def fail(signal, state, emit):
    raise RuntimeError("no such price")


# State and counters


async def test_state_and_counters_survive_a_restart():
    layer = Layer(count)
    neuron = layer.trial()
    for rounds in (1, 2, 3):
        async with layer.open() as autonomic:
            for _ in range(4):
                autonomic.emit("tick")
            await settled(autonomic)
        found = layer.governed.restarted().store.get(neuron.id)
        assert found.state == {"seen": 4 * rounds}
        assert found.trial.counters.signals == 4 * rounds
        assert found.trial.started_at == neuron.trial.started_at


async def test_what_was_done_is_on_disk_when_the_layer_is_closed():
    layer = Layer(count)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await autonomic.idle()
    layer.governed.storage.crash()
    assert layer.document(neuron).state == {"seen": 1}


@pytest.mark.parametrize(("save_s", "is_written"), [(0.001, True), (1000, False)])
async def test_state_is_written_as_often_as_the_settings_say(save_s, is_written):
    layer = Layer(count, autonomic={"save_s": save_s})
    neuron = layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await autonomic.idle()
        if is_written:
            await until(lambda: layer.document(neuron).state)
        else:
            # A look that the layer takes by itself, as it does every second.
            await autonomic._upkeep.look()
            assert layer.document(neuron).state == {}


async def test_an_error_is_written_at_once(monkeypatch):
    monkeypatch.setattr("neurons.autonomic.upkeep.LOOK_S", 1000)
    layer = Layer(fail, autonomic={"save_s": 1000})
    neuron = layer.trial()
    async with layer.open() as autonomic:
        await settled(autonomic)
        autonomic.emit("tick")
        await until(lambda: layer.document(neuron).trial.counters.errors)
        assert layer.document(neuron).trial.counters.last_error == "RuntimeError: no such price"


async def test_what_waits_long_to_be_written_keeps_its_times():
    def tell(signal, state, emit):
        emit("price_change")

    layer = Layer(tell, autonomic={"save_s": 100_000}, trial={"max_emitted_per_minute": 7})
    neuron = layer.trial()
    async with layer.open() as autonomic:
        for _ in range(20):
            autonomic.emit("tick")
            await autonomic.idle()
            layer.clock.forward(seconds=10)
        await settled(autonomic)
        assert layer.document(neuron).status is Status.TRIAL
        assert layer.document(neuron).trial.counters.emitted == 20


def test_however_long_a_disk_refuses_what_waits_for_it_has_a_bound():
    waiting = ()
    for second in range(0, 100_000, 10):
        waiting = with_one_more(waiting, Delivered(at=second, signals=1, energy=0.5, last_error=str(second)))
    assert len(waiting) == 720
    assert sum(one.signals for one in waiting) == 10_000
    assert (waiting[-1].at, waiting[-1].last_error) == (99_990, "99990")


async def test_a_neuron_is_told_apart_from_its_neighbours():
    layer = Layer({"Good": count, "Bad": fail})
    good, bad = layer.trial("Good"), layer.trial("Bad")
    async with layer.open() as autonomic:
        for _ in range(3):
            autonomic.emit("tick")
        await settled(autonomic)
    assert (layer.document(good).trial.counters.errors, layer.document(bad).trial.counters.errors) == (0, 3)


# Verdicts


@pytest.fixture
def long_steps(monkeypatch):
    """A clock that is moved by an hour is no machine that slept for it."""
    monkeypatch.setattr("neurons.autonomic.nerve._LONGEST_LEAP_S", HOUR_S)


async def hours_pass(layer, autonomic, hours, ticks):
    for _ in range(hours):
        for _ in range(ticks):
            autonomic.emit("tick")
        await settled(autonomic)
        layer.clock.forward(hours=1)
        await settled(autonomic)


@pytest.mark.usefixtures("long_steps")
async def test_a_trial_of_a_day_and_fifty_signals_ends_with_an_active_neuron_and_a_learned_skill():
    layer = Layer(count)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        await until(lambda: one(autonomic, neuron).state is NerveState.AWAKE)
        await hours_pass(layer, autonomic, 23, 3)
        assert layer.document(neuron).status is Status.TRIAL
        await hours_pass(layer, autonomic, 2, 0)
        assert layer.document(neuron).status is Status.ACTIVE
        assert layer.skills.names == ["CryptoPrice"]
        autonomic.emit("tick")
        await settled(autonomic)
    assert len(layer.residents.opened) == 1
    found = layer.document(neuron)
    assert (found.state, found.counters.signals) == ({"seen": 70}, 1)


async def test_a_trial_that_is_slept_through_is_not_over_when_a_burst_comes():
    layer = Layer(count)
    neuron = layer.trial()
    for _ in range(3):
        async with layer.open() as autonomic:
            autonomic.emit("tick")
            await settled(autonomic)
        layer.clock.forward(hours=24)
    async with layer.open() as autonomic:
        for _ in range(60):
            autonomic.emit("tick")
        await settled(autonomic)
        layer.clock.forward(hours=24)  # as a machine that slept while it was open
        await settled(autonomic)
    found = layer.document(neuron)
    assert (found.status, found.trial.counters.signals) == (Status.TRIAL, 63)
    assert found.trial.awake_s <= 60


async def test_a_trial_counts_the_time_for_which_the_layer_was_open():
    layer = Layer(count)
    neuron = layer.trial()
    for round_ in (1, 2):
        async with layer.open() as autonomic:
            await until(lambda autonomic=autonomic: one(autonomic, neuron).state is NerveState.AWAKE)
            await settled(autonomic)
            for _ in range(10):
                layer.clock.forward(seconds=31)
                await settled(autonomic)
            # Written by then: a process that is killed loses no more than the last step.
            assert layer.document(neuron).trial.awake_s >= round_ * 250
        layer.clock.forward(hours=9)
    assert layer.document(neuron).trial.awake_s <= 2 * 10 * 31


@pytest.mark.usefixtures("long_steps")
async def test_a_day_without_signals_ends_no_trial():
    layer = Layer(count)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        await until(lambda: one(autonomic, neuron).state is NerveState.AWAKE)
        await hours_pass(layer, autonomic, 30, 0)
        assert layer.document(neuron).status is Status.TRIAL
        await hours_pass(layer, autonomic, 6, 9)
        assert layer.document(neuron).status is Status.ACTIVE


async def test_a_neuron_with_too_many_errors_is_stopped_and_disabled_with_the_reason():
    layer = Layer({"Bad": fail, "Good": count}, trial={"max_errors": 2}, autonomic={"max_batch": 1})
    bad, good = layer.trial("Bad"), layer.trial("Good")
    async with layer.open() as autonomic:
        for _ in range(10):
            autonomic.emit("tick")
        await settled(autonomic)
        found = layer.document(bad)
        assert found.status is Status.DISABLED
        assert found.reason == "3 errors within an hour, 2 are allowed: RuntimeError: no such price"
        assert [view.neuron.id for view in autonomic.overview().nerves] == [good.id]
        assert [program.code for program in layer.residents.closed] == ["Bad"]
        assert autonomic.counts().dropped == {"asleep": 7}
        assert layer.document(good).trial.counters.signals == 10


async def test_an_active_neuron_is_held_to_the_same_limits():
    layer = Layer(fail, trial={"max_errors": 0})
    neuron = layer.governed.active(code="CryptoPrice")
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await settled(autonomic)
        assert layer.document(neuron).status is Status.DISABLED


async def test_signal_spam_disables():
    layer = Layer(
        lambda signal, state, emit: [emit("price_change") for _ in range(5)], trial={"max_emitted_per_minute": 9}
    )
    neuron = layer.trial()
    async with layer.open() as autonomic:
        for _ in range(2):
            autonomic.emit("tick")
            await settled(autonomic)
    assert layer.document(neuron).reason == "10 signals emitted within a minute, 9 are allowed"


async def test_of_spam_only_what_the_limit_leaves_is_passed_on():
    heard = []
    layer = Layer(
        lambda signal, state, emit: [emit("price_change", signal["data"]) for _ in range(5)],
        trial={"max_emitted_per_minute": 12},
    )
    neuron = layer.trial()
    async with layer.open() as autonomic:
        autonomic.watch(lambda signal: heard.append(signal.data) if signal.type == "price_change" else None)
        autonomic.emit("tick", 0)
        await settled(autonomic)
        for number in range(1, 41):
            autonomic.emit("tick", number)
        await settled(autonomic)
        counts = autonomic.counts()
    assert heard == [0] * 5 + [1] * 5 + [2] * 2
    assert counts.dropped["rate"] == 41 * 5 - 12
    assert layer.document(neuron).reason == "205 signals emitted within a minute, 12 are allowed"


async def test_what_is_passed_on_leaves_the_others_their_turn():
    seen = []
    layer = Layer(
        lambda signal, state, emit: [emit("price_change") for _ in range(16)], trial={"max_emitted_per_minute": 1000}
    )
    layer.trial()

    async with layer.open() as autonomic, anyio.create_task_group() as tasks:

        async def look():
            while True:
                seen.append(autonomic.counts().emitted)
                await anyio.lowlevel.checkpoint()

        tasks.start_soon(look)
        await until(lambda: seen)
        for _ in range(10):
            autonomic.emit("tick")
        await settled(autonomic)
        tasks.cancel_scope.cancel()
        assert autonomic.counts().emitted == 170
    assert max(later - before for before, later in pairwise(seen)) < 32


async def test_what_was_dropped_for_its_rate_counts_as_spam_all_the_same():
    layer = Layer(
        lambda signal, state, emit: [emit("price_change") for _ in range(5)],
        autonomic={"max_per_minute": 1},
        trial={"max_emitted_per_minute": 4},
    )
    neuron = layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await settled(autonomic)
        assert autonomic.counts().dropped["rate"] == 4
    assert layer.document(neuron).status is Status.DISABLED


async def test_energy_above_its_budget_disables():
    layer = Layer(trial={"max_over_budget": 1})
    layer.residents.work = Work(cpu_ms=1000)
    neuron = layer.trial(energyBudget=0.01)
    async with layer.open() as autonomic:
        for _ in range(2):
            autonomic.emit("tick")
            await settled(autonomic)
    assert "cost more than its budget of 0.01" in layer.document(neuron).reason


async def test_processes_that_crash_again_and_again_disable():
    layer = Layer(trial={"max_restarts_per_hour": 2})
    layer.residents.work = Work(restarts=1)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        for _ in range(3):
            autonomic.emit("tick")
            await settled(autonomic)
    assert layer.document(neuron).reason == "3 restarts within an hour, 2 are allowed"


@pytest.mark.parametrize(
    ("energy", "signals", "expected"),
    [(0.02, 2, 0), (0.021, 2, 1), (0.029, 2, 1), (0.031, 2, 2), (9.0, 2, 2), (0.01, 1, 0), (0.0, 64, 0), (0.65, 64, 2)],
)
def test_the_signals_of_a_batch_that_cost_more_than_the_budget_are_counted(energy, signals, expected):
    answer = BatchAnswer((SignalAnswer(ok=True),) * signals, {})
    assert over_budget(answer, energy, 0.01, CostSettings(**FREE)) == expected


def test_one_costly_signal_among_many_cheap_ones_is_counted():
    costly = SignalAnswer(ok=True, cpu_ms=60.0)
    prices = CostSettings(**{**FREE, "per_cpu_second": 1})
    for answers in ((costly, *[SignalAnswer(ok=True)] * 63), (costly, costly, *[SignalAnswer(ok=True)] * 62)):
        energy = sum(cost_of(one, 1, prices) for one in answers)
        assert energy < 64 * 0.01
        assert over_budget(BatchAnswer(answers, {}), energy, 0.01, prices) == answers.count(costly)
    caller = replace(costly, cpu_ms=0.0, tool_calls=9)
    assert over_budget(BatchAnswer((caller,), {}), 0.0, 0.01, CostSettings(**{**FREE, "per_tool_call": 0.01})) == 1


# Energy


async def test_a_neuron_that_failed_has_paid_for_what_it_used():
    layer = Layer(fail, trial={"max_errors": 0})
    neuron = layer.trial()
    spend, looks = layer.reserve.spend, []

    async def spend_slowly(*args, **kwargs):
        # An error makes the layer look at once, and whoever looks also judges.
        await until(lambda: layer.document(neuron).trial.counters.errors)
        looks.append(layer.document(neuron).status)
        return await spend(*args, **kwargs)

    layer.reserve.spend = spend_slowly
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await settled(autonomic)
    assert looks == [Status.TRIAL]
    assert layer.reserve.spent == [(f"neuron {neuron.id}", pytest.approx(0.0002))]
    assert layer.document(neuron).status is Status.DISABLED


async def test_each_batch_is_paid_for_once_with_the_price_of_the_settings():
    layer = Layer(cost={**FREE, "per_signal": 0.001, "per_tool_call": 0.01})
    layer.residents.work = Work(tool_calls=2)
    neuron = layer.trial(energyBudget=0.05)
    async with layer.open() as autonomic:
        for _ in range(5):
            autonomic.emit("tick")
        await settled(autonomic)
    assert layer.reserve.spent == [(f"neuron {neuron.id}", pytest.approx(0.025))]
    assert layer.document(neuron).trial.counters.energy == pytest.approx(0.025)


async def test_when_energy_is_low_a_neuron_rests_keeps_its_newest_signals_and_nothing_fails():
    layer = Layer(count, level=0.1, autonomic={"rest_below": 0.15, "max_queued_per_neuron": 3})
    neuron = layer.trial()
    async with layer.open() as autonomic:
        for number in range(5):
            autonomic.emit("tick", number)
        await settled(autonomic)
        view = one(autonomic, neuron)
        assert (view.state, view.waiting) == ("resting", 3)
        assert view.reason == "energy is at 0.10, and it rests below 0.15"
        assert layer.residents.batches == []
        layer.reserve.now = 0.5
        await settled(autonomic)
        [(_, signals)] = layer.residents.batches
        assert [signal["data"] for signal in signals] == [2, 3, 4]
        assert one(autonomic, neuron).state == "awake"
    counters = layer.document(neuron).trial.counters
    assert (counters.signals, counters.errors) == (3, 0)


async def test_the_least_important_rest_first():
    layer = Layer(count, level=0.12, autonomic={"rest_below": 0.15})
    layer.trial("A Dear One", energyBudget=0.02)
    layer.trial("Cheap", energyBudget=0.01)
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await settled(autonomic)
        states = {view.neuron.name: view.state.value for view in autonomic.overview().nerves}
        assert states == {"A Dear One": "resting", "Cheap": "awake"}
        layer.reserve.now = 0.05
        await autonomic.refresh()
        autonomic.emit("tick")
        await settled(autonomic)
        assert {view.state.value for view in autonomic.overview().nerves} == {"resting"}


async def test_a_batch_has_at_most_the_signals_that_the_budget_pays_for():
    layer = Layer(level=0.75, autonomic={"rest_below": 0.25}, cost={**FREE, "per_signal": 0.0625})
    layer.trial(energyBudget=0.125)
    async with layer.open() as autonomic:
        for _ in range(10):
            autonomic.emit("tick")
        await settled(autonomic)
        assert [len(signals) for _, signals in layer.residents.batches] == [4, 2, 1, 1, 1]
        assert layer.reserve.now == 0.1875
        assert autonomic.counts().waiting == 1


async def test_what_could_not_be_paid_is_owed_and_paid_before_the_next_signal():
    layer = Layer(
        level=0.2, autonomic={"rest_below": 0.05}, cost={**FREE, "per_tool_call": 0.1}, trial={"max_over_budget": 99}
    )
    layer.residents.work = Work(tool_calls=3)
    neuron = layer.trial(energyBudget=0.1)
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        autonomic.emit("tick")
        await settled(autonomic)
        autonomic.emit("tick")
        await settled(autonomic)
        assert one(autonomic, neuron).reason == "it owes 0.3 energy"
        assert (len(layer.residents.batches), layer.reserve.spent) == (1, [])
        layer.residents.work = Work()
        layer.reserve.now = 0.9
        await settled(autonomic)
        assert (len(layer.residents.batches), layer.reserve.now) == (2, pytest.approx(0.6))


async def test_when_energy_cannot_be_read_or_paid_neurons_rest_and_the_layer_goes_on():
    layer = Layer(count)
    neuron = layer.trial()
    heard = []
    async with layer.open() as autonomic:
        autonomic.watch(heard.append)
        autonomic.emit("tick")
        await settled(autonomic)
        layer.reserve.broken = "the file is gone"
        autonomic.emit("tick")
        await settled(autonomic)
        autonomic.emit("tick")
        await settled(autonomic)
        assert one(autonomic, neuron).state == "resting"
        assert "the file is gone" in autonomic.overview().trouble
        assert len(heard) == 3
        layer.reserve.broken = None
        await settled(autonomic)
        assert one(autonomic, neuron).state == "awake"
        assert autonomic.overview().trouble == ""
    assert layer.document(neuron).trial.counters.signals == 3


# Trouble


async def test_a_sandbox_that_never_answers_is_left_for_another_process(monkeypatch):
    monkeypatch.setattr("neurons.autonomic.nerve._SLACK_S", 0.05)
    stuck = True

    async def answer(signal, state, emit):
        if stuck:
            await anyio.sleep_forever()
        count(signal, state, emit)

    layer = Layer(answer, autonomic={"timeout_isolated_ms": 1})
    neuron = layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await until(lambda: one(autonomic, neuron).state == "trouble")
        # One that answers has time for it: on a busy machine, 50 ms are over before anything was done.
        monkeypatch.setattr("neurons.autonomic.nerve._SLACK_S", 60)
        stuck = False
        autonomic.emit("tick")
        await until(lambda: one(autonomic, neuron).neuron.trial.counters.signals == 1)
    assert len(layer.residents.opened) == 2


async def test_a_mistake_in_the_layer_ends_neither_the_layer_nor_its_host():
    layer = Layer(count, autonomic={"tick_s": 60})
    neuron = layer.trial()
    async with layer.open() as autonomic:
        due, autonomic._upkeep._heart.due = autonomic._upkeep._heart.due, None
        await until(lambda: autonomic._upkeep._mistake)
        autonomic._upkeep._heart.due = due
        layer.clock.forward(seconds=60)
        await until(lambda: one(autonomic, neuron).neuron.trial.counters.signals == 1)


async def test_one_slow_neuron_delays_no_other_and_not_the_heartbeat():
    async def stuck(signal, state, emit):
        await anyio.sleep_forever()

    layer = Layer({"Stuck": stuck, "Quick": count}, autonomic={"tick_s": 5})
    layer.trial("Stuck")
    quick = layer.trial("Quick")
    async with layer.open() as autonomic:
        for number in range(1, 20):
            layer.clock.forward(seconds=5)
            autonomic.beat()
            await until(lambda number=number: one(autonomic, quick).neuron.trial.counters.signals == number)


async def test_without_a_process_a_neuron_waits_for_one_and_its_signals_wait_with_it():
    layer = Layer(count)
    neuron = layer.trial()
    layer.residents.unavailable = "no Deno here"
    async with layer.open() as autonomic:
        await until(lambda: one(autonomic, neuron).state == "trouble")
        assert one(autonomic, neuron).reason == "no Deno here"
        autonomic.emit("tick")
        await autonomic.idle()
        layer.residents.unavailable = None
        await until(lambda: one(autonomic, neuron).neuron.trial.counters.signals == 1)
        assert one(autonomic, neuron).state == "awake"
    assert layer.document(neuron).trial.counters.errors == 0


async def test_a_batch_whose_process_was_lost_is_not_given_twice():
    layer = Layer(count)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        await until(lambda: one(autonomic, neuron).state == "awake")
        layer.residents.unavailable = "gone"
        autonomic.emit("tick", 1)
        await until(lambda: one(autonomic, neuron).state == "trouble")
        layer.residents.unavailable = None
        autonomic.emit("tick", 2)
        await until(lambda: one(autonomic, neuron).neuron.trial.counters.signals == 1)
        assert autonomic.counts().dropped == {"asleep": 1}
    assert [signal["data"] for _, signals in layer.residents.batches for signal in signals] == [2]


async def test_tools_or_a_network_that_cannot_be_made_are_the_trouble_of_one_neuron():
    layer = Layer(count)
    first, second = layer.trial("First"), layer.trial("Second")
    autonomic = layer.open()

    def tools(neuron):
        if neuron.id == first.id:
            raise KeyError("weather")

    object.__setattr__(autonomic._awake._around.lent, "tools", tools)
    async with autonomic:
        autonomic.emit("tick")
        await until(lambda: one(autonomic, second).neuron.trial.counters.signals == 1)
        await until(lambda: one(autonomic, first).state == "trouble")
        assert "weather" in one(autonomic, first).reason
