"""What every adapter of the five ports of a home must do. A second adapter runs these suites as they are.

Subclass each suite in a test module and override the fixture `home`, which opens the ports of an empty home, and
`preamble`, the beginning of a program that opens the same home in another process and calls it `home`:

    class TestLedgerInFiles(InFiles, LedgerConformance): ...

An adapter that lives in one process leaves `preamble` at None; the tests that kill processes are skipped then.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import anyio
import pytest

from cortex.audit import FactRefused
from cortex.energy import Insufficient
from cortex.home import HomePorts
from cortex.settings import AuditSettings, EnergySettings
from neurons import Conflict, Off, On, Refused, StorageError, SwitchError
from sandbox import Tier

Elsewhere = Callable[[str], None]
COST = 0.1
ENERGY = EnergySettings(recharge_per_minute=0.1)


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class HomeConformance:
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def home(self) -> HomePorts:
        """The ports of an empty home, by the clock of the fixture `clock`."""
        raise NotImplementedError

    @pytest.fixture
    def preamble(self) -> str | None:
        return None

    @pytest.fixture
    def elsewhere(self, preamble: str | None) -> Iterator[Elsewhere]:
        """Run a program in another process until it prints "ready", and kill it (SIGKILL) when the test calls
        `elsewhere.kill` or ends."""
        if preamble is None:
            pytest.skip("this adapter lives in one process")
        runner = OtherProcess(preamble)
        yield runner
        runner.kill()


class OtherProcess:
    def __init__(self, preamble: str) -> None:
        self._preamble = preamble
        self._processes: list[subprocess.Popen[str]] = []

    def __call__(self, program: str) -> None:
        whole = f"{self._preamble}\n{program}\nprint('ready', flush=True)\nimport time\ntime.sleep(600)\n"
        process = subprocess.Popen([sys.executable, "-c", whole], stdout=subprocess.PIPE, text=True)
        self._processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        for process in self._processes:
            process.send_signal(signal.SIGKILL)
            process.wait(30)
            assert process.stdout is not None
            process.stdout.close()
        self._processes.clear()


class StorageConformance(HomeConformance):
    def test_a_document_written_through_is_seen_by_other_processes_with_its_revision(self, home):
        one, other = home.storage(), home.storage()
        assert one.read("neurons/a") is None
        assert one.write_through("neurons/a", {"n": 1}) == 1
        assert one.write_through("neurons/a", {"n": 2}) == 2
        found = other.read("neurons/a")
        assert (found.key, found.revision, found.data) == ("neurons/a", 2, {"n": 2})

    def test_a_deferred_write_is_seen_here_at_once_and_elsewhere_after_flush(self, home):
        one, other = home.storage(), home.storage()
        assert one.write("neurons/a", {"n": 1}) == 1
        assert one.read("neurons/a").data == {"n": 1}
        assert other.read("neurons/a") is None
        one.flush()
        assert other.read("neurons/a").data == {"n": 1}

    @pytest.mark.parametrize("write", ["write", "write_through"])
    def test_a_write_with_an_old_revision_is_a_conflict_and_changes_nothing(self, home, write):
        one, other = home.storage(), home.storage()
        one.write_through("neurons/a", {"n": 1}, revision=0)
        with pytest.raises(Conflict):
            getattr(other, write)("neurons/a", {"n": 2}, revision=0)
        one.write_through("neurons/a", {"n": 3}, revision=1)
        with pytest.raises(Conflict):
            getattr(other, write)("neurons/a", {"n": 2}, revision=1)
        other.flush()
        assert home.storage().read("neurons/a").data == {"n": 3}

    @pytest.mark.parametrize("through", [True, False])
    def test_updates_of_many_writers_are_all_there(self, home, through):
        def count() -> None:
            storage = home.storage()
            for _ in range(10):
                storage.update("neurons/a", lambda data: {"n": (data or {"n": 0})["n"] + 1}, through=through)
            storage.flush()

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(count) for _ in range(4)]:
                done.result(60)
        assert home.storage().read("neurons/a").data == {"n": 40}

    def test_an_update_that_raises_or_returns_none_changes_nothing(self, home):
        storage = home.storage()
        storage.write_through("neurons/a", {"n": 1})

        def fail(data: Any) -> Any:
            data["n"] = 7
            raise RuntimeError("no")

        with pytest.raises(RuntimeError):
            storage.update("neurons/a", fail)
        assert storage.update("neurons/a", lambda data: None).revision == 1
        assert home.storage().read("neurons/a").data == {"n": 1}

    def test_documents_are_listed_by_prefix_in_order_and_gone_when_deleted(self, home):
        storage = home.storage()
        for key in ("neurons/b", "neurons/a", "habits/c"):
            storage.write_through(key, {"key": key})
        assert [found.key for found in storage.read_all("neurons/")] == ["neurons/a", "neurons/b"]
        assert [found.key for found in storage.read_all("neurons/b")] == ["neurons/b"]
        storage.delete("neurons/a")
        storage.delete("neurons/never-there")
        assert home.storage().read("neurons/a") is None
        assert [found.key for found in home.storage().read_all("neurons/")] == ["neurons/b"]

    def test_a_document_set_aside_is_gone_unless_it_was_written_again(self, home):
        storage = home.storage()
        storage.write_through("neurons/a", {"n": 1})
        storage.write_through("neurons/a", {"n": 2})
        storage.set_aside("neurons/a", "cannot be used", revision=1)
        assert storage.read("neurons/a").data == {"n": 2}
        storage.set_aside("neurons/a", "cannot be used", revision=2)
        assert home.storage().read("neurons/a") is None

    def test_the_stamp_changes_when_another_process_has_written(self, home):
        one, other = home.storage(), home.storage()
        one.write_through("neurons/a", {"n": 1})
        before = other.stamp("neurons")
        one.write_through("neurons/a", {"n": 2})
        assert other.stamp("neurons") != before

    def test_alone_keeps_other_holders_out_and_lets_its_own_thread_enter_again(self, home):
        one, other = home.storage(), home.storage()
        seen: list[str] = []
        waits = threading.Event()

        def second() -> None:
            waits.set()
            with other.alone("neurons"):
                seen.append("second")

        with one.alone("neurons"), one.alone("neurons"):
            thread = threading.Thread(target=second)
            thread.start()
            waits.wait(10)
            thread.join(0.2)
            seen.append("first")
        thread.join(30)
        assert seen == ["first", "second"]

    @pytest.mark.parametrize("key", ["", "neurons", "../x", "neurons/../../x", "neurons/A b", "a/b/c"])
    def test_a_key_that_is_no_key_is_refused(self, home, key):
        with pytest.raises((StorageError, ValueError)):
            home.storage().write_through(key, {})

    def test_a_written_document_survives_the_death_of_its_writer(self, home, elsewhere):
        elsewhere("home.storage().write_through('neurons/a', {'n': 1})")
        elsewhere.kill()
        assert home.storage().read("neurons/a").data == {"n": 1}

    def test_a_lock_dies_with_its_holder(self, home, elsewhere):
        elsewhere("held = home.storage().alone('neurons')\nheld.__enter__()")
        elsewhere.kill()
        with home.storage().alone("neurons"):
            pass


class LedgerConformance(HomeConformance):
    def ledger(self, home: HomePorts, **options: Any) -> Any:
        options.setdefault("on_change", lambda entry: None)
        return home.ledger(ENERGY, **options)

    async def test_what_one_process_has_taken_no_other_can_take(self, home):
        one, other = self.ledger(home), self.ledger(home)
        one.set(1.0)
        granted = []
        while len(granted) < 100:
            taken = await (one if len(granted) % 2 else other).take(Tier.ISOLATED)
            if isinstance(taken, Insufficient):
                break
            granted.append(taken)
        assert sum(taken.cost for taken in granted) <= 1.0 + 1e-6
        assert isinstance(one.weigh(Tier.ISOLATED), Insufficient)
        assert one.level() == other.level()

    def test_many_at_once_never_take_more_than_there_is(self, home):
        self.ledger(home).set(0.5)

        def take() -> float:
            ledger, sum_taken = self.ledger(home), 0.0
            for _ in range(10):
                taken = anyio.run(lambda: ledger.take(Tier.ISOLATED))
                sum_taken += 0.0 if isinstance(taken, Insufficient) else taken.cost
            ledger.close()
            return sum_taken

        with ThreadPoolExecutor(4) as pool:
            total = sum(done.result(60) for done in [pool.submit(take) for _ in range(4)])
        after = self.ledger(home)
        assert total <= 0.5 + 1e-6
        assert after.level() == pytest.approx(0.5 - total)

    async def test_a_reservation_is_settled_once_for_what_it_cost(self, home):
        ledger = self.ledger(home)
        ledger.set(0.5)
        taken = await ledger.take(Tier.ISOLATED)
        assert await ledger.settle(taken, taken.cost / 2) == pytest.approx(0.5 - taken.cost / 2)
        with pytest.raises(ValueError, match="settled"):
            await ledger.settle(taken, 0.0)
        assert self.ledger(home).level() == pytest.approx(0.5 - taken.cost / 2)
        assert ledger.entries(1)[0].of == taken.seq

    async def test_spending_stops_at_its_floor_and_takes_nothing_then(self, home):
        ledger = self.ledger(home)
        ledger.set(0.3)
        assert await ledger.spend(COST, reason="signal", floor=0.25)
        assert not await ledger.spend(COST, reason="signal", floor=0.25)
        assert not await ledger.spend(0.9, reason="signal")
        assert ledger.level() == pytest.approx(0.2)

    async def test_rounding_does_not_refuse_the_last_part(self, home):
        ledger = self.ledger(home)
        ledger.set(1.0)
        for _ in range(17):
            assert await ledger.spend(0.05, reason="signal")
        assert ledger.level() < 0.15  # by rounding
        assert await ledger.spend(0.15, reason="signal")

    @pytest.mark.parametrize("level", [-0.1, 1.1, float("nan")])
    def test_an_invalid_level_is_refused_and_changes_nothing(self, home, level):
        ledger = self.ledger(home)
        ledger.set(0.4)
        with pytest.raises(ValueError, match="0"):
            ledger.set(level)
        with pytest.raises(ValueError, match="0"):
            ledger.top_up(level)
        assert ledger.level() == pytest.approx(0.4)

    def test_a_top_up_ends_at_full(self, home):
        ledger = self.ledger(home)
        ledger.set(0.4)
        assert ledger.top_up(0.1).level == pytest.approx(0.5)
        assert ledger.top_up(1.0).level == 1.0

    def test_the_level_recharges_with_time_up_to_full(self, home, clock):
        ledger = self.ledger(home)
        ledger.set(0.2)
        clock.now += 60
        assert ledger.level() == pytest.approx(0.3)
        clock.now += 86_400
        assert ledger.level() == 1.0

    def test_an_owner_s_decision_that_cannot_be_announced_is_not_carried_out(self, home):
        self.ledger(home).set(0.4)

        def refuse(entry: Any) -> None:
            raise RuntimeError("the audit is full")

        with pytest.raises(RuntimeError):
            self.ledger(home, on_change=refuse).set(0.9)
        assert self.ledger(home).level() == pytest.approx(0.4)

    async def test_entries_of_all_processes_are_numbered_without_gaps(self, home):
        one, other = self.ledger(home), self.ledger(home)
        one.set(0.5)
        await other.spend(COST, reason="a")
        await one.spend(COST, reason="b", code_hash="c0de")
        entries = one.entries(3)
        assert [entry.seq for entry in entries] == list(range(entries[0].seq, entries[0].seq + 3))
        assert [entry.reason for entry in entries] == ["set", "a", "b"]
        assert (entries[-1].code_hash, entries[-1].level) == ("c0de", pytest.approx(0.3))
        assert other.entries(1) == entries[-1:]
        assert one.entries(0) == []

    def test_what_a_killed_process_took_stays_taken(self, home, elsewhere):
        self.ledger(home).set(0.5)
        elsewhere(
            "import anyio\nfrom cortex.settings import EnergySettings\n"
            "ledger = home.ledger(EnergySettings(recharge_per_minute=0), on_change=lambda entry: None)\n"
            "assert anyio.run(lambda: ledger.spend(0.1, reason='x'))"
        )
        elsewhere.kill()
        assert self.ledger(home).entries(1)[0].level == pytest.approx(0.4)


class TrailConformance(HomeConformance):
    def test_records_of_all_processes_are_one_chain(self, home):
        one, other = home.trail(AuditSettings()), home.trail(AuditSettings())
        written = [trail.record("note", n=n) for n, trail in enumerate((one, other, one, other))]
        assert [record.seq for record in written] == [1, 2, 3, 4]
        assert [record.previous for record in written[1:]] == [record.hash for record in written[:-1]]
        assert [record.facts["n"] for record in other.records()] == [0, 1, 2, 3]
        verdict = one.verify()
        assert (verdict.ok, verdict.records) == (True, 4)

    def test_the_last_records_and_one_record_are_found(self, home):
        trail = home.trail(AuditSettings())
        for n in range(5):
            trail.record("note", n=n)
        assert [record.facts["n"] for record in trail.records(last=2)] == [3, 4]
        assert trail.find(2).facts["n"] == 1
        assert trail.find(99) is None

    def test_followers_see_what_another_process_records(self, home):
        one, other = home.trail(AuditSettings()), home.trail(AuditSettings())
        one.record("note", n=0)
        one.record("note", n=1)
        follower = other.follow(last=1)
        assert next(follower).facts["n"] == 1
        one.record("note", n=2)
        assert [record.facts["n"] for record in islice(follower, 1)] == [2]

    def test_records_are_on_the_clock_of_the_home(self, home, clock):
        trail = home.trail(AuditSettings())
        first = trail.record("note")
        clock.now += 1.5
        assert (trail.record("note").at - first.at).total_seconds() == pytest.approx(1.5)

    @pytest.mark.parametrize("kind", ["", "Not A Kind", "x" * 500])
    def test_a_kind_that_is_no_name_is_refused_and_leaves_nothing(self, home, kind):
        trail = home.trail(AuditSettings())
        with pytest.raises(FactRefused):
            trail.record(kind)
        assert list(trail.records()) == []

    def test_code_is_found_by_its_hash_if_it_is_kept(self, home):
        keeping = home.trail(AuditSettings(keep_code=True))
        own_hash = keeping.keep_code("return 1 // ä")
        assert home.trail(AuditSettings()).code(own_hash) == "return 1 // ä"
        other_hash = home.trail(AuditSettings(keep_code=False)).keep_code("return 2")
        assert other_hash != own_hash
        assert keeping.code(other_hash) is None
        assert keeping.code("../../etc/passwd") is None

    def test_many_writers_leave_no_gap(self, home):
        def write(name: str) -> None:
            trail = home.trail(AuditSettings())
            for n in range(20):
                trail.record("note", name=name, n=n)
            trail.close()

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(write, name) for name in "abcd"]:
                done.result(60)
        trail = home.trail(AuditSettings())
        assert [record.seq for record in trail.records()] == list(range(1, 81))
        assert trail.verify().ok

    def test_a_record_survives_the_death_of_its_writer(self, home, elsewhere):
        elsewhere("from cortex.settings import AuditSettings\nhome.trail(AuditSettings()).record('note', n=1)")
        elsewhere.kill()
        trail = home.trail(AuditSettings())
        assert [record.facts["n"] for record in trail.records()] == [1]
        assert trail.record("note", n=2).seq == 2
        assert trail.verify().ok


class LinesConformance(HomeConformance):
    def lines(self, home: HomePorts, keep: int = 20) -> Any:
        return home.lines("things", keep=keep, max_line_bytes=100)

    def test_lines_of_all_processes_are_in_order(self, home):
        one, other = self.lines(home), self.lines(home)
        assert one.last(5) == []
        one.append(b"a\n")
        other.append(b"b\nc\n")
        one.append(b"d\n")
        assert other.last(10) == [b"a", b"b", b"c", b"d"]
        assert one.last(2) == [b"c", b"d"]
        assert one.last(0) == []

    def test_names_are_apart(self, home):
        home.lines("one", keep=5, max_line_bytes=100).append(b"1\n")
        assert home.lines("other", keep=5, max_line_bytes=100).last(5) == []

    def test_the_newest_stay_and_the_oldest_make_way(self, home):
        lines = self.lines(home)
        for number in range(500):
            lines.append(b"%d\n" % number)
        assert lines.last(20) == [b"%d" % number for number in range(480, 500)]
        assert len(lines.last(10_000)) < 400

    def test_many_writers_mix_no_line(self, home):
        def write(name: str) -> None:
            lines = self.lines(home, keep=1_000)
            for number in range(25):
                lines.append(f"{name * 50}{number}\n".encode())

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(write, name) for name in "abcd"]:
                done.result(60)
        found = self.lines(home, keep=1_000).last(1_000)
        assert sorted(found) == sorted(f"{name * 50}{number}".encode() for name in "abcd" for number in range(25))

    def test_a_line_survives_the_death_of_its_writer(self, home, elsewhere):
        elsewhere("home.lines('things', keep=20, max_line_bytes=100).append(b'kept\\n')")
        elsewhere.kill()
        assert self.lines(home).last(1) == [b"kept"]


class LeaseConformance(HomeConformance):
    def test_a_lease_has_one_holder(self, home):
        one, other = home.lease("leader"), home.lease("leader")
        assert one.try_take()
        assert not other.try_take()
        assert home.lease("another").try_take()
        one.release()
        assert other.try_take()
        assert not one.try_take()

    def test_a_lease_closed_by_its_holder_is_free(self, home):
        one, other = home.lease("leader"), home.lease("leader")
        assert one.try_take()
        one.release()
        one.close()
        assert other.try_take()

    def test_a_lease_dies_with_its_holder(self, home, elsewhere):
        elsewhere("lease = home.lease('leader')\nassert lease.try_take()")
        lease = home.lease("leader")
        assert not lease.try_take()
        elsewhere.kill()
        give_up = time.monotonic() + 30
        while not lease.try_take():
            assert time.monotonic() < give_up
            time.sleep(0.01)


class SwitchConformance(HomeConformance):
    def test_a_switch_is_off_until_it_is_turned_on_and_every_process_sees_it(self, home, clock):
        one, other = home.switch(), home.switch()
        assert isinstance(one.state(), Off)
        assert one.refusal() is None
        killed = one.turn_on("it misbehaves", "the owner")
        assert (killed.is_on, killed.was_on, killed.problems) == (True, False, ())
        found = other.state()
        assert (found.reason, found.by, found.at) == ("it misbehaves", "the owner", clock.now)
        assert "it misbehaves" in other.refusal()
        assert "it misbehaves" in other.refusal("some-neuron")
        assert other.turn_on("again", "somebody").was_on

    def test_one_neuron_can_be_stopped_alone(self, home):
        one, other = home.switch(), home.switch()
        assert one.turn_on("loops", "the owner", neuron="crypto-price").is_on
        assert isinstance(other.state(), Off)
        assert other.state("crypto-price").neuron == "crypto-price"
        assert isinstance(other.state("another"), Off)
        assert isinstance(one.turn_off("mended", "the owner", neuron="crypto-price"), On)
        assert isinstance(other.state("crypto-price"), Off)

    def test_turning_it_off_needs_a_reason_and_tells_what_was(self, home):
        switch = home.switch()
        assert isinstance(switch.turn_off("nothing to do", "the owner"), Off)
        switch.turn_on("stop", "the owner")
        with pytest.raises(Refused):
            switch.turn_off(" ", "the owner")
        assert isinstance(home.switch().state(), On)
        assert switch.turn_off("all is well", "the owner").reason == "stop"
        assert isinstance(home.switch().state(), Off)

    def test_both_decisions_are_recorded_and_one_that_cannot_be_recorded_is_not_turned_off(self, home):
        told: list[tuple[str, str]] = []
        switch = home.switch(record=lambda kind, **facts: told.append((kind, facts["what"])))
        switch.turn_on("stop", "the owner")
        switch.turn_off("go", "the owner")
        assert told == [("owner_decision", "kill"), ("owner_decision", "revive")]

        def refuse(kind: str, /, **facts: Any) -> None:
            raise SwitchError("the audit is full")

        failing = home.switch(record=refuse)
        killed = failing.turn_on("stop", "the owner")
        assert killed.is_on
        assert any("the audit is full" in problem for problem in killed.problems)
        with pytest.raises(SwitchError):
            failing.turn_off("go", "the owner")
        assert isinstance(home.switch().state(), On)

    @pytest.mark.parametrize("neuron", ["", "../KILLED", "A", "x" * 81])
    def test_an_invalid_neuron_id_is_refused_and_counts_as_stopped(self, home, neuron):
        with pytest.raises(Refused):
            home.switch().turn_on("stop", "the owner", neuron=neuron)
        assert isinstance(home.switch().state(neuron), On)

    def test_the_switch_survives_the_death_of_the_process_that_turned_it_on(self, home, elsewhere):
        elsewhere("assert home.switch().turn_on('stop', 'the owner').is_on")
        elsewhere.kill()
        assert home.switch().state().reason == "stop"
