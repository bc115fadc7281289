"""The layer and what else happens on its home: documents that change, the kill switch, a disk that refuses, another
process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest

from neurons import LAYER_KEY, Signal, Status
from neurons.autonomic.autonomic_store import AutonomicStore
from neurons.autonomic.energy_account import EnergyAccount
from sandbox import FileLock
from tests.neurons.governance import report_of, shown
from tests.neurons.layer import BOUND_S, Layer, one, settled, until


def count(signal, state, emit):
    state["seen"] = state.get("seen", 0) + 1


def awake(autonomic) -> list[str]:
    return [view.neuron.id for view in autonomic.overview().nerves]


# Documents


async def test_neurons_that_are_awake_are_loaded_on_start():
    layer = Layer(count)
    neurons = [layer.trial(f"Number {number}") for number in "12345"]
    async with layer.open() as autonomic:
        assert awake(autonomic) == [neuron.id for neuron in neurons]
        autonomic.emit("tick")
        await settled(autonomic)
        assert autonomic.counts().delivered == 5
    assert sorted(program.code for program in layer.residents.closed) == [neuron.name for neuron in neurons]


async def test_at_most_the_neurons_that_the_settings_allow_are_awake():
    layer = Layer(count)
    for number in "123":
        layer.trial(f"Number {number}")
    fewer = Layer(count, governed=layer.governed.restarted(max_awake=2))
    async with fewer.open() as autonomic:
        assert len(awake(autonomic)) == 2


async def test_a_neuron_that_another_process_approves_wakes_up_without_a_restart():
    layer = Layer(count)
    async with layer.open() as autonomic:
        other = layer.governed.restarted()
        waiting = other.waiting(code="CryptoPrice")
        await until(lambda: layer.document(waiting).status is Status.AWAITING_OWNER)
        assert awake(autonomic) == []
        other.approve(waiting.id, shown(waiting))
        await until(lambda: awake(autonomic) == [waiting.id])
        autonomic.emit("tick")
        await settled(autonomic)
        assert layer.document(waiting).state == {"seen": 1}


async def test_a_neuron_that_another_process_disables_goes_to_sleep():
    layer = Layer(count)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await settled(autonomic)
        layer.governed.restarted().disable(neuron.id, "enough")
        await until(lambda: awake(autonomic) == [] and layer.residents.closed)
        assert autonomic.emit("tick")
        await settled(autonomic)
    assert len(layer.residents.batches) == 1
    assert (layer.document(neuron).status, layer.document(neuron).reason) == (Status.DISABLED, "enough")


async def test_what_was_disabled_in_this_process_sleeps_as_soon_as_the_layer_has_looked():
    layer = Layer(count)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        layer.governed.disable(neuron.id, "enough")
        await autonomic.refresh()
        assert awake(autonomic) == []


async def test_a_document_that_was_edited_by_hand_does_not_run():
    layer = Layer(count)
    neuron = layer.trial()
    data = layer.governed.storage.read(f"neurons/{neuron.id}").data
    layer.governed.storage.write_through(f"neurons/{neuron.id}", {**data, "code": "evil()"})
    async with layer.open() as autonomic:
        assert awake(autonomic) == []
    assert layer.residents.opened == []
    assert layer.document(neuron).status is Status.QUARANTINE


async def test_a_document_that_is_edited_while_it_runs_stops_running():
    layer = Layer(count)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        await until(lambda: layer.residents.opened)
        data = layer.governed.storage.read(f"neurons/{neuron.id}").data
        layer.governed.storage.write_through(f"neurons/{neuron.id}", {**data, "hosts": ["evil.example"]})
        await until(lambda: awake(autonomic) == [])
    assert [program.code for program in layer.residents.opened] == [neuron.code]


async def test_what_a_new_version_is_approved_for_runs_in_a_process_of_its_own_and_starts_without_state():
    layer = Layer({"CryptoPrice": count, "Better": count})
    neuron = layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await settled(autonomic)
        governed = layer.governed
        changed = governed.modify(neuron.id, "Better")
        asked = governed.judged(neuron.id, report_of(changed))
        governed.approve(neuron.id, shown(asked))
        await settled(autonomic)
        autonomic.emit("tick")
        await settled(autonomic)
    assert [program.code for program in layer.residents.opened] == ["CryptoPrice", "Better"]
    assert (layer.document(neuron).state, layer.document(neuron).trial.counters.signals) == ({"seen": 1}, 1)


async def test_counts_of_a_version_that_is_not_awake_any_more_are_not_kept():
    gate = anyio.Event()

    async def slow(signal, state, emit):
        state["old"] = True
        await gate.wait()

    layer = Layer({"CryptoPrice": slow, "Better": count})
    neuron = layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await until(lambda: layer.residents.batches)
        layer.governed.modify(neuron.id, "Better")
        gate.set()
        await settled(autonomic)
    assert (layer.document(neuron).status, layer.document(neuron).state) == (Status.QUARANTINE, {})


# The kill switch


async def test_the_kill_switch_stops_all_and_what_is_revived_wakes_up_again():
    async def stuck(signal, state, emit):
        await anyio.sleep_forever()

    layer = Layer({"Busy": stuck, "Idle": count})
    layer.trial("Busy")
    layer.trial("Idle", inputSignals=["other"])
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        autonomic.emit("tick")
        await until(lambda: layer.residents.batches)
        layer.killed.add(None)
        await until(lambda: len(layer.residents.closed) == 2)
        assert (autonomic.overview().state, awake(autonomic)) == ("killed", [])
        assert not autonomic.emit("tick")
        assert autonomic.counts().dropped == {"killed": 3}
        await autonomic.refresh()
        assert awake(autonomic) == []
        layer.killed.clear()
        await until(lambda: len(awake(autonomic)) == 2)
        assert autonomic.emit("other")
        await until(lambda: len(layer.residents.batches) == 2)


async def test_while_the_switch_is_on_nothing_is_loaded_on_start():
    layer = Layer(count)
    layer.trial()
    layer.killed.add(None)
    async with layer.open() as autonomic:
        assert (autonomic.overview().state, awake(autonomic)) == ("killed", [])
    assert layer.residents.opened == []


async def test_the_kill_switch_for_one_neuron_stops_that_one():
    layer = Layer(count)
    first, second = layer.trial("First"), layer.trial("Second")
    async with layer.open() as autonomic:
        layer.killed.add(first.id)
        await until(lambda: awake(autonomic) == [second.id])
        await autonomic.refresh()
        assert awake(autonomic) == [second.id]
        autonomic.emit("tick")
        await settled(autonomic)
        assert autonomic.counts().delivered == 1
        layer.killed.clear()
        await until(lambda: set(awake(autonomic)) == {first.id, second.id})


async def test_a_neuron_that_was_killed_alone_is_not_loaded_on_start_and_wakes_up_when_it_is_revived():
    layer = Layer(count)
    first, second = layer.trial("First"), layer.trial("Second")
    layer.killed.add(first.id)
    async with layer.open() as autonomic:
        assert awake(autonomic) == [second.id]
        await until(lambda: layer.residents.opened)
        assert [program.code for program in layer.residents.opened] == ["Second"]
        layer.killed.clear()
        await until(lambda: set(awake(autonomic)) == {first.id, second.id})


async def test_a_kill_switch_that_cannot_be_read_counts_as_on():
    layer = Layer(count)
    layer.trial()
    autonomic = layer.open()

    def broken(neuron):
        raise OSError("no such switch")

    autonomic._standing.is_killed = broken
    async with autonomic:
        assert autonomic.overview().state == "killed"
    assert layer.residents.opened == []


async def test_a_neuron_stopped_by_the_host_sleeps_until_the_next_refresh():
    layer = Layer(count)
    first, second = layer.trial("First"), layer.trial("Second")
    async with layer.open() as autonomic:
        autonomic.stop(first.id)
        assert awake(autonomic) == [second.id]
        autonomic.stop()
        assert awake(autonomic) == []
        await autonomic.refresh()
        assert set(awake(autonomic)) == {first.id, second.id}
        autonomic.stop("there-is-none")


async def test_the_switch_is_looked_at_as_often_as_the_settings_say():
    layer = Layer(count, kill_poll_ms=120)
    looks: list[float] = []
    async with layer.open() as autonomic:
        autonomic._upkeep.beat = lambda: looks.append(anyio.current_time())
        await until(lambda: len(looks) == 3)
    # Two pauses lie between three looks. None is shorter than it should be, however slow the machine is.
    assert looks[2] - looks[0] >= 0.23


# The disk


async def test_a_disk_that_refuses_stops_no_neuron_and_nothing_is_counted_twice():
    layer = Layer(count)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await settled(autonomic)
        layer.governed.storage.refuses = "no space left"
        for _ in range(3):
            autonomic.emit("tick")
            await settled(autonomic)
        assert one(autonomic, neuron).neuron.trial.counters.signals == 4
        layer.governed.storage.refuses = None
        autonomic.emit("tick")
        await settled(autonomic)
    assert layer.document(neuron).trial.counters.signals == 5
    assert layer.document(neuron).state == {"seen": 5}


async def test_counts_that_could_not_be_written_are_written_later():
    layer = Layer(count)
    neuron = layer.trial()
    change = layer.governed.store.change

    def broken(*arguments, **options):
        raise OSError("input/output error")

    async with layer.open() as autonomic:
        layer.governed.store.change = broken
        for _ in range(3):
            autonomic.emit("tick")
            await settled(autonomic)
        assert "input/output error" in autonomic.overview().trouble
        layer.governed.store.change = change
        autonomic.emit("tick")
        await settled(autonomic)
        assert layer.document(neuron).trial.counters.signals == 4
        assert layer.document(neuron).state == {"seen": 4}
        layer.governed.store.change = broken
        autonomic.emit("tick")
        await settled(autonomic)
        autonomic.stop(neuron.id)
        await autonomic.refresh()
        layer.governed.store.change = change
    assert layer.document(neuron).trial.counters.signals == 5


def test_a_layer_report_that_could_not_be_written_is_written_at_the_next_look(monkeypatch):
    layer, report = Layer(), {"state": "leading"}
    storage = layer.governed.storage
    store = AutonomicStore(layer.governed, EnergyAccount(layer.reserve), storage=storage, skills=None, lock=None)

    def broken(*arguments, **options):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(storage, "write", broken)
        store.look([], report)
    assert "no space left" in store.trouble
    assert storage.read(LAYER_KEY) is None
    store.look([], report)
    assert storage.read(LAYER_KEY).data == report
    assert store.trouble == ""


async def test_a_neuron_that_failed_is_stopped_also_when_the_disk_does_not_take_it():
    def fail(signal, state, emit):
        raise RuntimeError("broken")

    layer = Layer(fail, trial={"max_errors": 0})
    neuron = layer.trial()
    async with layer.open() as autonomic:
        layer.governed.storage.refuses = "no space left"
        autonomic.emit("tick")
        await until(lambda: layer.residents.closed)
        for _ in range(3):
            await autonomic.refresh()
            autonomic.emit("tick")
        view = one(autonomic, neuron)
        assert view.state == "stopped"
        assert view.reason.startswith("1 errors within an hour")
        assert "no space left" in autonomic.overview().trouble
        assert len(layer.residents.batches) == len(layer.residents.opened) == 1
        layer.governed.storage.refuses = None
        await settled(autonomic)
        assert (layer.document(neuron).status, awake(autonomic)) == (Status.DISABLED, [])
        assert layer.document(neuron).trial.counters.errors == 1
        assert autonomic.overview().trouble == ""


async def test_documents_that_cannot_be_read_leave_the_neurons_running_that_are_known():
    layer = Layer(count)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        await settled(autonomic)
        load_all = layer.governed.store.load_all

        def broken():
            raise OSError("input/output error")

        layer.governed.store.load_all = broken
        await autonomic.refresh()
        assert "input/output error" in autonomic.overview().trouble
        autonomic.emit("tick")
        await until(lambda: one(autonomic, neuron).neuron.trial.counters.signals == 1)
        layer.governed.store.load_all = load_all
        await settled(autonomic)
        assert autonomic.overview().trouble == ""


async def test_a_disk_that_hangs_delays_neither_neurons_nor_the_heartbeat():
    layer = Layer(count, autonomic={"tick_s": 60})
    neuron = layer.trial()
    go_on, hangs = threading.Event(), threading.Event()
    load_all = layer.governed.store.load_all

    def slow():
        hangs.set()
        assert go_on.wait(BOUND_S)
        return load_all()

    async with layer.open() as autonomic:
        layer.governed.store.load_all = slow
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(autonomic.refresh)
                await until(hangs.is_set)
                for number in range(1, 4):
                    layer.clock.forward(seconds=60)
                    await until(lambda number=number: one(autonomic, neuron).neuron.trial.counters.signals == number)
                go_on.set()
        finally:
            go_on.set()
    assert layer.document(neuron).state == {"seen": 3}


async def test_a_reserve_that_never_answers_holds_up_the_neuron_that_pays_and_no_other():
    layer = Layer(count)
    first, second = layer.trial("First"), layer.trial("Second")
    spend = layer.reserve.spend

    async def hangs(amount, *, reason, **rest):
        if first.id in reason:
            await anyio.sleep_forever()
        return await spend(amount, reason=reason, **rest)

    layer.reserve.spend = hangs
    async with layer.open() as autonomic:
        for number in range(1, 4):
            autonomic.emit("tick")
            await until(lambda number=number: one(autonomic, second).neuron.trial.counters.signals == number)
        assert one(autonomic, first).neuron.trial.counters.signals == 1


async def test_a_document_deleted_while_its_neuron_runs_causes_no_trouble():
    layer = Layer(count)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await autonomic.idle()
        layer.governed.storage.delete(f"neurons/{neuron.id}")
        await settled(autonomic)
        assert (awake(autonomic), autonomic.overview().trouble) == ([], "")


async def test_other_processes_can_see_what_the_layer_does_and_what_it_dropped():
    layer = Layer(count, level=0.05)
    neuron = layer.trial()
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        autonomic.emit(Signal("tick", "host", object()))
        await settled(autonomic)
        await settled(autonomic)
        seen = layer.governed.storage.read("autonomic/layer").data
        assert (seen["state"], seen["pid"], seen["counts"]["dropped"]) == ("leading", os.getpid(), {"not_json": 1})
        assert seen["neurons"][neuron.id] == {
            "state": "resting",
            "reason": "energy is at 0.05, and it rests below 0.15",
            "waiting": 1,
        }
    layer.governed.storage.crash()
    assert layer.governed.storage.read("autonomic/layer").data["state"] == "off"


async def test_a_failing_memory_of_skills_does_not_undo_a_passed_trial():
    layer = Layer(count, trial={"min_signals": 1, "min_hours": 0.001})
    neuron = layer.trial()

    def broken(neuron):
        raise OSError("the diary is full")

    layer.skills.learned = broken
    async with layer.open() as autonomic:
        autonomic.emit("tick")
        await settled(autonomic)
        layer.clock.forward(hours=1)
        await settled(autonomic)
        assert "the diary is full" in autonomic.overview().trouble
    assert layer.document(neuron).status is Status.ACTIVE


# Other processes


async def test_one_of_two_runs_the_neurons_and_the_other_takes_over_when_it_is_gone(tmp_path):
    layer = Layer(count)
    neuron = layer.trial()
    path = tmp_path / "autonomic.lock"
    other = Layer(count, governed=layer.governed.restarted())
    ready, over = anyio.Event(), anyio.Event()

    async def lead() -> None:
        async with other.open(lock=FileLock(path)) as autonomic:
            assert autonomic.overview().state == "leading"
            autonomic.emit("tick")
            await settled(autonomic)
            ready.set()
            await over.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lead)
        await ready.wait()
        async with layer.open(lock=FileLock(path)) as autonomic:
            await autonomic.refresh()
            assert (autonomic.overview().state, awake(autonomic)) == ("standby", [])
            assert autonomic.emit("tick")
            assert autonomic.counts().dropped == {}
            await until(lambda: layer.document(neuron).state == {"seen": 2})
            over.set()
            await until(lambda: awake(autonomic) == [neuron.id])
            assert autonomic.overview().state == "leading"
            autonomic.emit("tick")
            await settled(autonomic)
            assert layer.document(neuron).state == {"seen": 3}


async def test_the_same_lock_can_be_taken_again_when_the_layer_is_closed(tmp_path):
    lock = FileLock(tmp_path / "autonomic.lock")
    for _ in range(2):
        async with Layer(count).open(lock=lock) as autonomic:
            assert autonomic.overview().state == "leading"


HOLDER = """
import sys
from pathlib import Path
from sandbox import FileLock
lock = FileLock(Path(sys.argv[1]))
assert lock.try_take()
print("held", flush=True)
sys.stdin.read()
"""


async def test_another_process_that_is_killed_leaves_the_lead_to_this_one(tmp_path):
    path = tmp_path / "autonomic.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    try:
        assert holder.stdout is not None
        await anyio.to_thread.run_sync(holder.stdout.readline)
        layer = Layer(count)
        neuron = layer.trial()
        async with layer.open(lock=FileLock(path)) as autonomic:
            assert autonomic.overview().state == "standby"
            os.kill(holder.pid, signal.SIGKILL)
            await until(lambda: awake(autonomic) == [neuron.id])
    finally:
        holder.kill()
        holder.communicate()


async def test_a_lock_that_cannot_be_made_leaves_the_layer_standing_by():
    layer = Layer(count)
    layer.trial()
    async with layer.open(lock=FileLock(Path("/proc/no/such/autonomic.lock"))) as autonomic:
        assert autonomic.overview().state == "standby"
        assert "Cannot lead the neurons" in autonomic.overview().trouble
        with anyio.fail_after(BOUND_S):
            await autonomic.idle()


async def test_a_layer_is_opened_once():
    autonomic = Layer(count).open()
    async with autonomic:
        with pytest.raises(RuntimeError, match="opened once"):
            await autonomic.__aenter__()
    with pytest.raises(RuntimeError, match="opened once"):
        await autonomic.__aenter__()
    assert (autonomic.emit("tick"), autonomic.overview().nerves) == (False, ())


async def test_a_layer_whose_host_is_cancelled_leaves_nothing_unwritten():
    layer = Layer(count)
    neuron = layer.trial()
    with anyio.CancelScope() as scope:
        async with layer.open() as autonomic:
            autonomic.emit("tick")
            await autonomic.idle()
            scope.cancel()
            await anyio.sleep_forever()
    layer.governed.storage.crash()
    assert layer.document(neuron).state == {"seen": 1}
    assert len(layer.residents.closed) == 1


async def test_a_layer_whose_opening_is_cancelled_leaves_nothing_behind(tmp_path):
    layer = Layer(count)
    layer.trial()
    lock = FileLock(tmp_path / "autonomic.lock")
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with layer.open(lock=lock):
            pytest.fail("it was not opened")
    assert scope.cancelled_caught
    async with layer.open(lock=FileLock(tmp_path / "autonomic.lock")) as autonomic:
        assert autonomic.overview().state == "leading"
    assert len(layer.residents.opened) == len(layer.residents.closed) <= 1


async def test_a_process_that_stands_by_rests_between_two_looks(tmp_path):
    """It once looked without a pause: its own heart was never beaten, and so was late for ever."""
    path = tmp_path / "autonomic.lock"
    holder = FileLock(path)
    assert holder.try_take()
    layer = Layer(count, autonomic={"tick_s": 60})
    looks = []
    async with layer.open(lock=FileLock(path)) as autonomic:
        autonomic.beat = lambda: looks.append(1)
        layer.clock.forward(hours=1)
        await anyio.sleep(0.5)
    holder.close()
    assert len(looks) <= 100


async def test_a_process_that_takes_the_lead_emits_no_signals_for_the_hours_before(tmp_path):
    path = tmp_path / "autonomic.lock"
    holder = FileLock(path)
    assert holder.try_take()
    layer = Layer(count, autonomic={"tick_s": 60})
    layer.trial(inputSignals=["tick", "hour_changed"])
    async with layer.open(lock=FileLock(path)) as autonomic:
        assert autonomic.overview().state == "standby"
        layer.clock.forward(hours=5)
        holder.release()
        await until(lambda: autonomic.overview().state == "leading")
        autonomic.beat()
        await settled(autonomic)
        assert autonomic.counts().emitted == 0
    holder.close()
