"""One process and its reserve: what is taken, given back, set, recharged and written down."""

from __future__ import annotations

import json
import os
import resource
import sys
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import pytest

from cortex.energy import (
    EnergyBusy,
    EnergyError,
    EnergyReserve,
    Entry,
    Insufficient,
    Reservation,
    on_terms,
    terms_in,
    terms_of,
)
from cortex.settings.sections import EnergySettings
from sandbox import FileLock, Flusher, Tier

ISOLATED, NETWORK = Tier.ISOLATED, Tier.NETWORK


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "home" / "state"


def ledger(state: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (state / "energy-ledger.jsonl").read_bytes().splitlines()]


@contextmanager
def calls_to(function: object):
    """How often this thread calls a function of the system inside the block."""
    seen = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "c_call" and argument is function:
            seen.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)


async def test_a_reserve_that_nobody_has_any_more_has_no_file_open(state, nothing_left):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05))
    await reserve.take(ISOLATED)
    del reserve


async def test_a_run_takes_what_its_tier_costs(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    taken = await reserve.take(NETWORK, turn="t1", code_hash="ab12")
    assert taken == Reservation(NETWORK, 0.15, 1.0, 0.85, 2, "t1", "ab12")
    assert reserve.level() == 0.85
    assert await reserve.take(ISOLATED) == Reservation(ISOLATED, 0.05, 0.85, pytest.approx(0.8), 3)
    assert ledger(state)[1:] == [
        {
            "seq": 2,
            "at": clock.now,
            "reason": "execution",
            "amount": -0.15,
            "recharged": 0.0,
            "level": 0.85,
            "tier": "network",
            "turn": "t1",
            "code_hash": "ab12",
            "terms": terms_of(EnergySettings(recharge_per_minute=0.05)).model_dump(),
        },
        {
            "seq": 3,
            "at": clock.now,
            "reason": "execution",
            "amount": -0.05,
            "recharged": 0.0,
            "level": pytest.approx(0.8),
            "tier": "isolated",
        },
    ]


async def test_a_refusal_is_free_and_leaves_no_trace(state, clock):
    reserve = EnergyReserve(state, EnergySettings(initial_level=0.2, recharge_per_minute=0.05), now=clock)
    reserve.level()
    written = ledger(state)
    refused = await reserve.take(NETWORK)
    assert refused == Insufficient(NETWORK, 0.15, 0.30, 0.2, pytest.approx(120), ISOLATED)
    assert reserve.weigh(NETWORK) == refused
    assert ledger(state) == written


async def test_the_last_of_it_can_be_taken_and_no_more(state, clock):
    settings = EnergySettings(cost_isolated=0.25, floor_isolated=0, recharge_per_minute=0)
    reserve = EnergyReserve(state, settings, now=clock)
    for _ in range(4):
        assert isinstance(await reserve.take(ISOLATED), Reservation)
    assert reserve.level() == 0
    assert isinstance(await reserve.take(ISOLATED), Insufficient)


async def test_what_has_no_tier_is_spent_above_its_floor_or_not_at_all(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0), now=clock)
    assert await reserve.spend(0.25, reason="neuron", floor=0.5, code_hash="ab12")
    assert (ledger(state)[-1]["reason"], ledger(state)[-1]["amount"], ledger(state)[-1]["code_hash"]) == (
        "neuron",
        -0.25,
        "ab12",
    )
    assert await reserve.spend(0.5, reason="neuron", floor=0.75)
    lines = len(ledger(state))
    assert not await reserve.spend(0.01, reason="neuron", floor=0.26)
    assert not await reserve.spend(0.26, reason="neuron", floor=0.0)
    assert await reserve.spend(0.0, reason="neuron", floor=0.25)
    assert (reserve.level(), len(ledger(state))) == (0.25, lines)


@pytest.mark.parametrize("amount", [-0.1, 1.1, float("nan"), float("inf")])
async def test_what_is_no_amount_is_not_spent(state, clock, amount):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    with pytest.raises(ValueError, match="from 0 to 1"):
        await reserve.spend(amount, reason="neuron", floor=0.0)
    assert reserve.level() == 1.0


async def test_the_level_is_never_rounded(state, clock):
    settings = EnergySettings(cost_isolated=0.000123456789, recharge_per_minute=0)
    reserve = EnergyReserve(state, settings, now=clock)
    await reserve.take(ISOLATED)
    reserve.close()
    assert EnergyReserve(state, settings, now=clock).level() == 1 - 0.000123456789


async def test_energy_recharges_by_the_clock_however_often_one_looks(state, clock):
    reserve = EnergyReserve(state, EnergySettings(initial_level=0.2, recharge_per_minute=0.05), now=clock)
    for _ in range(1000):
        reserve.level()
        clock.now += 0.12
    assert reserve.level() == pytest.approx(0.3)
    await reserve.take(ISOLATED)
    entry = reserve.entries(1)[0]
    assert (entry.recharged, entry.level) == (pytest.approx(0.1), pytest.approx(0.25))
    clock.now += 86_400
    assert reserve.level() == 1


async def test_a_new_home_starts_with_the_initial_level_and_recharges_from_there(state, clock):
    settings = EnergySettings(initial_level=0.1, recharge_per_minute=0.05)
    first = EnergyReserve(state, settings, now=clock)
    assert first.level() == 0.1
    clock.now += 60
    assert EnergyReserve(state, settings, now=clock).level() == pytest.approx(0.15)
    assert [entry["reason"] for entry in ledger(state)] == ["initial"]


async def test_a_clock_that_is_set_back_neither_gives_nor_stops_energy(state, clock, caplog):
    reserve = EnergyReserve(state, EnergySettings(initial_level=0.2, recharge_per_minute=0.05), now=clock)
    assert reserve.level() == 0.2
    clock.now -= 86_400
    assert reserve.level() == 0.2
    assert isinstance(await reserve.take(NETWORK), Insufficient)
    clock.now += 120
    assert reserve.level() == pytest.approx(0.3)
    assert [entry["reason"] for entry in ledger(state)] == ["initial", "clock"]
    assert "the clock was set back by 86400 s" in caplog.text


async def test_a_clock_that_trembles_gives_no_energy_twice(state, clock):
    reserve = EnergyReserve(state, EnergySettings(initial_level=0.5, cost_isolated=0), now=clock)
    reserve.level()
    for _ in range(500):
        clock.now -= 0.9
        await reserve.take(ISOLATED)
        clock.now += 0.9
        await reserve.take(ISOLATED)
    assert reserve.level() == 0.5
    assert {entry.reason for entry in reserve.entries(2000)} == {"initial", "execution"}


@pytest.mark.parametrize(("cost", "level"), [(0.01, 0.99), (0.05, 0.95), (0.25, 0.75), (0.0, 1.0)])
async def test_what_was_taken_is_settled_to_what_was_measured(state, clock, cost, level):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    taken = await reserve.take(ISOLATED, turn="t", code_hash="c")
    assert await reserve.settle(taken, cost) == pytest.approx(level) == reserve.level()
    assert ledger(state)[-1] == {
        "seq": 3,
        "at": clock.now,
        "reason": "settled",
        "recharged": 0.0,
        "tier": "isolated",
        "turn": "t",
        "amount": pytest.approx(0.05 - cost),
        "level": pytest.approx(level),
        "code_hash": "c",
        "reserved": 0.05,
        "settled": cost,
        "of": 2,
    }


async def test_settling_goes_neither_below_nothing_nor_above_full(state, clock):
    settings = EnergySettings(initial_level=0.15, cost_isolated=0.15, recharge_per_minute=60)
    reserve = EnergyReserve(state, settings, now=clock)
    taken = await reserve.take(ISOLATED)
    assert await reserve.settle(taken, 0.25) == 0
    entry = reserve.entries(1)[0]
    assert (entry.amount, entry.reserved, entry.settled) == (0, 0.15, 0.25)
    reserve.set(0.5)
    taken = await reserve.take(ISOLATED)
    clock.now += 60
    assert await reserve.settle(taken, 0) == 1
    assert reserve.entries(1)[0].amount == 0


async def test_the_same_energy_never_comes_back_twice(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0), now=clock)
    taken = await reserve.take(NETWORK)
    await reserve.settle(taken, 0.05)
    with pytest.raises(ValueError, match="settled already"):
        await reserve.settle(taken, 0.05)
    assert reserve.level() == 0.95


@pytest.mark.parametrize("cost", [-0.1, 1.1, float("nan"), float("inf")])
async def test_what_is_no_cost_settles_nothing(state, clock, cost):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    taken = await reserve.take(ISOLATED)
    with pytest.raises(ValueError, match="between 0 and 1"):
        await reserve.settle(taken, cost)
    assert (reserve.level(), taken.is_settled) == (0.95, False)


def test_the_owner_sets_the_level_exactly(state, clock):
    reserve = EnergyReserve(state, EnergySettings(initial_level=0.3, recharge_per_minute=0.05), now=clock)
    reserve.level()
    clock.now += 7
    entry = reserve.set(0.7)
    assert reserve.level() == entry.level == 0.7
    assert (entry.reason, entry.by, entry.amount) == ("set", "owner", pytest.approx(0.7 - 0.3 - 7 / 1200))
    assert reserve.set(0, by="a test").by == "a test"
    assert reserve.level() == 0


def test_the_owner_tops_up_and_not_above_full(state, clock):
    reserve = EnergyReserve(state, EnergySettings(initial_level=0.5, recharge_per_minute=0.05), now=clock)
    assert reserve.top_up(0.2).amount == 0.2
    assert reserve.level() == 0.7
    entry = reserve.top_up(0.9)
    assert (entry.reason, entry.level, entry.amount) == ("top-up", 1, pytest.approx(0.3))


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), float("inf"), float("-inf")])
def test_what_is_no_level_is_neither_set_nor_added(state, clock, value):
    reserve = EnergyReserve(state, EnergySettings(initial_level=0.5, recharge_per_minute=0.05), now=clock)
    with pytest.raises(ValueError, match="from 0 to 1"):
        reserve.set(value)
    with pytest.raises(ValueError, match="above 0 and up to 1"):
        reserve.top_up(value)
    with pytest.raises(ValueError, match="above 0"):
        reserve.top_up(0)
    assert reserve.level() == 0.5


async def test_two_reserves_of_one_home_see_each_other(state, clock):
    one = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    other = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    for reserve in (one, other, one, other):
        await reserve.take(NETWORK)
    assert one.level() == other.level() == pytest.approx(0.4)
    other.set(0.9)
    assert one.level() == 0.9
    assert [entry.seq for entry in one.entries()] == [1, 2, 3, 4, 5, 6]


def test_what_the_owner_decides_is_on_disk_before_the_owner_is_told(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    for decide in (lambda: reserve.set(0.5), lambda: reserve.top_up(0.1)):
        with calls_to(os.fsync) as flushes:
            decide()
        assert "flush_file" in flushes
        assert json.loads((state / "energy.json").read_bytes())["level"] == reserve.level()


async def test_a_run_waits_for_no_disk(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock, flusher=Flusher(10))
    with calls_to(os.fsync) as flushes:
        taken = await reserve.take(ISOLATED)
        await reserve.settle(taken, 0.01)
    assert flushes == []


async def test_the_flusher_brings_ledger_and_snapshot_to_disk(state, clock):
    flusher = Flusher(10)
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock, flusher=flusher)
    await reserve.take(ISOLATED)
    await reserve.take(ISOLATED)
    with calls_to(os.fsync) as flushes:
        flusher.flush()
    assert flushes == ["flush_file", "flush_folder"], "the ledger, and once its name"
    await reserve.take(ISOLATED)
    with calls_to(os.fsync) as flushes:
        flusher.flush()
    assert flushes == ["flush_file"]
    snapshot = json.loads((state / "energy.json").read_bytes())
    del snapshot["terms"]
    assert snapshot == {"level": pytest.approx(0.85), "at": clock.now, "seq": 4, "format": 1}


async def test_closing_leaves_a_snapshot_and_no_open_file(state, clock, nothing_left):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    await reserve.take(ISOLATED)
    reserve.close()
    assert json.loads((state / "energy.json").read_bytes())["level"] == 0.95


def test_closing_what_was_never_used_writes_nothing(state, clock):
    EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock).close()
    assert list(state.iterdir()) == []


async def test_everything_is_for_the_owner_alone(state, clock):
    old = os.umask(0)
    try:
        reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
        await reserve.take(ISOLATED)
        reserve.close()
    finally:
        os.umask(old)
    assert state.stat().st_mode & 0o777 == 0o700
    names = {"energy.json", "energy.lock", "energy-ledger.jsonl"}
    assert {path.name: path.stat().st_mode & 0o777 for path in state.iterdir()} == dict.fromkeys(names, 0o600)


async def test_on_change_is_told_of_what_was_spent_and_repaired_when_the_lock_is_free_again(state, clock):
    told: list[Entry] = []

    def note(entry: Entry) -> None:
        if entry.by is None:
            assert other.try_take()
            other.release()
        told.append(entry)

    other = FileLock(state / "energy.lock")
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock, on_change=note)
    await reserve.settle(await reserve.take(ISOLATED), 0.01)
    reserve.set(0.2)
    clock.now -= 100
    await reserve.take(NETWORK)
    assert [entry.reason for entry in told] == ["initial", "execution", "settled", "set", "clock"]
    assert told == reserve.entries()


def test_what_an_owner_decides_is_told_before_it_is_done_and_what_cannot_be_told_is_not_done(state, clock):
    told: list[tuple[str, list[str]]] = []

    def note(entry: Entry) -> None:
        told.append((entry.reason, [entry.reason for entry in reserve.entries()]))
        if entry.reason == "top-up":
            raise RuntimeError("no room for it")

    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock, on_change=note)
    reserve.set(0.2)
    with (state / "energy-ledger.jsonl").open("ab") as file:
        file.write(b'{"seq":3,"at')
    with pytest.raises(RuntimeError, match="no room for it"):
        reserve.top_up(0.7)
    whole = ["initial", "set", "recovered"]
    assert told == [("initial", whole[:1]), ("set", whole[:1]), ("recovered", whole), ("top-up", whole)]
    assert (reserve.level(), [entry.reason for entry in reserve.entries()]) == (0.2, whole)


def test_who_only_looks_writes_nothing(state, clock):
    EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock).set(0.2)
    (state / "energy.json").unlink()
    (state / "energy.lock").unlink()
    before = {path: path.stat().st_mtime_ns for path in (state, *state.iterdir())}
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    assert (reserve.level(), len(reserve.entries())) == (0.2, 2)
    reserve.close()
    assert {path: path.stat().st_mtime_ns for path in (state, *state.iterdir())} == before


async def test_texts_are_bounded_and_stay_on_one_line(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    await reserve.take(ISOLATED, turn="x" * 10_000, code_hash="a\nb\x00\x1b[2J", reason="\ud800\u2028")
    entry = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock).entries(1)[0]
    assert (entry.turn, entry.code_hash, entry.reason) == ("x" * 200, "a\nb\x00\x1b[2J", "\ufffd\u2028")
    assert len(ledger(state)) == 2


async def test_entries_are_the_newest_and_the_oldest_of_them_comes_first(state, clock):
    reserve = EnergyReserve(state, EnergySettings(cost_isolated=0.0001), now=clock)
    assert reserve.entries() == []
    for number in range(400):
        await reserve.take(ISOLATED, turn=f"turn {number}" + "·" * 50)
    assert [entry.seq for entry in reserve.entries(3)] == [399, 400, 401]
    assert [entry.seq for entry in reserve.entries(350)] == list(range(52, 402))
    assert len(reserve.entries(10_000)) == 401
    assert len(reserve.entries()) == 20
    assert reserve.entries(0) == reserve.entries(-1) == []


async def test_a_full_disk_refuses_and_leaves_the_ledger_whole(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    taken = await reserve.take(ISOLATED)
    before = (state / "energy-ledger.jsonl").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))
    try:
        with pytest.raises(EnergyError, match=r'Cannot use the energy in ".*state": File too large'):
            await reserve.take(ISOLATED)
        with pytest.raises(EnergyError):
            await reserve.settle(taken, 0)
        with pytest.raises(EnergyError):
            reserve.set(0.1)
        assert (state / "energy-ledger.jsonl").read_bytes() == before
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert reserve.level() == 0.95
    assert await reserve.settle(taken, 0) == 1


async def test_a_home_that_is_gone_gives_no_energy(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    await reserve.take(ISOLATED)
    for path in state.iterdir():
        path.unlink()
    state.rmdir()
    with pytest.raises(EnergyError, match="No such file"):
        await reserve.take(ISOLATED)
    with pytest.raises(EnergyError):
        reserve.level()
    reserve.close()


def test_a_home_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnergyError, match="Not a directory"):
        EnergyReserve(tmp_path / "file" / "state", EnergySettings(recharge_per_minute=0.05))


async def test_who_waits_for_the_lock_lets_others_work_and_then_gets_it(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    other = FileLock(state / "energy.lock")
    assert other.try_take()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reserve.take, ISOLATED)
        await anyio.wait_all_tasks_blocked()
        assert not (state / "energy-ledger.jsonl").exists()
        other.release()
    assert reserve.level() == 0.95


async def test_a_lock_that_is_held_for_too_long_is_said_and_takes_nothing(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock, lock_timeout_s=0.02)
    level = reserve.level()
    other = FileLock(state / "energy.lock")
    assert other.try_take()
    complaint = r'Cannot use the energy: another process has held ".*energy.lock" for 0.02 s; .*continue or end it'
    with pytest.raises(EnergyBusy, match=complaint):
        await reserve.take(ISOLATED)
    with pytest.raises(EnergyBusy, match=complaint):
        reserve.set(0.1)
    assert reserve.level() == level
    other.release()
    assert isinstance(await reserve.take(ISOLATED), Reservation)


async def test_a_turn_that_is_cancelled_while_it_waits_has_taken_nothing(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=clock)
    other = FileLock(state / "energy.lock")
    assert other.try_take()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reserve.take, ISOLATED)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    other.release()
    assert reserve.level() == 1
    assert isinstance(await reserve.take(ISOLATED), Reservation)


async def test_many_tasks_at_once_take_no_more_than_there_is(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0), now=clock)
    answers: list[Reservation | Insufficient] = []

    async def one() -> None:
        answers.append(await reserve.take(ISOLATED))

    async with anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(one)
    assert sum(isinstance(answer, Reservation) for answer in answers) == 18
    assert reserve.level() == pytest.approx(0.1)


async def test_threads_of_one_process_take_no_more_than_there_is(state, clock):
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0), now=clock)

    def all_that_there_is() -> int:
        async def take() -> int:
            granted = 0
            while isinstance(await reserve.take(ISOLATED), Reservation):
                granted += 1
            return granted

        return anyio.run(take)

    granted: list[int] = []

    async def thread() -> None:
        granted.append(await anyio.to_thread.run_sync(all_that_there_is))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(thread)
    assert sum(granted) == 18
    assert [entry.seq for entry in reserve.entries(50)] == list(range(1, 20))


def test_the_terms_of_a_program_stand_in_its_first_entry_and_in_the_snapshot(state, clock):
    settings = EnergySettings(recharge_per_minute=0.5, cost_network=0.2)
    reserve = EnergyReserve(state, settings, now=clock)
    assert terms_in(state) is None
    for _ in range(2):
        anyio.run(reserve.take, ISOLATED)
    reserve.close()
    first, *others = [entry for entry in ledger(state) if entry["reason"] == "execution"]
    assert first["terms"] == terms_of(settings).model_dump()
    assert all("terms" not in entry for entry in others)
    assert json.loads((state / "energy.json").read_bytes())["terms"] == first["terms"]
    assert on_terms(EnergySettings(), terms_in(state)).recharge_per_minute == 0.5
    # The owner sets the level from a shell that has other settings.
    owner = EnergyReserve(state, EnergySettings(recharge_per_minute=0.1), now=clock)
    owner.set(0.4)
    owner.close()
    assert terms_in(state) == terms_of(settings)
    other = EnergyReserve(state, EnergySettings(recharge_per_minute=0.1), now=clock)
    anyio.run(other.take, ISOLATED)
    other.close()
    assert terms_in(state).recharge_per_minute == 0.1


@pytest.mark.parametrize("terms", ["null", "3", '{"recharge_per_minute": -1}', '{"recharge_per_minute": 1e400}', "[]"])
def test_terms_that_are_damaged_are_no_terms(state, clock, terms):
    reserve = EnergyReserve(state, EnergySettings(), now=clock)
    anyio.run(reserve.take, ISOLATED)
    reserve.close()
    level = reserve.level()
    (state / "energy.json").write_text(f'{{"level": 0.5, "terms": {terms}}}')
    assert terms_in(state) is None
    assert reserve.level() == level
