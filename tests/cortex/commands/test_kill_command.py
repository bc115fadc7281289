"""`cortex kill` and `cortex revive` at a shell, against agents that run, spin, are stopped, or are not there at all."""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cortex.audit import Audit
from cortex.commands import run_command
from cortex.settings.home_path import Located, find_home
from cortex.settings.sections import AuditSettings
from cortex.settings.settings import load_settings
from neurons import KillSwitch, Off, On
from sandbox.jail.kernel import PR_CAPBSET_DROP, prctl
from sandbox.process.process_facts import identity_of, stat_of
from tests.conftest import descendants, is_readable, without_coverage

CORTEX = [sys.executable, "-c", "from cortex.commands import main; main()"]
ROOT = Path(__file__).parent.parent.parent.parent
# Only what hangs takes so long, on a slow machine too.
BOUND_S = 120
SWITCHED_OFF = "EXECUTION_DENIED: Kill switch is on since "
deno = pytest.mark.deno


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def cortex(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CORTEX, *arguments], capture_output=True, text=True, timeout=BOUND_S)


def kill(home: Path, *arguments: str) -> dict[str, Any]:
    done = cortex("kill", "--json", "--home", str(home), *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def revive(home: Path, *arguments: str) -> None:
    assert run_command(["revive", "--reason", "it is a test", "--home", str(home), *arguments]) == 0


def decisions(home: Path) -> list[tuple[str, str]]:
    audit = Audit(home / "audit", AuditSettings())
    try:
        facts = [record.facts for record in audit.records() if record.kind == "owner_decision"]
        return [(fact["what"], fact["reason"]) for fact in facts]
    finally:
        audit.close()


def without_privileges() -> None:
    """In a new process: what a folder forbids is forbidden to root, too."""
    for override in (1, 2):
        prctl("capabilities", PR_CAPBSET_DROP, override)


class Agent:
    def __init__(self, home: Path, mode: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cortex.commands.kill_agent", str(home), mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd=ROOT,
            preexec_fn=without_privileges if os.geteuid() == 0 else None,  # noqa: PLW1509 - no threads here
        )

    def event(self) -> dict[str, Any]:
        assert is_readable(self.process.stdout, BOUND_S), "the agent says nothing"
        return json.loads(self.process.stdout.readline())

    def sandboxes(self) -> set[int]:
        """The launcher, and all that it has started."""
        return {pid for pid in descendants(self.process.pid) if is_launcher_or_deno(pid)}

    def try_again(self) -> list[str]:
        self.process.stdin.write("\n")
        answers: list[str] = self.event()["answers"]
        return answers

    def until_it_runs(self) -> None:
        """It looks at the switch only now and then."""
        give_up = time.monotonic() + BOUND_S
        while self.try_again()[0] != "1":
            assert time.monotonic() < give_up

    def stop(self, home: Path) -> None:
        """While it does not write the audit: whoever records the kill would wait for that."""
        give_up = time.monotonic() + BOUND_S
        while True:
            self.process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if not any(map(is_locked, (home / "audit").glob(".*.lock"))):
                return
            self.go_on()
            assert time.monotonic() < give_up

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@contextmanager
def agent(home: Path, mode: str) -> Iterator[Agent]:
    one = Agent(home, mode)
    try:
        yield one
        one.process.stdin.close()
        assert one.process.wait(BOUND_S) == 0
    finally:
        one.process.kill()
        one.process.wait()
        for pipe in (one.process.stdin, one.process.stdout):
            pipe.close()


def is_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def is_launcher_or_deno(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"jail.launcher" in command or b"deno" in command.split(b"\0")[0]


@deno
def test_all_agents_of_a_home_are_stopped_whatever_they_are_at_and_those_of_another_go_on(tmp_path, nothing_left):
    home = tmp_path / "home"
    with (
        agent(home, "running") as running,
        agent(home, "stopped") as stopped,
        agent(home, "spinning") as spinning,
        agent(tmp_path / "other", "idle") as other,
    ):
        ours = (running, stopped, spinning)
        for one in (*ours, other):
            assert one.event() == {"event": "running"}
        sandboxes = {pid for one in ours for pid in one.sandboxes()}
        assert len(sandboxes) >= 3 * 3
        stopped.stop(home)
        killed = kill(home, "--reason", "it buys too much")
        # Some of them the program that lives has killed itself, as soon as it saw the switch.
        assert killed["processes"]
        assert [pid for pid in sandboxes if identity_of(pid)] == []
        stopped.go_on()
        (home / "go").touch()
        for one in ours:
            ended = one.event()["answers"]
            assert [text.partition("Kill switch is on since")[0] for text in ended] == [
                "EXECUTION_ERROR: CrashError: The run was stopped: "
            ] * 2
        for one in ours:
            execute, act, consolidate, say = one.try_again()
            for refused in (execute, act, consolidate):
                assert refused.startswith(SWITCHED_OFF)
                assert refused.endswith('(it buys too much). The owner can turn it off with "cortex revive"')
            assert say == "Said."
            assert one.sandboxes() == set()
        assert other.try_again()[0] == "1"
        revive(home)
        for one in ours:
            one.until_it_runs()
            assert one.try_again()[:2] == ["1", '"acted"']
    assert decisions(home) == [("kill", "it buys too much"), ("revive", "it is a test")]


@deno
@pytest.mark.parametrize("mode", ["running", "residents"])
def test_where_the_switch_cannot_be_written_the_programs_of_the_home_are_stopped_and_start_nothing(
    home, mode, nothing_left
):
    with agent(home, mode) as one:
        assert one.event() == {"event": "running"}
        sandboxes = one.sandboxes()
        (home / "state").chmod(0o500)
        command = [*CORTEX, "kill", "--json", "--home", str(home)]
        preexec = without_privileges if os.geteuid() == 0 else None
        done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, preexec_fn=preexec)
        said = json.loads(done.stdout)
        assert (done.returncode, said["on"]) == (1, False)
        assert [pid for pid in sandboxes if identity_of(pid)] == []
        pid = one.process.pid
        stopped = f"process {pid}, which runs agents of this home, was stopped, because the switch cannot be written: "
        assert f'{stopped}"kill -CONT {pid}" lets it go on, "kill -KILL {pid}" ends it' in said["problems"]
        assert stat_of(pid).state == "T"
        assert one.sandboxes() == set()
        # Nothing of the program is lost.
        (home / "state").chmod(0o700)
        one.go_on()
        if mode == "running":
            assert len(one.event()["answers"]) == 2
            one.until_it_runs()


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A home on a file system of its own, which can become read-only."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", folder], capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield folder / "home"
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@deno
@pytest.mark.parametrize("arguments", [[], ["--neuron", "price-1"]], ids=["all", "one neuron"])
@pytest.mark.parametrize("is_without_launcher", [False, True], ids=["as it runs", "its launcher has just ended"])
def test_on_a_home_that_is_read_only_the_programs_are_stopped_and_start_nothing(
    mounted, arguments, is_without_launcher, nothing_left
):
    with agent(mounted, "residents") as one:
        assert one.event() == {"event": "running"}
        subprocess.run(["mount", "-o", "remount,ro", mounted.parent], check=True)
        if is_without_launcher:
            one.process.send_signal(signal.SIGSTOP)  # so that it can start no other meanwhile
            for pid in one.sandboxes():
                os.kill(pid, signal.SIGKILL)
        done = subprocess.run(
            [*CORTEX, "kill", "--json", "--home", str(mounted), *arguments],
            capture_output=True,
            text=True,
            timeout=BOUND_S,
        )
        said = json.loads(done.stdout)
        assert (done.returncode, said["on"]) == (1, False)
        pid = one.process.pid
        assert any(
            text.startswith(f"process {pid}, which runs agents of this home, was stopped") for text in said["problems"]
        )
        assert stat_of(pid).state == "T"
        subprocess.run(["mount", "-o", "remount,rw", mounted.parent], check=True)
        one.go_on()


@deno
def test_the_switch_is_on_after_a_restart_too(home, nothing_left):
    assert run_command(["kill", "--home", str(home), "--reason", "since yesterday"]) == 0
    with agent(home, "idle") as one:
        assert one.event() == {"event": "running"}
        assert [text.startswith(SWITCHED_OFF) for text in one.try_again()] == [True, True, True, False]
        assert one.sandboxes() == set()
        revive(home)
        one.until_it_runs()


@deno
def test_one_neuron_is_stopped_also_while_its_agent_is(home, capsys, nothing_left):
    (home / "state" / "neurons").mkdir(parents=True)
    (home / "state" / "neurons" / "price-1.json").write_text('{"name": "CryptoPrice"}')
    with agent(home, "residents") as one:
        assert one.event() == {"event": "running"}
        assert one.try_again() == ["True", "True"]
        one.stop(home)
        assert run_command(["kill", "--home", str(home), "--neuron", "CryptoPrice", "--reason", "it spams"]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f'The kill switch of price-1 is on in "{home}"\n1 process killed\n')
        one.go_on()
        first, second = one.try_again()
        assert first.startswith("Kill switch is on for price-1 since ")
        assert second == "True"
        revive(home, "--neuron", "price-1")
        assert one.try_again() == ["True", "True"]


@deno
@pytest.mark.soak
def test_at_whatever_moment_it_is_turned_on_nothing_runs_afterwards(home, nothing_left):
    """Against an agent that starts launchers, processes and runs all the time, and is now and then stopped meanwhile."""
    dice, dead = random.Random(5), 0
    with agent(home, "busy") as one:
        assert one.event() == {"event": "running"}
        switch = KillSwitch(home / "state")
        for n in range(150):
            time.sleep(dice.random() * 0.25)
            is_stopped = dice.random() < 0.4
            if is_stopped:
                one.stop(home)
            killed = switch.turn_on(f"try {n}", "owner")
            assert killed.problems == ()
            dead += len(killed.processes)
            assert [pid for pid in one.sandboxes() if is_deno(pid)] == []
            if is_stopped:
                one.go_on()
            give_up = time.monotonic() + dice.random() * 0.2
            while time.monotonic() < give_up:  # nor later: a launcher without an order has none
                assert [pid for pid in one.sandboxes() if is_deno(pid)] == []
            switch.turn_off("again", "owner")
    assert dead > 150  # so that there was something to kill


def is_deno(pid: int) -> bool:
    try:
        return b"deno" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return False


@deno
def test_a_script_at_the_shell_is_stopped_and_the_next_one_refused(home, tmp_path, nothing_left):
    (tmp_path / "spin.ts").write_text("console.log('x'); while (true) {}")
    command = [*CORTEX, "run", "--home", str(home), str(tmp_path / "spin.ts")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        give_up = time.monotonic() + BOUND_S
        while not (any(map(is_launcher_or_deno, descendants(running.pid))) and list((home / "state").rglob("*.json"))):
            assert time.monotonic() < give_up
        # It cannot see the switch meanwhile: else it may have killed its processes itself before they are counted.
        running.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, running.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert kill(home, "--reason", "no more")["processes"]
        running.send_signal(signal.SIGCONT)
        out, err = running.communicate(timeout=BOUND_S)
    assert (running.returncode in {1, 3}, out) == (True, "")
    assert "Kill switch is on since" in err
    done = cortex("run", "--home", str(home), "--json", str(tmp_path / "spin.ts"))
    answer = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (3, "")
    assert answer["output"].startswith(SWITCHED_OFF)
    assert (answer["ok"], answer["error"]["type"]) == (False, "PermissionError")
    assert list((home / "state" / "running").iterdir()) == []


@deno
def test_a_script_runs_without_a_home_that_could_have_a_switch(tmp_path):
    (tmp_path / "one.ts").write_text("return 1")
    done = cortex("run", "--home", "/dev/null/motor-cortex", str(tmp_path / "one.ts"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_it_says_what_it_did(home, capsys):
    assert run_command(["kill", "--home", str(home), "--reason", "why not"]) == 0
    lines = f'The kill switch is on in "{home}"\nNo process was running\ncortex revive --reason "…" turns it off\n'
    assert capsys.readouterr() == (lines, "")
    assert run_command(["kill", "--home", str(home)]) == 0
    assert capsys.readouterr().out.startswith("The kill switch was on already in")
    assert run_command(["revive", "--home", str(home), "--reason", "x"]) == 0
    assert run_command(["revive", "--home", str(home), "--reason", "x"]) == 0
    assert capsys.readouterr() == ("The kill switch is off\nThe kill switch was not on\n", "")


def test_json_is_for_programs(home, capsys):
    assert run_command(["kill", "--home", str(home), "--reason", "why not", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    at = said.pop("at")
    assert said == {
        "on": True,
        "was_on": False,
        "home": str(home),
        "reason": "why not",
        "by": "owner",
        "neuron": None,
        "processes": [],
        "problems": [],
    }
    assert run_command(["revive", "--home", str(home), "--reason", "x", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {
        "on": False,
        "was_on": True,
        "home": str(home),
        "reason": "why not",
        "at": at,
        "by": "owner",
        "neuron": None,
    }


def test_reviving_one_neuron_says_when_everything_is_still_off(home, capsys):
    for arguments in (["kill"], ["kill", "--neuron", "price-1"]):
        run_command([*arguments, "--home", str(home)])
    capsys.readouterr()
    assert run_command(["revive", "--neuron", "price-1", "--reason", "x", "--home", str(home)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("The kill switch of price-1 is off\nKill switch is on since ")


@pytest.mark.parametrize("arguments", [["revive"], ["revive", "--reason"]])
def test_reviving_needs_a_reason(home, capsys, arguments):
    run_command(["kill", "--home", str(home)])
    with pytest.raises(SystemExit) as ended:
        run_command([*arguments, "--home", str(home)])
    assert ended.value.code == 2
    assert run_command(["revive", "--reason", "  ", "--home", str(home)]) == 2
    assert capsys.readouterr().err.endswith("cortex revive: Turning the kill switch off needs a reason\n")
    assert isinstance(KillSwitch(home / "state").state(), On)


def test_what_cannot_be_recorded_is_killed_and_not_revived(home, capsys):
    home.mkdir(mode=0o700)
    (home / "audit").touch()
    assert run_command(["kill", "--home", str(home)]) == 1
    assert "cortex kill: it is not in the audit: Cannot write to the audit in" in capsys.readouterr().err
    assert isinstance(KillSwitch(home / "state").state(), On)
    assert run_command(["revive", "--reason", "x", "--home", str(home)]) == 2
    assert 'cortex revive: Cannot keep state in "' in capsys.readouterr().err
    (home / "audit").unlink()
    (home / "audit" / "latest").mkdir(parents=True)
    (home / "audit").chmod(0o700)
    assert run_command(["revive", "--reason", "x", "--home", str(home)]) == 3
    assert "cortex revive: it is still on, because that could not be recorded: " in capsys.readouterr().err
    assert isinstance(KillSwitch(home / "state").state(), On)


def test_a_full_disk_is_said_and_kills_all_the_same(home):
    program = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
    command = [sys.executable, "-c", program + CORTEX[-1], "kill", "--home", str(home)]
    done = subprocess.run(command, env=without_coverage(), capture_output=True, text=True, timeout=BOUND_S)
    assert done.returncode == 1
    assert done.stdout.startswith("The kill switch is on in")
    assert "cortex kill: the reason could not be written to" in done.stderr
    assert "cortex kill: it is not in the audit: " in done.stderr
    assert isinstance(KillSwitch(home / "state").state(), On)


def test_a_switch_that_cannot_be_turned_on_is_an_exit_code(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert run_command(["kill", "--json", "--home", str(tmp_path / "file")]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["on"] is False
    assert "the switch is not on: what ran was killed, and more can be started" in said["problems"]


@pytest.mark.parametrize("home", ["file", "file/below"])
def test_a_switch_that_could_not_be_turned_on_is_not_said_to_be_on(tmp_path, capsys, home):
    (tmp_path / "file").touch()
    assert run_command(["kill", "--home", str(tmp_path / home)]) == 1
    out, err = capsys.readouterr()
    assert out == f'The kill switch is NOT on in "{tmp_path / home}"\nNo process was running\n'
    assert "the switch is not on" in err
    assert "power cut" not in err


def test_without_a_reason_it_says_what_was_stopped(home, capsys):
    for which, reason in (([], "the owner stopped everything"), (["--neuron", "x"], "the owner stopped this neuron")):
        run_command(["kill", "--json", "--home", str(home), *which])
        assert json.loads(capsys.readouterr().out)["reason"] == reason


@pytest.mark.parametrize("place", ["named in it", "default"])
def test_broken_settings_do_not_keep_the_owner_from_killing(tmp_path, monkeypatch, capsys, place):
    config = tmp_path / "config.toml"
    named = 'home = "named"\n' if place == "named in it" else ""
    config.write_text(f"{named}this is [ not TOML\n[energy]\nhome = 'not this'\n")
    home = tmp_path / "named" if named else tmp_path / "data" / "motor-cortex"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert run_command(["kill", "--config", str(config)]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith(f'The kill switch is on in "{home}"\n')
    assert shown.err.startswith(f'cortex kill: Cannot read settings from "{config}": ')
    assert isinstance(KillSwitch(home / "state").state(), On)
    assert decisions(home) == [("kill", "the owner stopped everything")]
    assert run_command(["revive", "--reason", "x", "--config", str(config)]) == 2
    assert isinstance(KillSwitch(home / "state").state(), On)


def test_values_that_are_wrong_are_no_reason_to_doubt_the_home(tmp_path, capsys):
    config = tmp_path / "config.toml"
    config.write_text('home = "here"\n[sandbox]\npool_size = "many"\nunknown = 1\n')
    assert run_command(["kill", "--config", str(config)]) == 0
    assert capsys.readouterr().out.startswith(f'The kill switch is on in "{tmp_path / "here"}"\n')
    assert decisions(tmp_path / "here") == [("kill", "the owner stopped everything")]


CONFIG = Path("config.toml")


@pytest.mark.parametrize("content", [None, "", 'home = "below"', 'home = "/absolute"', 'home = "~/mine"'])
@pytest.mark.parametrize("option", [None, Path("option"), Path("~/option")])
@pytest.mark.parametrize("named", [None, "variable", "~/variable", ""])
@pytest.mark.parametrize("by_variable", [True, False])
def test_the_home_is_the_one_that_the_settings_would_give(tmp_path, monkeypatch, content, option, named, by_variable):
    monkeypatch.chdir(tmp_path)
    environment = {"HOME": str(tmp_path / "me")}
    if named is not None:
        environment["CORTEX_HOME"] = named
    config = None
    if content is not None:
        CONFIG.write_text(content)
        config, environment["CORTEX_CONFIG"] = (None, str(CONFIG)) if by_variable else (CONFIG, "")
    assert find_home(option, config, environment) == Located(load_settings(config, environment, home=option).home)


@pytest.mark.parametrize("content", ["home = 3", 'home = ""', 'home = "~nobody-at-all/x"', 'home = "\\u0000"'])
def test_an_invalid_home_in_the_settings_is_doubted(tmp_path, content):
    (tmp_path / "c.toml").write_text(content)
    found = find_home(None, tmp_path / "c.toml", {"XDG_DATA_HOME": str(tmp_path / "data")})
    assert found.path == tmp_path / "data" / "motor-cortex"
    assert found.doubt.startswith('Setting "home": ')
    assert find_home(None, tmp_path / "missing", {"XDG_DATA_HOME": "/data"}).doubt.endswith("No such file or directory")


def test_a_neuron_may_be_named_by_its_id_its_name_or_a_beginning(home, capsys):
    folder = home / "state" / "neurons"
    folder.mkdir(parents=True)
    (folder / "crypto-price.json").write_text('{"name": "Price"}')
    (folder / "crypto-news.json").write_text("damaged")
    (folder / "weather.json").write_text('{"name": "crypto"}')
    for named, meant in (("crypto-price", "crypto-price"), ("Price", "crypto-price"), ("crypto-n", "crypto-news")):
        assert run_command(["kill", "--neuron", named, "--home", str(home), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["neuron"] == meant
    assert run_command(["kill", "--neuron", "crypto-", "--home", str(home)]) == 2
    assert capsys.readouterr().err == ('cortex kill: nothing was done: "crypto-" may be crypto-news, crypto-price\n')
    assert run_command(["kill", "--neuron", "gone", "--home", str(home)]) == 1
    assert 'there is no document of a neuron "gone"; the switch for that id is on anyway' in capsys.readouterr().err
    assert run_command(["kill", "--neuron", "No Such", "--home", str(home)]) == 2
    assert KillSwitch(home / "state").state() == Off()
    assert decisions(home)[0] == ("kill crypto-price", "the owner stopped this neuron")
    capsys.readouterr()
    assert run_command(["revive", "--neuron", "Price", "--reason", "x", "--home", str(home)]) == 0
    assert run_command(["revive", "--neuron", "gone", "--reason", "x", "--home", str(home)]) == 0
    assert capsys.readouterr().out == "The kill switch of crypto-price is off\nThe kill switch of gone is off\n"
    assert run_command(["revive", "--neuron", "gone", "--reason", "x", "--home", str(home)]) == 2
    assert capsys.readouterr().err == 'cortex revive: there is no document of a neuron "gone"\n'
    assert run_command(["revive", "--neuron", "crypto-", "--reason", "x", "--home", str(home)]) == 2
    assert isinstance(KillSwitch(home / "state").state("crypto-news"), On)


def test_a_torn_switch_can_be_turned_off(home, capsys):
    (home / "state").mkdir(parents=True)
    (home / "state" / "KILLED").write_bytes(b'{"rea')
    assert run_command(["revive", "--reason", "x", "--home", str(home)]) == 0
    assert capsys.readouterr().out == "The kill switch is off\n"
    assert KillSwitch(home / "state").state() == Off()


def test_killing_loads_neither_settings_nor_an_event_loop_before_it_is_done(home):
    program = (
        "import sys\n"
        "from cortex.commands import kill\n"
        "def record(*_): print(sorted({'anyio', 'asyncio', 'pydantic', 'cortex.settings.settings', 'ssl'} & set(sys.modules)))\n"
        "kill._record = record\n"
        "from cortex.commands import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program, "kill", "--home", str(home)], capture_output=True, text=True)
    assert done.stdout.startswith("[]\nThe kill switch is on"), done.stderr


def test_the_doctor_says_whether_it_is_on(home, monkeypatch, capsys):
    monkeypatch.setenv("CORTEX_SANDBOX__DENO_PATH", "/nowhere/deno")  # so that nothing else is tried
    home.mkdir()
    run_command(["doctor", "--json", "--home", str(home)])
    off = json.loads(capsys.readouterr().out)[-1]
    assert off == {"name": "kill switch", "verdict": "ok", "detail": f'off in "{home}"'}
    run_command(["kill", "--reason", "why not", "--home", str(home)])
    capsys.readouterr()
    assert run_command(["doctor", "--json", "--home", str(home)]) == 1
    on = json.loads(capsys.readouterr().out)[-1]
    assert (on["name"], on["verdict"]) == ("kill switch", "broken")
    assert on["detail"].startswith("Kill switch is on since ")
