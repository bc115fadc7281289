"""Which programs are open on a home and what they run: by real programs, also killed ones, and by files of others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

import anyio
import pytest

from cortex.commands import run_command
from cortex.contracts import ExecutionStarted, Refused, RunCode, RunCodeIntent, Trace
from cortex.runs import OpenProgramFile, open_programs, program_files
from cortex.runs.program_files import MAX_FILE_BYTES
from sandbox import Tier, identity_of
from tests.cortex.runs.support import NOON, keeping_cortex

MAIL = "ada@corp.example"
AGENT = """
import sys, anyio
from cortex import MotorCortex, Settings

async def main():
    async with MotorCortex(Settings(home=sys.argv[1], neurons={"owner": {"console": False}})) as cortex:
        async with cortex.turn() as turn:
            await turn.call("core.execute", {"purpose": "wait for ada@corp.example", "code": "await new Promise(() => setTimeout(() => {}, 60000))"})

anyio.run(main)
"""


async def until(found, seconds: float = 20.0):
    """What `found` returns, once it is true."""
    with anyio.fail_after(seconds):
        while not (value := found()):
            await anyio.sleep(0.02)
    return value


@pytest.mark.deno
async def test_a_program_is_in_the_home_while_it_is_open_with_the_runs_that_last(tmp_path):
    folder = tmp_path / "state" / "open"
    energy = {"recharge_per_minute": 7.5}
    async with keeping_cortex(tmp_path, energy=energy) as cortex:
        [program] = open_programs(folder)
        own = identity_of(os.getpid())
        assert (program.pid, program.started, program.state) == (os.getpid(), own.started, "open")
        assert program.program == os.path.basename(sys.argv[0])
        assert program.energy["recharge_per_minute"] == 7.5
        assert program.wall == cortex.wall.level
        assert program.version
        async with cortex.turn() as turn, anyio.create_task_group() as tasks:
            code = "await new Promise((done) => setTimeout(done, 60_000))"
            given = {"purpose": f"wait for {MAIL}", "code": code}
            tasks.start_soon(turn.call, "core.execute", given)
            [run] = await until(lambda: open_programs(folder)[0].runs)
            assert (run.id, run.tier, run.purpose) == (f"{turn.id}-1", "isolated", "wait for [EMAIL_1]")
            tasks.cancel_scope.cancel()
        await until(lambda: not open_programs(folder)[0].runs)
        assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]
    assert list(folder.iterdir()) == []


async def test_a_program_that_ends_by_itself_leaves_no_file_however_long_it_takes_to_close(tmp_path, monkeypatch):
    monkeypatch.setattr(program_files, "LOOK_S", 0.001)
    monkeypatch.setattr(program_files, "LEAST_S", 0.0)
    cortex = keeping_cortex(tmp_path, [])
    folder = tmp_path / "state" / "open"
    code = RunCode(purpose="p", code="return 1", tier=Tier.ISOLATED, timeout=1_000)

    async def closing_for_long() -> None:
        # What is under way changes while the cortex closes: the file is written anew.
        cortex._program.hear(ExecutionStarted(RunCodeIntent(payload=code, trace=Trace(turn="t", call=1)), 1.0, 1.0))
        await until(lambda: open_programs(folder)[0].runs)

    monkeypatch.setattr(cortex._discovery, "aclose", closing_for_long)
    async with cortex:
        assert [program.state for program in open_programs(folder)] == ["open"]
    assert list(folder.iterdir()) == []


async def test_a_run_that_is_over_soon_costs_no_write(tmp_path, monkeypatch):
    monkeypatch.setattr(program_files, "LOOK_S", 0.001)
    monkeypatch.setattr(program_files, "LEAST_S", 3_600.0)
    own = OpenProgramFile(tmp_path, dict)
    own.begin()
    [path] = tmp_path.iterdir()
    code = RunCode(purpose="p", code="return 1", tier=Tier.ISOLATED, timeout=1_000)
    intents = [RunCodeIntent(payload=code, trace=Trace(turn="t", call=number)) for number in range(1, 101)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(own.keep)
        written = path.stat().st_mtime_ns
        for intent in intents:
            own.hear(ExecutionStarted(intent, 1.0, 1.0))
            await anyio.sleep(0.001)
        assert path.stat().st_mtime_ns == written
        for intent in intents[:20]:
            own.hear(Refused("core.execute", "no place", intent))
        # Once they have taken long enough they are told, and no more of them than fit.
        monkeypatch.setattr(program_files, "LEAST_S", 0.0)
        await until(lambda: open_programs(tmp_path)[0].runs)
        [program] = open_programs(tmp_path)
        assert [run.id for run in program.runs] == [f"t-{number}" for number in range(21, 85)]
        assert program.runs_left_out == 16
        tasks.cancel_scope.cancel()


@pytest.mark.deno
async def test_a_program_that_was_killed_is_found_to_be_gone_with_what_it_ran(tmp_path, capsys):
    folder = tmp_path / "state" / "open"
    agent = subprocess.Popen([sys.executable, "-c", AGENT, str(tmp_path)])
    try:
        [run] = await until(lambda: [run for program in open_programs(folder) for run in program.runs])
        assert [program.state for program in open_programs(folder)] == ["open"]
        assert MAIL not in b"".join(path.read_bytes() for path in folder.iterdir()).decode()
        agent.send_signal(signal.SIGKILL)
        agent.wait(20)
        [program] = open_programs(folder)
        assert (program.state, program.runs) == ("gone", (run,))
        assert run_command(["runs", "open", "--home", str(tmp_path)]) == 0
        told = capsys.readouterr().out
        assert "gone without closing the home: killed, or crashed" in told
        assert "was running since" in told
        assert run.id in told
    finally:
        with suppress(ProcessLookupError):
            agent.kill()


def facts(**more):
    own = identity_of(os.getpid())
    return {"format": 1, **own._asdict(), "at": NOON, **more}


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, "open"),
        ({"started": 1}, "gone"),
        ({"pid": 2**22 + 1}, "gone"),
        ({"boot": "another"}, "gone"),
        ({"namespace": "another"}, "unknown"),
        ({"started": None}, "unknown"),
    ],
    ids=range(6),
)
def test_a_process_of_the_same_pid_is_not_taken_for_the_program(tmp_path, more, state):
    (tmp_path / "1.json").write_text(json.dumps(facts(**more)))
    assert [program.state for program in open_programs(tmp_path)] == [state]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"\xff",
        b"[" * 100_000,
        json.dumps(facts(format=2)).encode(),
        json.dumps(facts(program="x" * 201)).encode(),
        json.dumps(facts(runs=[{"id": "a", "at": 1}] * 65)).encode(),
        json.dumps(facts(energy={"x": "y" * MAX_FILE_BYTES})).encode(),
    ],
    ids=range(8),
)
def test_a_damaged_or_too_large_file_is_left_out_and_costs_no_other(tmp_path, data):
    (tmp_path / "1.json").write_bytes(data)
    (tmp_path / "2.json").write_text(json.dumps(facts()))
    (tmp_path / "3.json").mkdir()
    assert len(open_programs(tmp_path)) == 1


def test_what_long_gone_programs_left_is_deleted_by_the_next_one(tmp_path):
    for number in range(80):
        (tmp_path / f"{number}.json").write_text(json.dumps(facts(started=1, at=NOON + number)))
    (tmp_path / "other.json").write_text(json.dumps(facts(namespace="another")))
    os.utime(tmp_path / "79.json", (1, 1))
    own = OpenProgramFile(tmp_path, lambda: {"version": "1", "energy": {}, "wall": "full"})
    own.begin()
    left = open_programs(tmp_path)
    assert len([program for program in left if program.state == "gone"]) == 49
    assert len([program for program in left if program.state == "unknown"]) == 1
    own.end()
    assert len(open_programs(tmp_path)) == 50


def test_a_folder_that_cannot_be_written_to_stops_no_program(tmp_path):
    (tmp_path / "open").write_text("no folder")
    own = OpenProgramFile(tmp_path / "open", dict)
    own.begin()
    own.end()
    assert open_programs(tmp_path / "open") == []
