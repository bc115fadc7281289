"""What becomes of the jobs of a process that is gone: energy settled exactly once, and their end told exactly once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from cortex.energy import EnergyBusy
from cortex.jobs import settle_left
from neurons import Signal
from tests.cortex.jobs.support import Patient, begin, cortex, look, until_ended


def killed_host(home: Path, what: str) -> list[str]:
    """Run a host until it kills itself; returns the handles that it told."""
    command = [sys.executable, "-m", "tests.cortex.jobs.host", str(home), what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return done.stdout.split()


async def test_a_host_killed_between_the_settling_and_the_mark_gives_energy_back_once(tmp_path: Path):
    running, *waiting = await anyio.to_thread.run_sync(killed_host, tmp_path, "cancel")
    for _ in range(2):
        async with cortex(tmp_path, Patient()) as place:
            assert place.energy.level() == pytest.approx(0.95)  # what waited came back, each once
            assert {record.state for record in place.jobs.list()} == {"cut_short"}
            assert "nothing ran, and its energy was given back" in await look(place, waiting[0], "c")
            settled = [entry.of for entry in place.energy.entries(100) if entry.reason == "settled"]
            assert len(settled) == len({*settled}) == 2
    assert running


async def test_a_start_killed_between_the_settling_and_the_mark_gives_energy_back_once(tmp_path: Path):
    await anyio.to_thread.run_sync(killed_host, tmp_path, "die")
    for _ in range(3):  # each is killed at the mark of the first job that had not begun
        await anyio.to_thread.run_sync(killed_host, tmp_path, "settle")
    async with cortex(tmp_path, Patient()) as place:
        assert place.energy.level() == pytest.approx(0.95)
        assert {record.state for record in place.jobs.list()} == {"cut_short"}


async def test_energy_that_cannot_be_given_back_now_is_given_back_by_the_next_start(tmp_path: Path, monkeypatch):
    await anyio.to_thread.run_sync(killed_host, tmp_path, "die")
    from cortex.energy import EnergyReserve

    async def busy(*_: object) -> float:
        raise EnergyBusy("another process holds it")

    with monkeypatch.context() as patch:
        patch.setattr(EnergyReserve, "settle", busy)
        async with cortex(tmp_path, Patient()) as place:
            assert [record.state for record in place.jobs.list()].count("waiting") == 2
    async with cortex(tmp_path, Patient()) as place:
        assert place.energy.level() == pytest.approx(0.95)
        assert [record.state for record in place.jobs.list()].count("cut_short") == 3


async def test_a_record_that_names_energy_of_another_run_is_given_nothing(tmp_path: Path):
    """A record is a file in the home; a mistaken one must not make energy."""
    async with cortex(tmp_path, Patient(opened=True)) as place, place.turn() as turn:
        await until_ended(place, await begin(turn))
        [record] = place.jobs.list()
        from dataclasses import replace

        for wrong in (record.reservation - 1, record.reservation + 1, 0, 10**9):
            place.jobs._records.write(replace(record, state="waiting", reservation=wrong, reply=None))
            await settle_left(place.jobs._records, place.energy)
            assert place.energy.level() == pytest.approx(0.95)


async def test_an_ended_job_is_told_once_without_a_wake_and_not_again_after_restarts(tmp_path: Path, monkeypatch):
    from cortex import MotorCortex

    told: list[Signal] = []
    job_ended = MotorCortex._job_ended
    monkeypatch.setattr(
        MotorCortex, "_job_ended", lambda self, signal: (told.append(signal), job_ended(self, signal))[1]
    )
    runtime = Patient(opened=True)
    async with cortex(tmp_path, runtime) as place, place.turn() as turn:
        handle = await begin(turn)
        await until_ended(place, handle)
        with anyio.fail_after(30):
            while not told:
                await anyio.sleep(0.01)
        assert [record.is_told for record in place.jobs.list()] == [True]
    for _ in range(2):
        async with cortex(tmp_path, runtime):
            await anyio.sleep(0.05)
    assert [signal.data["job"] for signal in told] == [handle]


async def test_jobs_that_were_cut_short_are_told_once_by_the_next_process_and_by_no_later_one(tmp_path: Path):
    handles = await anyio.to_thread.run_sync(killed_host, tmp_path, "die")
    told: list[str] = []

    async def wake(signal: Signal) -> None:
        told.append(signal.data["job"])

    for _ in range(3):
        async with cortex(tmp_path, Patient(), wake=wake) as place:
            with anyio.fail_after(30):
                while len(told) < 3:
                    await anyio.sleep(0.01)
            assert all(record.is_told for record in place.jobs.list())
    assert sorted(told) == sorted(handles)
