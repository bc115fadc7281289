"""`cortex workflow` in processes and terminals of its own: questions, Ctrl-C, a run that outlives its terminal, and the
kill switch from another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cortex.commands import run_command
from cortex.workflows import RunState, SqliteJournal
from tests.conftest import descendants
from tests.cortex.chat.screen import BOUND_S, CommandScreen
from tests.cortex.commands.test_workflow_command import REPORT, TOOLS
from tests.cortex.workflows.support import code

pytestmark = pytest.mark.deno

_CORTEX = "from cortex.commands import main; main()"
SLOW = "await new Promise((done) => setTimeout(done, 60_000)); return 1"
LONG = {
    "name": "long",
    "tasks": [
        code("first", "return 1"),
        code("slow", SLOW, "first"),
        code("last", "return 3", "slow"),
    ],
}
SETTINGS = """
[sandbox]
pool_size = 1
max_timeout_ms = 120000
[execute]
max_timeout_isolated_ms = 100000
[neurons.habits]
enabled = false
"""


class Place:
    """A home with settings, files of plans and a toolbox."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.home = path / "home"
        (path / "cortex.toml").write_text(SETTINGS)
        (path / "shop_tools.py").write_text(TOOLS)
        self.common = ["--home", str(self.home), "--config", str(path / "cortex.toml")]
        self.tools = ["--tools", f"{path / 'shop_tools.py'}:toolbox"]

    def file(self, plan: Any) -> str:
        path = self.path / "plan.json"
        path.write_text(json.dumps(plan))
        return str(path)

    def cortex(self, *words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-c", _CORTEX, *words, *self.common]
        return subprocess.run(line, capture_output=True, text=True, timeout=BOUND_S, stdin=subprocess.DEVNULL)

    def state(self, run: str = "r1") -> RunState:
        journal = SqliteJournal(self.home / "workflows")
        try:
            return journal.load(run)
        finally:
            journal.close()

    def until(self, run: str, *statuses: str, task: str | None = None) -> RunState:
        """Until the run stands so, and the task has ended."""
        give_up = time.monotonic() + BOUND_S
        while True:
            if (self.home / "workflows" / "journal.sqlite").exists():
                state = self.state(run)
                if state.run.status in statuses and (task is None or task in state.tasks):
                    return state
            assert time.monotonic() < give_up, f"run {run} does not become {statuses}"
            time.sleep(0.05)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class Terminal(CommandScreen):
    """`cortex workflow` in a terminal of its own."""

    def __init__(self, place: Place, *words: str) -> None:
        super().__init__("workflow", *words, *place.common, columns=100)


def test_without_a_terminal_a_run_ends_at_its_question_and_goes_on_when_it_is_answered(place, nothing_left):
    ran = place.cortex("workflow", "run", place.file(REPORT), *place.tools, "--input", "n=4", "--id", "r1")
    assert ran.returncode == 4
    assert 'Plan "report": 5 tasks in 4 layers' in ran.stderr
    assert "Energy: about 0.15" in ran.stderr
    for part in ("one ", "two ", "sum ", "| Is ok right?", "Run r1 waits for the answer", "cortex workflow resume r1"):
        assert part in ran.stderr
    assert ran.stdout == ""
    question = place.state().decisions["ok"]
    told = place.cortex("workflow", "decide", "r1", "ok", "--approve", "--hash", question.shown_hash)
    assert told.returncode == 0
    done = place.cortex("workflow", "resume", "r1", *place.tools, "--json")
    assert done.returncode == 0
    facts = json.loads(done.stdout)
    assert (facts["status"], facts["left"]) == ("done", "ended")
    assert facts["tasks"][-1]["result"] == "sum" * 7
    forked = place.cortex("workflow", "fork", "r1", "--at", "post", "--id", "r2", *place.tools)
    assert (forked.returncode, forked.stdout) == (0, f'post = "{"sum" * 7}"\n')
    assert place.state("r2").tasks["one"] == place.state("r1").tasks["one"]  # not run again


def test_in_a_terminal_the_owner_sees_what_runs_and_is_asked(place):
    with Terminal(place, "run", place.file(REPORT), *place.tools, "--input", "n=4", "--id", "r1") as screen:
        screen.wait_for('Plan "report"')
        screen.wait_for("A workflow asks you (task ok of run r1):")
        screen.wait_for("Enter leaves it for later] ")
        screen.type("\r")
        screen.wait_for("Run r1 waits for the answer")
        assert screen.ended() == 4
        assert "\x1b[1A\x1b[2K" in screen.raw  # lines of tasks that run are updated in place
    assert place.state().run.status == "waiting"
    with Terminal(place, "decide", "r1", "ok") as screen:
        screen.wait_for("Yes, or no?")
        screen.type("y\r")
        assert screen.ended() == 0
    assert place.state().decisions["ok"].said == {"answer": "approve"}
    with Terminal(place, "resume", "r1", *place.tools) as screen:
        assert f'post = "{"sum" * 7}"' in screen.wait_for("post = ") + screen.read_to_end()
        assert screen.ended() == 0


def test_ctrl_c_leaves_the_run_at_its_last_checkpoint_and_says_how_to_go_on(place):
    with Terminal(place, "run", place.file(LONG), "--id", "r1") as screen:
        screen.wait_for("running slow")
        screen.type("\x03")
        screen.wait_for("Run r1 stays at its last checkpoint")
        screen.wait_for("To go on: cortex workflow resume r1")
        assert screen.ended() == 130
    state = place.state()
    assert (state.run.status, state.run.worker) == ("running", "")
    assert {id_: row.status for id_, row in state.tasks.items()} == {"first": "ok"}


def test_a_detached_run_outlives_its_terminal_and_dies_with_the_switch_for_good(place, nothing_left):
    words = ["workflow", "run", place.file(LONG), "--id", "r1", "--detach", "--json"]
    with Terminal(place, *words[1:]) as screen:
        assert '"run": "r1"' in screen.wait_for('"log"')
        assert screen.ended() == 0
    state = place.until("r1", "running", task="first")
    pid = int(state.run.worker.split("-")[-2])
    processes = {pid, *descendants(pid)}
    assert len(processes) > 2
    killed = place.cortex("kill", "--reason", "enough", "--json")
    assert killed.returncode == 0
    assert pid in json.loads(killed.stdout)["processes"]
    assert [each for each in processes if is_alive(each)] == []
    state = place.until("r1", "aborted")
    assert "enough" in state.run.reason
    assert place.cortex("workflow", "run", place.file(LONG)).returncode == 3
    assert run_command(["revive", "--reason", "a test", *place.common]) == 0
    time.sleep(1)  # long enough for something to start by itself, if it did
    assert place.state().run.status == "aborted"
    assert list((place.home / "state" / "running").glob("*.json")) == []


def test_a_kill_from_another_process_ends_a_run_in_a_terminal(place, nothing_left):
    with Terminal(place, "run", place.file(LONG), "--id", "r1") as screen:
        screen.wait_for("running slow")
        sandboxes = set(descendants(screen.process.pid))
        assert sandboxes
        assert place.cortex("kill").returncode == 0
        screen.wait_for("Run r1 was aborted: Kill switch is on")
        assert screen.ended() == 1
        assert [each for each in sandboxes if is_alive(each)] == []


def test_an_abort_from_another_process_ends_what_runs(place, nothing_left):
    started = place.cortex("workflow", "run", place.file(LONG), "--id", "r1", "--detach")
    assert started.stdout == "r1\n"
    state = place.until("r1", "running", task="first")
    pid = int(state.run.worker.split("-")[-2])
    processes = {pid, *descendants(pid)}
    assert place.cortex("workflow", "abort", "r1").returncode == 0
    give_up = time.monotonic() + BOUND_S
    while any(map(is_alive, processes)):
        assert time.monotonic() < give_up
        time.sleep(0.05)
    assert "Run r1 was aborted" in (place.home / "workflows" / "logs" / "r1.log").read_text()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
