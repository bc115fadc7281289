"""The way of a signal: who gets it, what stops it, who is told."""

from __future__ import annotations

import anyio
import pytest

from neurons import NeuronSettings, Signal
from neurons.contracts.signals import user_message
from tests.neurons.layer import Layer, settled, until


def echo(signal, state, emit):
    emit("price_change", {"seen": signal["data"]})


def given(layer: Layer) -> list[dict]:
    return [dict(signal) for _, signals in layer.residents.batches for signal in signals]


async def test_a_signal_reaches_the_neurons_that_listen_to_it_and_no_others():
    layer = Layer()
    layer.trial("Listens", inputSignals=["user_message"])
    layer.trial("Other", inputSignals=["tick"])
    async with layer.open() as autonomic:
        assert autonomic.emit("user_message", user_message("hello"))
        await settled(autonomic)
    [(program, [signal])] = layer.residents.batches
    assert program.code == "Listens"
    assert (signal["type"], signal["source"], signal["data"]) == ("user_message", "host", {"text": "hello"})
    assert signal["at"] == layer.clock() * 1000


async def test_what_a_neuron_emits_keeps_the_chain_and_says_who_it_is_from():
    layer = Layer(echo)
    neuron = layer.trial()
    heard = []
    async with layer.open() as autonomic:
        autonomic.watch(heard.append)
        autonomic.emit(Signal("tick", "host", 7, priority=8, id="first"))
        await settled(autonomic)
    first, second = heard
    assert (first.type, first.depth, first.at, first.correlation) == ("tick", 0, layer.clock(), "first")
    assert (second.type, second.data, second.source) == ("price_change", {"seen": 7}, f"neuron:{neuron.id}")
    assert (second.correlation, second.parent, second.depth, second.priority) == ("first", "first", 1, 8)


async def test_what_a_neuron_emits_can_be_what_another_one_listens_to():
    layer = Layer({"First": echo, "Second": lambda signal, state, emit: state.update(got=signal)})
    layer.trial("First")
    second = layer.trial("Second", inputSignals=["price_change"], outputSignals=[])
    async with layer.open() as autonomic:
        autonomic.emit(Signal("tick", "host", 1, id="first"))
        await settled(autonomic)
    got = layer.document(second).state["got"]
    assert (got["data"], got["correlation"], got["parent"]) == ({"seen": 1}, "first", "first")


async def test_an_undeclared_signal_is_dropped_and_counts_as_an_error_of_the_neuron():
    layer = Layer(lambda signal, state, emit: (emit("something_else", 1), emit("tick", 2)))
    neuron = layer.trial()
    heard = []
    async with layer.open() as autonomic:
        autonomic.watch(heard.append)
        autonomic.emit("tick")
        await settled(autonomic)
        assert autonomic.counts().dropped == {"undeclared": 2}
    assert [signal.source for signal in heard] == ["host"]
    counters = layer.document(neuron).trial.counters
    assert (counters.errors, counters.last_error) == (1, 'It emitted "something_else", which it has not declared')


async def test_a_neuron_that_feeds_itself_is_stopped_by_the_depth_of_the_chain():
    layer = Layer(lambda signal, state, emit: emit("again"), autonomic={"max_depth": 3})
    layer.trial(inputSignals=["tick", "again"], outputSignals=["again"])
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await settled(autonomic)
        assert autonomic.counts().dropped == {"depth": 1}
    assert [signal["type"] for signal in given(layer)] == ["tick", "again", "again", "again"]


async def test_a_neuron_that_multiplies_what_it_gets_is_stopped_by_the_rate():
    layer = Layer(
        lambda signal, state, emit: [emit("again") for _ in range(4)],
        autonomic={"max_per_minute": 10, "max_depth": 100},
        trial={"max_emitted_per_minute": 1000},
    )
    layer.trial(inputSignals=["tick", "again"], outputSignals=["again"])
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await settled(autonomic)
        assert autonomic.counts().dropped == {"rate": 34}
        assert autonomic.counts().delivered == 11
        layer.clock.forward(seconds=60)
        autonomic.emit("tick")
        await settled(autonomic)
        assert autonomic.counts().delivered == 22


async def test_the_same_signal_is_delivered_once():
    layer = Layer()
    layer.trial()
    async with layer.open() as autonomic:
        assert autonomic.emit(Signal("tick", "host", id="one"))
        assert not autonomic.emit(Signal("tick", "host", id="one"))
        await settled(autonomic)
        assert autonomic.counts().dropped == {"duplicate": 1}
    assert [signal["id"] for signal in given(layer)] == ["one"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [("x" * 2000, "too_large"), (object(), "not_json"), ("\ud800", "not_json"), ({1: object()}, "not_json")],
)
async def test_what_is_not_json_or_too_large_is_dropped_with_the_reason(data, reason):
    layer = Layer(autonomic={"max_signal_bytes": 1000})
    layer.trial()
    async with layer.open() as autonomic:
        assert not autonomic.emit("tick", data)
        await settled(autonomic)
        assert autonomic.counts().dropped == {reason: 1}
    assert layer.residents.batches == []


async def test_data_that_never_ends_is_not_json():
    layer = Layer()
    layer.trial()
    endless: list = []
    endless.append(endless)
    async with layer.open() as autonomic:
        assert not autonomic.emit("tick", endless)
        assert autonomic.counts().dropped == {"not_json": 1}


async def test_what_the_host_does_with_its_data_later_changes_nothing():
    layer = Layer()
    layer.trial()
    data = {"price": [1]}
    async with layer.open() as autonomic:
        autonomic.emit("tick", data)
        data["price"].append(object())
        await settled(autonomic)
    assert given(layer)[0]["data"] == {"price": [1]}


@pytest.mark.parametrize("type_", ["", "Tick", "a b", "tick\n", "x" * 65, 7])
async def test_an_invalid_signal_type_raises_value_error(type_):
    async with Layer().open() as autonomic:
        with pytest.raises(ValueError, match="type of signal"):
            autonomic.emit(Signal(type_, "host"))


@pytest.mark.parametrize("part", ["source", "id", "correlation", "parent"])
async def test_a_source_or_id_that_is_too_long_raises_value_error(part):
    async with Layer().open() as autonomic:
        with pytest.raises(ValueError, match="at most 100 characters"):
            autonomic.emit(Signal("tick", **{"source": "host", part: "x" * 101}))


async def test_data_may_be_as_large_as_the_settings_say():
    layer = Layer(autonomic={"max_signal_bytes": 1000})
    layer.trial()
    async with layer.open() as autonomic:
        assert autonomic.emit("tick", "x" * 998)
        assert not autonomic.emit("tick", "x" * 999)


@pytest.mark.parametrize("ttl_s", [0, -1, float("nan")])
async def test_a_time_to_live_that_is_not_positive_raises_value_error(ttl_s):
    async with Layer().open() as autonomic:
        with pytest.raises(ValueError, match="can wait"):
            autonomic.emit(Signal("tick", "host", ttl_s=ttl_s))


@pytest.mark.parametrize("priority", [-1, 10, 2.5, None])
async def test_an_invalid_priority_raises_value_error(priority):
    async with Layer().open() as autonomic:
        with pytest.raises(ValueError, match="priority"):
            autonomic.emit("tick", priority=priority)


async def test_a_signal_that_waited_longer_than_it_may_is_not_delivered():
    gate = anyio.Event()

    async def slow(signal, state, emit):
        await gate.wait()

    layer = Layer(slow, autonomic={"max_batch": 1})
    layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick", 1)
        await until(lambda: layer.residents.batches)
        autonomic.emit(Signal("tick", "host", 2, ttl_s=5))
        autonomic.emit(Signal("tick", "host", 3, ttl_s=500))
        layer.clock.forward(seconds=6)
        gate.set()
        await settled(autonomic)
        assert autonomic.counts().dropped == {"expired": 1}
    assert [signal["data"] for signal in given(layer)] == [1, 3]


async def test_signals_that_wait_are_given_in_batches_the_important_ones_first():
    gate = anyio.Event()

    async def slow(signal, state, emit):
        await gate.wait()

    layer = Layer(slow, autonomic={"max_batch": 3})
    layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick", "held")
        await until(lambda: layer.residents.batches)
        for number in range(5):
            autonomic.emit("tick", number)
        autonomic.emit("tick", "urgent", priority=9)
        gate.set()
        await settled(autonomic)
    batches = [[signal["data"] for signal in signals] for _, signals in layer.residents.batches]
    assert batches == [["held"], ["urgent", 0, 1], [2, 3, 4]]


@pytest.mark.parametrize("key", ["max_queued", "max_queued_per_neuron"])
async def test_when_too_many_wait_the_oldest_make_way_and_are_counted(key):
    gate = anyio.Event()

    async def slow(signal, state, emit):
        await gate.wait()

    layer = Layer(slow, autonomic={key: 2})
    layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick", "held")
        await until(lambda: layer.residents.batches)
        for number in range(5):
            assert autonomic.emit("tick", number)
        assert autonomic.counts().waiting == 2
        gate.set()
        await settled(autonomic)
        assert autonomic.counts().dropped == {"full": 3}
    assert [signal["data"] for signal in given(layer)] == ["held", 3, 4]


# Who is told


async def test_a_watcher_is_called_for_every_signal_until_it_unsubscribes():
    layer = Layer(echo)
    layer.trial()
    heard, heard_later = [], []

    async def later(signal):
        await anyio.lowlevel.checkpoint()
        heard_later.append(signal.type)

    async with layer.open() as autonomic:
        end = autonomic.watch(lambda signal: heard.append(signal.type))
        autonomic.watch(later)
        autonomic.emit("tick")
        autonomic.emit("nobody_listens")
        await settled(autonomic)
        end()
        autonomic.emit("nobody_listens")
        await settled(autonomic)
        assert autonomic.counts().unheard == 3
    assert heard == ["tick", "nobody_listens", "price_change"]
    assert heard_later == [*heard, "nobody_listens"]


async def test_a_watcher_that_raises_is_called_for_the_next_signal():
    layer = Layer()
    layer.trial()
    heard = []

    def breaks(signal):
        heard.append(signal)
        raise RuntimeError("not today")

    async with layer.open() as autonomic:
        autonomic.watch(breaks)
        autonomic.emit("tick")
        autonomic.emit("tick")
        await settled(autonomic)
        assert (len(heard), autonomic.counts().listener_errors, autonomic.counts().delivered) == (2, 2, 2)


async def test_a_watcher_that_never_returns_misses_signals_and_delays_no_other_task():
    layer = Layer(autonomic={"max_queued_per_neuron": 3})
    layer.trial()
    heard = []

    async def stuck(signal):
        await anyio.sleep_forever()

    async with layer.open() as autonomic:
        autonomic.watch(stuck)
        autonomic.watch(heard.append)
        for _ in range(10):
            autonomic.emit("tick")
            await until(lambda: len(heard) == autonomic.counts().emitted)
        await until(lambda: autonomic.counts().delivered == 10)
        assert autonomic.counts().dropped == {"watcher": 6}


async def test_a_signal_of_the_settings_wakes_the_agent_with_the_signal_itself():
    layer = Layer(echo, wake_on=["price_change"])
    layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick", 5)
        await settled(autonomic)
        assert autonomic.counts().wakes == 1
    [signal] = layer.woken
    assert (signal.type, signal.data) == ("price_change", {"seen": 5})


async def test_without_the_setting_nothing_wakes_the_agent():
    layer = Layer(echo)
    layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick", 5)
        await settled(autonomic)
    assert layer.woken == []


async def test_the_agent_is_woken_at_most_max_wakes_per_hour():
    layer = Layer(wake_on="alarm", max_wakes_per_hour=2)
    async with layer.open() as autonomic:
        for _ in range(5):
            autonomic.emit("alarm")
        await settled(autonomic)
        assert (len(layer.woken), autonomic.counts().dropped) == (2, {"no_wake": 3})
        layer.clock.forward(hours=1)
        autonomic.emit("alarm")
        await settled(autonomic)
        assert len(layer.woken) == 3


async def test_a_process_that_is_started_again_and_again_wakes_the_agent_no_more_often():
    layer = Layer(wake_on="alarm", max_wakes_per_hour=2)
    for _ in range(3):
        async with layer.open() as autonomic:
            autonomic.emit("alarm")
            await settled(autonomic)
    assert len(layer.woken) == 2
    layer.clock.forward(hours=1)
    async with layer.open() as autonomic:
        autonomic.emit("alarm")
        await settled(autonomic)
    assert len(layer.woken) == 3


async def test_turns_come_one_after_the_other_and_one_that_fails_does_not_end_the_layer():
    layer = Layer(wake_on=["alarm"])
    running, most, woken = 0, 0, []

    async def turn(signal):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0)
        running -= 1
        woken.append(signal.data)
        raise RuntimeError("the model is away")

    async with layer.open(wake=turn) as autonomic:
        for number in range(3):
            autonomic.emit("alarm", number)
        await settled(autonomic)
        assert (most, woken, autonomic.counts().listener_errors) == (1, [0, 1, 2], 3)


# The cortex's own signals


async def test_the_heart_beats_by_the_clock_and_the_settings():
    layer = Layer(autonomic={"tick_s": 30})
    layer.trial(inputSignals=["tick", "hour_changed"])
    async with layer.open() as autonomic:
        layer.clock.forward(seconds=29)
        autonomic.beat()
        layer.clock.forward(seconds=1)
        autonomic.beat()
        await settled(autonomic)
        layer.clock.forward(hours=1)
        autonomic.beat()
        await settled(autonomic)
    signals = given(layer)
    assert [signal["type"] for signal in signals] == ["tick", "tick", "hour_changed"]
    assert {signal["source"] for signal in signals} == {"cortex"}
    assert signals[0]["data"] == {"number": 1, "intervalS": 30}


async def test_the_heart_beats_by_itself():
    layer = Layer(autonomic={"tick_s": 1})
    layer.trial()
    async with layer.open():
        for _ in range(3):
            count = len(given(layer))
            layer.clock.forward(seconds=1)
            await until(lambda count=count: len(given(layer)) > count)


async def test_the_level_of_energy_is_told_when_it_crosses_a_tenth():
    layer = Layer(level=0.95)
    layer.trial(inputSignals=["energy"])
    async with layer.open() as autonomic:
        autonomic.beat()
        layer.reserve.now = 0.62
        await autonomic.refresh()
        autonomic.beat()
        await settled(autonomic)
    assert [signal["data"] for signal in given(layer)] == [{"level": 0.62, "before": 0.95}]


async def test_a_layer_that_is_switched_off_runs_nothing():
    layer = Layer(autonomic={"enabled": False})
    layer.trial()
    async with layer.open() as autonomic:
        assert not autonomic.emit("tick")
        await autonomic.refresh()
        assert (autonomic.overview().state, autonomic.overview().nerves) == ("off", ())
        assert autonomic.counts().dropped == {"elsewhere": 1}
    assert layer.residents.opened == []


async def test_the_program_that_runs_has_the_limits_of_the_settings():
    layer = Layer(
        autonomic={
            "timeout_isolated_ms": 11,
            "timeout_network_ms": 12,
            "max_state_bytes": 13,
            "max_emitted": 14,
            "max_memory_mb": 150,
            "max_signal_bytes": 16,
        }
    )
    layer.trial("Isolated")
    layer.trial("Network", tier="network", hosts=["example.com"])
    async with layer.open() as autonomic:
        await settled(autonomic)
        await until(lambda: len(layer.residents.opened) == 2)
    programs = {program.code: program for program in layer.residents.opened}
    assert (programs["Isolated"].timeout_ms, programs["Network"].timeout_ms) == (11, 12)
    one = programs["Isolated"]
    assert (one.max_state_bytes, one.max_emitted, one.max_memory_mb, one.max_signal_bytes) == (13, 14, 150, 16)


def test_what_wakes_the_agent_can_be_written_in_an_environment_variable():
    assert NeuronSettings(wake_on="price_change, tick").wake_on == ("price_change", "tick")
