"""`cortex jobs` as the owner finds it, also while another process runs the jobs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cortex.commands import jobs as command, run_command
from cortex.home import Home, HomeFiles
from cortex.jobs import JobRecord, JobRecords
from tests.cortex.jobs.test_left_behind import killed_host

NOW = 1_800_000_000.0
MAIL = "ada@corp.example"


def job(digit: str, purpose: str = "a sum", **more: object) -> JobRecord:
    return JobRecord(f"job-{digit * 32}", "", purpose, "isolated", 0.05, "c0de" * 16, NOW, **more)


def records_of(home: Path) -> JobRecords:
    return JobRecords(HomeFiles(Home(home)).storage(), lambda: NOW)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    records = records_of(tmp_path)
    records.write(job("a").ended("done", json.dumps({"mail": MAIL, "esc": "\x1b[2J"}), NOW, ok=True))
    records.write(replace(job("b", f"write\n\x1b[2J to {MAIL}"), state="running"))
    records.close()
    return tmp_path


@pytest.fixture
def cortex(home, capsys):
    def run(*arguments: str, code: int = 0, at: Path = home) -> str:
        assert run_command(["jobs", *arguments, "--home", str(at)]) == code
        told = capsys.readouterr()
        return told.err if code else told.out

    return run


@pytest.fixture
def host(tmp_path: Path) -> Iterator[tuple[Path, list[str], int]]:
    """Another process, with one job that runs and two that wait."""
    place = tmp_path / "busy"
    line = [sys.executable, "-m", "tests.cortex.jobs.host", str(place), "wait"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield place, process.stdout.readline().split(), process.pid
        finally:
            process.kill()


def test_the_list_says_how_each_job_stands_without_secrets_and_control_of_the_terminal(cortex):
    head, *rows = cortex().splitlines()
    assert head.split() == ["job", "state", "tier", "energy", "since", "purpose"]
    assert [row.split()[:4] for row in rows] == [
        ["job-aaaaaaaa", "done", "isolated", "0.05"],
        ["job-bbbbbbbb", "left", "isolated", "0.05"],  # no process runs it
    ]
    assert MAIL not in "".join(rows)
    assert "\x1b" not in "".join(rows)


def test_programs_get_the_list_as_json(cortex):
    done, left = json.loads(cortex("--json"))
    assert (done["job"], done["state"], done["is_left"], done["ended_at"]) == ("job-" + "a" * 32, "done", False, NOW)
    assert (left["state"], left["is_left"], left["reserved"], left["is_told"]) == ("running", True, 0.05, False)
    assert MAIL not in json.dumps(left)


@pytest.mark.parametrize("name", ["job-" + "a" * 32, "job-aaaaaa", "aaaaaa"])
def test_one_job_is_shown_with_its_reply_redacted(cortex, name):
    shown = cortex("show", name)
    assert "done" in shown
    assert "0.05 energy was reserved" in shown
    assert "0.05 energy reserved" in cortex("show", "bbbbbb")
    assert MAIL not in shown
    assert "\x1b" not in shown
    assert "[EMAIL_1]" in shown
    assert "[EMAIL_1]" in json.loads(cortex("show", name, "--json"))["reply"]


@pytest.mark.parametrize(
    "name", ["job-", "a" * 5, "job-../../energy", "../jobs/" + "a" * 32, "job-" + "c" * 32, "\x1b[2J" + "x" * 9_999, ""]
)
@pytest.mark.parametrize("action", ["show", "cancel"])
def test_what_names_no_job_is_a_mistake_and_changes_nothing(cortex, home, action, name):
    before = sorted(path.read_bytes() for path in (home / "state" / "jobs").glob("*.json"))
    told = cortex(action, name, code=2)
    assert told.startswith("cortex jobs: ")
    assert len(told) < 300
    assert "\x1b" not in told
    assert sorted(path.read_bytes() for path in (home / "state" / "jobs").glob("*.json")) == before


def test_a_beginning_of_several_handles_names_none(cortex, home):
    records_of(home).write(JobRecord("job-" + "a" * 31 + "0", "", "", "isolated", 0.05, "", NOW))
    assert "several jobs" in cortex("show", "aaaaaa", code=2)


def test_clearing_deletes_what_has_ended_and_is_recorded(cortex, home):
    assert cortex("clear") == "1 ended job cleared\n"
    assert [each["job"] for each in json.loads(cortex("--json"))] == ["job-" + "b" * 32]
    assert json.loads(cortex("clear", "--json")) == {"cleared": []}
    assert b'"what":"jobs clear","by":"owner"' in audit_of(home)


def audit_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (home / "audit").glob("*.jsonl"))


def test_what_cannot_be_recorded_is_not_done(cortex, home, monkeypatch):
    from cortex.audit import Audit, AuditError

    def refuse(*_: object, **__: object) -> None:
        raise AuditError("the disk is full")

    monkeypatch.setattr(Audit, "record", refuse)
    for words in (("clear",), ("cancel", "bbbbbb")):
        assert "nothing was done, because it could not be recorded" in cortex(*words, code=3)
    assert [each["state"] for each in json.loads(cortex("--json"))] == ["done", "running"]


def test_a_job_that_has_ended_is_not_cancelled(cortex):
    assert "has ended already: done" in cortex("cancel", "aaaaaa", code=3)


def test_a_job_of_another_process_is_cancelled_while_that_process_runs(cortex, host, capsys):
    place, (running, *waiting), _ = host
    listed = json.loads(cortex("--json", at=place))
    assert [(each["state"], each["is_left"]) for each in listed] == [("running", False)] + [("waiting", False)] * 2
    assert energy_of(place, capsys)["jobs"] == {"under_way": 3, "reserved": 0.15}
    assert cortex("cancel", waiting[0], at=place) == f"{waiting[0]}: cancelled\n"
    assert energy_of(place, capsys)["level"] == pytest.approx(0.9)  # it had not begun
    assert json.loads(cortex("cancel", running, "--json", at=place)) == {"job": running, "state": "cancelled"}
    assert "The owner cancelled the job" in cortex("show", running, at=place)
    assert cortex("clear", at=place) == "2 ended jobs cleared\n"
    [left] = json.loads(cortex("--json", at=place))
    assert (left["job"], left["state"]) == (waiting[1], "running")  # its turn has come
    assert energy_of(place, capsys)["level"] == pytest.approx(0.9)
    run_command(["energy", "--home", str(place)])
    assert "0.05 more is reserved for jobs; under way: 1 (cortex jobs)\n" in capsys.readouterr().out
    assert f'"what":"jobs cancel","by":"owner","job":"{running}"'.encode() in audit_of(place)


def energy_of(home: Path, capsys) -> dict:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CORTEX_ENERGY__RECHARGE_PER_MINUTE", "0")
        assert run_command(["energy", "--json", "--home", str(home)]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_host_that_is_stopped_does_not_keep_the_command_waiting_for_ever(cortex, host, monkeypatch):
    place, (running, *_), pid = host
    monkeypatch.setattr(command, "CANCEL_S", 0.5)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert "has not ended in 0.5 s" in cortex("cancel", running, code=3, at=place)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_cancelling_after_the_host_was_killed_settles_what_it_left_once(cortex, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CORTEX_ENERGY__RECHARGE_PER_MINUTE", "0")
    place = tmp_path / "killed"
    running, *waiting = killed_host(place, "die")
    assert json.loads(cortex("--json", at=place))[0]["is_left"]
    assert energy_of(place, capsys)["level"] == pytest.approx(0.85)
    assert cortex("cancel", waiting[1], at=place) == f"{waiting[1]}: cut short\n"
    assert {each["state"] for each in json.loads(cortex("--json", at=place))} == {"cut_short"}
    assert energy_of(place, capsys)["level"] == pytest.approx(0.95)
    assert "has ended already: cut short" in cortex("cancel", running, code=3, at=place)


def test_looking_makes_no_folder(cortex, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert cortex(at=empty) == "There are no jobs\n"
    assert "there are no jobs here" in cortex("clear", code=2, at=empty)
    assert list(empty.iterdir()) == []
