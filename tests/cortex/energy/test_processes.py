"""Several processes on one home, and processes that are killed: real ones, at any moment."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from cortex.energy import EnergyReserve, Entry, Insufficient, Reservation, weigh
from cortex.settings.sections import EnergySettings
from sandbox import Tier

# Only what hangs takes so long, on a slow machine too.
BOUND_S = 120
NOW = 1_800_000_000.0
SMALL = {
    "cost_isolated": 0.0005,
    "floor_isolated": 0.1,
    "cost_network": 0.002,
    "floor_network": 0.3,
    "recharge_per_minute": 0,
}


class Nursery:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cortex.energy.child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def order(self, do: str, **details: Any) -> int:
        self.process.stdin.write(json.dumps({"do": do, **details}).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ended(self, pid: int) -> int:
        return self.order("wait", pid=pid)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(BOUND_S)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def entries_of(state: Path) -> list[Entry]:
    """All of them, as strictly as the file can be read: each line whole, and each following from the one before."""
    data = (state / "energy-ledger.jsonl").read_bytes()
    assert data.endswith(b"\n")
    entries = [Entry.model_validate_json(line) for line in data.split(b"\n")[:-1]]
    for before, entry in pairwise(entries):
        assert entry.seq == before.seq + 1
        assert entry.level == pytest.approx(before.level + entry.recharged + entry.amount, abs=1e-12)
        assert 0 <= entry.level <= 1
    return entries


def receipts_of(path: Path) -> list[tuple[int, float, float]]:
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [tuple(json.loads(line)) for line in lines]


def wait_until(is_so: Callable[[], bool]) -> None:
    give_up = time.monotonic() + BOUND_S
    while not is_so():
        assert time.monotonic() < give_up
        os.sched_yield()


def is_longer(path: Path, size: int) -> bool:
    return path.exists() and path.stat().st_size > size


def all_longer(paths: list[Path], sizes: list[int]) -> bool:
    return all(map(is_longer, paths, sizes))


@pytest.mark.parametrize("settles", [0, 0.5])
def test_processes_that_race_never_spend_the_same_energy(nursery, state, tmp_path, settles):
    papers = [tmp_path / f"receipts-{number}" for number in range(5)]
    order = {"state": str(state), "settings": SMALL, "settles": settles, "start": str(tmp_path / "start")}
    racers = [nursery.order("spend", seed=number, receipts=str(paper), **order) for number, paper in enumerate(papers)]
    wait_until(lambda: all(paper.exists() for paper in papers))
    (tmp_path / "start").touch()
    assert [nursery.ended(pid) for pid in racers] == [0] * 5

    receipts = [receipt for paper in papers for receipt in receipts_of(paper)]
    entries = entries_of(state)
    granted = {entry.seq: entry for entry in entries if entry.reason == "execution"}
    assert sorted(seq for seq, _, _ in receipts) == sorted(granted)
    assert len({entry.turn for entry in granted.values()}) > 1, "they did race"
    settings = EnergySettings.model_validate(SMALL)
    assert entries[-1].level == pytest.approx(1 - sum(settled for _, _, settled in receipts), abs=1e-9)
    for entry in granted.values():
        before = entries[entry.seq - 2].level
        assert not isinstance(weigh(before, entry.tier, settings), Insufficient), "nothing was granted below a floor"


def test_the_snapshot_is_of_the_newest_entry_though_its_writer_was_overtaken(nursery, state):
    pid = nursery.order("pause", state=str(state), settings=SMALL, level=0.7, before="replace")
    wait_until(lambda: ") T " in Path(f"/proc/{pid}/stat").read_text())
    EnergyReserve(state, EnergySettings.model_validate(SMALL), now=lambda: NOW).set(0.3)
    os.kill(pid, signal.SIGCONT)
    assert nursery.ended(pid) == 0
    assert [entry.level for entry in entries_of(state)] == [1, 0.7, 0.3]
    assert json.loads((state / "energy.json").read_bytes())["level"] == 0.3


def test_a_process_that_is_killed_loses_nothing_and_gives_nothing_away(nursery, state, tmp_path):
    chance = random.Random()
    settings = {**SMALL, "cost_isolated": 1e-6, "cost_network": 3e-6, "floor_network": 0.1}
    killed = 0
    for number in range(15):
        paper = tmp_path / f"receipts-{number}"
        pid = nursery.order("spend", state=str(state), settings=settings, seed=number, settles=0.3, receipts=str(paper))
        wait_until(partial(is_longer, paper, chance.randrange(6_000)))
        os.kill(pid, signal.SIGKILL)
        killed += nursery.ended(pid) == -signal.SIGKILL

        reserve = EnergyReserve(state, EnergySettings.model_validate(settings), now=lambda: NOW)
        assert isinstance(anyio.run(reserve.take, Tier.ISOLATED), Reservation)
        entries = {entry.seq: entry for entry in entries_of(state)}
        for seq, cost, _ in receipts_of(paper):
            assert (entries[seq].reason, entries[seq].turn, entries[seq].amount) == ("execution", str(pid), -cost)
    assert killed == 15


def test_those_who_go_on_are_not_disturbed_by_those_who_are_killed(nursery, state, tmp_path):
    settings = {**SMALL, "cost_isolated": 1e-6, "cost_network": 1e-6, "floor_network": 0.1}
    papers = [tmp_path / f"receipts-{number}" for number in range(4)]
    pids = [
        nursery.order("spend", state=str(state), settings=settings, seed=number, receipts=str(paper))
        for number, paper in enumerate(papers)
    ]
    for victim in range(4):
        survivors = papers[victim:]
        sizes = [paper.stat().st_size if paper.exists() else 0 for paper in survivors]
        wait_until(partial(all_longer, survivors, sizes))
        os.kill(pids[victim], signal.SIGKILL)
        assert nursery.ended(pids[victim]) == -signal.SIGKILL
    entries = {entry.seq: entry for entry in entries_of(state)}
    for seq, cost, _ in (receipt for paper in papers for receipt in receipts_of(paper)):
        assert entries[seq].amount == -cost


def new_home(state: Path) -> None:
    state.mkdir(mode=0o700)


def used_home(state: Path) -> None:
    reserve = EnergyReserve(state, EnergySettings.model_validate(SMALL), now=lambda: NOW)
    reserve.set(0.6)
    reserve.close()


def torn_ledger(state: Path) -> None:
    used_home(state)
    with (state / "energy-ledger.jsonl").open("ab") as file:
        file.write(b'{"seq":3,"a')


def damaged_ledger(state: Path) -> None:
    used_home(state)
    with (state / "energy-ledger.jsonl").open("ab") as file:
        file.write(b"damaged\n")


def only_a_damaged_ledger(state: Path) -> None:
    new_home(state)
    (state / "energy-ledger.jsonl").write_bytes(b"damaged\n")


def both_damaged(state: Path) -> None:
    only_a_damaged_ledger(state)
    (state / "energy.json").write_bytes(b"damaged")


def only_a_snapshot(state: Path) -> None:
    new_home(state)
    (state / "energy.json").write_bytes(b'{"level": 0.6}')


def only_a_damaged_snapshot(state: Path) -> None:
    new_home(state)
    (state / "energy.json").write_bytes(b"damaged")


@pytest.mark.parametrize(
    ("make", "step", "levels"),
    [
        (new_home, "look", {1.0}),
        (new_home, "take", {1.0, 0.9995}),
        (used_home, "take", {0.6, 0.5995}),
        (used_home, "set", {0.6, 0.5}),
        (torn_ledger, "take", {0.6, 0.5995}),
        (damaged_ledger, "look", {0.6}),
        (only_a_damaged_ledger, "look", {0.0}),
        (both_damaged, "look", {0.0}),
        (only_a_snapshot, "look", {0.6}),
        (only_a_damaged_snapshot, "look", {0.0}),
    ],
)
def test_killed_before_any_call_of_the_system_the_level_is_the_old_or_the_new_one(
    nursery, tmp_path, make, step, levels
):
    seen = set()
    make(tmp_path / "made")
    for calls in range(200):
        state = tmp_path / str(calls)
        shutil.copytree(tmp_path / "made", state)
        evidence = {data for path in state.iterdir() if b"damaged" in (data := path.read_bytes())}
        status = nursery.ended(nursery.order("step", step=step, state=str(state), settings=SMALL, calls=calls))
        seen.add(EnergyReserve(state, EnergySettings.model_validate(SMALL), now=lambda: NOW).level())
        assert seen <= levels
        entries_of(state)
        assert evidence <= {path.read_bytes() for path in state.glob("*.damaged-*")}, "what was damaged is still there"
        if status == 0:
            break
        assert status == -signal.SIGKILL
    assert (status, calls > 3) == (0, True)
    assert seen == levels, "it was killed on both sides of the change"
