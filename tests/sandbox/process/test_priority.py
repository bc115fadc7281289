"""The kill command gets the processors first, where the system allows it, and no longer than it needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.process.killing import kill_tree, stop_hosts
from sandbox.process.process_facts import identity_of, stat_of
from tests.sandbox.process.test_running import sleeper, write_note  # noqa: F401 - a fixture

SHOW = "print(os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0), flush=True)\n"
PROGRAM = f"import os\nfrom sandbox import go_first, go_like_others\n{SHOW}go_first()\n{SHOW}go_like_others()\n{SHOW}"
may_go_first = pytest.mark.skipif(os.geteuid() != 0, reason="only root may go first as a rule")


def said(program: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.splitlines()


@may_go_first
def test_a_process_goes_first_and_then_like_others():
    before, first, after = said(PROGRAM)
    assert (before, after) == (f"{os.SCHED_OTHER} 0", before)
    assert first.split()[0] == str(os.SCHED_RR)


def test_a_process_that_may_not_go_first_goes_on_as_before():
    forbid = "import os\ndef no(*_):\n    raise PermissionError\nos.sched_setscheduler = os.setpriority = no\n"
    assert len({*said(forbid + PROGRAM)}) == 1


def test_a_system_without_realtime_lets_it_be_less_nice():
    nice = "import os\ndel os.sched_setscheduler\nasked = []\nos.setpriority = lambda *how: asked.append(how)\n"
    assert said(nice + "from sandbox import go_first\ngo_first()\nprint(asked)") == [f"[({os.PRIO_PROCESS}, 0, -20)]"]


@may_go_first
def test_cortex_kill_goes_first_until_everything_is_dead_and_then_like_others(tmp_path):
    """It does so before it loads what reads its arguments: that takes as long as the kill."""
    program = f"""if True:
        import os, sys
        import sandbox.process.priority
        first = sandbox.process.priority.go_first
        def go_first():
            first()
            print("argparse" in sys.modules, flush=True)
        sandbox.process.priority.go_first = go_first
        from cortex.commands import main
        import neurons.switch.kill_switch
        kill = neurons.switch.kill_switch.kill_recorded
        def kill_recorded(folder):
            {SHOW.strip()}
            return kill(folder)
        neurons.switch.kill_switch.kill_recorded = kill_recorded
        import cortex.commands.log_lines
        logs = cortex.commands.log_lines.log_lines
        def log_lines(command):
            {SHOW.strip()}
            return logs(command)
        cortex.commands.log_lines.log_lines = log_lines
        main()
    """
    early, again, killing, recording, *_ = said(program, "kill", "--home", str(tmp_path / "home"))
    assert early == "False"
    assert again == "True"
    assert killing.split()[0] == str(os.SCHED_RR)
    assert recording == f"{os.SCHED_OTHER} 0"


def test_what_was_killed_goes_first_too_because_it_cannot_end_without_a_processor(sleeper, monkeypatch):  # noqa: F811
    asked = []
    monkeypatch.setattr(os, "sched_setscheduler", lambda pid, policy, _: asked.append((pid, policy)))
    kill_tree(sleeper.pid)
    assert asked == [(sleeper.pid, os.SCHED_RR)]


PARENT = """
import subprocess, sys
child = subprocess.Popen(["sleep", "60"])
print(child.pid, flush=True)
sys.stdin.read()
child.kill()
child.wait()
"""


@pytest.fixture
def parent():
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.child = int(process.stdout.readline())
        yield process
        process.send_signal(signal.SIGCONT)


def test_a_program_that_has_noted_a_process_of_its_own_is_stopped(tmp_path: Path, parent):
    write_note(tmp_path, parent.child, host=parent.pid)
    assert stop_hosts(tmp_path) == ((parent.pid,), ())
    assert stat_of(parent.pid).state == "T"
    assert stat_of(parent.child).state != "T"


@pytest.mark.parametrize("changes", [{"host": 1}, {"host": os.getpid()}, {"host": "x"}, {}, {"started": 1}])
def test_a_program_is_not_stopped_for_a_process_that_it_did_not_start(tmp_path: Path, parent, changes):
    write_note(tmp_path, parent.child, **{"host": parent.pid, **changes} if changes else {})
    assert stop_hosts(tmp_path) == ((), ())
    assert stat_of(parent.pid).state != "T"


def test_a_program_is_stopped_also_when_what_it_had_noted_has_ended(tmp_path: Path, parent):
    write_note(tmp_path, parent.child, host=parent.pid, host_started=identity_of(parent.pid).started, started=1)
    assert stop_hosts(tmp_path) == ((parent.pid,), ())


def test_a_program_that_has_the_pid_of_an_earlier_one_is_not_stopped(tmp_path: Path, parent):
    write_note(tmp_path, parent.child, host=parent.pid, host_started=identity_of(parent.pid).started - 1)
    assert stop_hosts(tmp_path) == ((), ())


def test_a_program_does_not_stop_itself(tmp_path: Path, sleeper):  # noqa: F811
    write_note(tmp_path, sleeper.pid, host=os.getpid())
    assert stop_hosts(tmp_path) == ((), ())
