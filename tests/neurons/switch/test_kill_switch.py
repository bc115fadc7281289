"""The kill switch as a file: what counts as on, who is told, and what a broken disk or audit can do to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest

from neurons import KillSwitch, Off, On, Refused, SwitchError, watch_switch
from sandbox import KillReport, Running, kill_recorded
from sandbox.process.process_facts import identity_of
from tests.conftest import without_coverage

NOW = 1_700_000_000.0
BOUND_S = 60


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "state"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def switch(state: Path) -> KillSwitch:
    return KillSwitch(state, now=lambda: NOW)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        yield process
        process.kill()


class Audit:
    def __init__(self, broken: str | None = None) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.broken = broken

    def record(self, kind: str, /, **facts: Any) -> None:
        if self.broken is not None:
            raise OSError(self.broken)
        self.lines.append((kind, facts))


def test_the_switch_is_off_at_first_and_once_on_it_is_on_for_every_process(switch, state):
    assert (switch.state(), switch.refusal()) == (Off(), None)
    killed = switch.turn_on("it buys too much", "owner")
    expected = On("it buys too much", NOW, "owner")
    assert killed == (expected, False, True, (), ())
    assert switch.state() == KillSwitch(state).state() == expected
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(NOW))
    assert KillSwitch(state).refusal() == (
        f'Kill switch is on since {since} (it buys too much). The owner can turn it off with "cortex revive"'
    )


def test_the_switch_is_a_readable_file_that_only_its_owner_can_open(switch, state):
    switch.turn_on("why not", "owner")
    said = json.loads((state / "KILLED").read_text())
    assert (said["reason"], said["at"], said["by"]) == ("why not", NOW, "owner")
    assert "cortex revive" in said["hint"]
    assert (state / "KILLED").stat().st_mode & 0o777 == 0o600


def test_a_switch_file_cut_at_any_byte_counts_as_on(switch, state):
    switch.turn_on("why not", "owner")
    whole = (state / "KILLED").read_bytes()
    for size in range(len(whole) - 2):
        (state / "KILLED").write_bytes(whole[:size])
        found = KillSwitch(state).state()
        assert isinstance(found, On)
        assert "cannot be read, which counts as on" in found.reason
        assert abs(found.at - time.time()) < 600


@pytest.mark.parametrize(
    "content",
    [
        b"\xff" * 10,
        b"null",
        b"[]",
        b"{}",
        b'{"reason": 1, "at": 2, "by": 3}',
        b'{"reason": "x", "at": -1, "by": "y"}',
        b'{"reason": "x", "at": 1e400, "by": "y"}',
        b'{"reason": "x", "at": NaN, "by": "y"}',
        b'{"reason": "x", "at": 1, "by": ""}',
        b"[" * 100_000,
        b"9" * 10_000,
        b'{"reason": "' + b"x" * 100_000,
    ],
)
def test_a_switch_file_with_invalid_content_counts_as_on(state, content):
    (state / "KILLED").write_bytes(content)
    found = KillSwitch(state).state()
    assert isinstance(found, On)
    assert "counts as on" in str(found)


def test_a_folder_and_a_link_that_leads_nowhere_count_as_on(state):
    (state / "KILLED").mkdir()
    assert isinstance(KillSwitch(state).state(), On)
    (state / "KILLED").rmdir()
    (state / "KILLED").symlink_to("nowhere")
    assert isinstance(KillSwitch(state).state(), On)


def test_a_state_folder_that_is_a_file_counts_as_on_and_a_missing_home_as_off(tmp_path):
    (tmp_path / "state").touch()
    assert isinstance(KillSwitch(tmp_path / "state").state(), On)
    assert KillSwitch(Path("/dev/null/motor-cortex/state")).state() == Off()
    assert KillSwitch(tmp_path / "nothing" / "state").state() == Off()


@pytest.fixture
def somebody() -> Iterator[Path]:
    """The tests as a user who may not write everywhere, with a folder of that user's."""
    real = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        if real == 0:
            os.chown(folder, 12_345, -1)
            os.seteuid(12_345)
        yield Path(folder)
        os.seteuid(real)


def test_a_switch_folder_without_access_counts_as_on(somebody):
    (somebody / "state").mkdir(mode=0o000)
    try:
        found = KillSwitch(somebody / "state").state()
    finally:
        (somebody / "state").chmod(0o700)
    assert isinstance(found, On)
    assert 'KILLED" cannot be looked at: Permission denied' in found.reason


def test_a_switch_file_without_access_counts_as_on(somebody):
    (somebody / "KILLED").touch(mode=0o000)
    assert isinstance(KillSwitch(somebody).state(), On)


def test_turning_the_switch_on_twice_keeps_its_time_and_reason(switch, state):
    switch.turn_on("first", "owner")
    killed = KillSwitch(state, now=lambda: NOW + 60).turn_on("second", "somebody")
    assert killed == (On("first", NOW, "owner"), True, True, (), ())
    assert switch.state() == On("first", NOW, "owner")


def test_turning_the_switch_on_repairs_an_unreadable_switch_file(switch, state):
    (state / "KILLED").touch()
    assert switch.turn_on("why not", "owner") == (On("why not", NOW, "owner"), True, True, (), ())
    assert switch.state() == On("why not", NOW, "owner")


@pytest.mark.parametrize("folders", [0, 1, 2])
def test_a_home_without_state_is_given_one_that_is_private(tmp_path, folders):
    state = tmp_path / "home" / "state"
    for folder in (state.parent, state)[:folders]:
        folder.mkdir(mode=0o700)
    assert KillSwitch(state).turn_on("x", "owner").problems == ()
    assert isinstance(KillSwitch(state).state(), On)
    assert [path.stat().st_mode & 0o777 for path in (state.parent, state)] == [0o700, 0o700]


def test_the_reason_is_one_short_line_that_steers_no_terminal(switch):
    switch.turn_on("a\n\tb\x1b[31m\u202e\udc80" + "c" * 10_000, "own\ner")
    found = switch.state()
    assert found.reason == ("a b [31m " + "c" * 10_000)[:500]
    assert found.by == "own er"
    assert "\n" not in str(found)
    assert KillSwitch(switch._folder).turn_on("", "").on == found


def test_a_reason_of_long_characters_is_read_back(switch, state):
    reason = "\U0001f480" * 500
    switch.turn_on(reason, "owner")
    assert KillSwitch(state).state() == On(reason, NOW, "owner")


def test_turning_the_switch_off_needs_a_reason(switch):
    switch.turn_on("x", "owner")
    for nothing in ("", "  \n"):
        with pytest.raises(Refused, match="needs a reason"):
            switch.turn_off(nothing, "owner")
    assert isinstance(switch.state(), On)
    assert switch.turn_off("all is well", "owner") == On("x", NOW, "owner")
    assert switch.state() == Off()
    assert switch.turn_off("again", "owner") == Off()


def test_kill_and_revive_are_recorded_as_owner_decisions(state):
    audit = Audit()
    switch = KillSwitch(state, record=audit.record)
    switch.turn_on("x", "owner")
    switch.turn_off("y", "owner")
    switch.turn_off("not on any more", "owner")
    switch.turn_on("z", "owner", neuron="price-1")
    assert audit.lines == [
        ("owner_decision", {"what": "kill", "by": "owner", "reason": "x"}),
        ("owner_decision", {"what": "revive", "by": "owner", "reason": "y"}),
        ("owner_decision", {"what": "kill price-1", "by": "owner", "reason": "z", "neuron": "price-1"}),
    ]


def test_the_switch_is_on_before_the_audit_records_it_and_off_only_afterwards(state):
    seen = []
    switch = KillSwitch(state, record=lambda *_, **__: seen.append(isinstance(KillSwitch(state).state(), On)))
    switch.turn_on("x", "owner")
    switch.turn_off("y", "owner")
    assert seen == [True, True]


def test_a_broken_audit_does_not_stop_a_kill_but_stops_a_revive(state):
    switch = KillSwitch(state, record=Audit("the disk is gone").record)
    killed = switch.turn_on("x", "owner")
    assert (killed.is_on, killed.problems) == (True, ("it is not in the audit: the disk is gone",))
    with pytest.raises(OSError, match="the disk is gone"):
        switch.turn_off("y", "owner")
    assert isinstance(switch.state(), On)


def test_turning_the_switch_off_does_not_undo_a_kill_that_came_meanwhile(state):
    def killed_meanwhile(*_: object, **__: object) -> None:
        KillSwitch(state).turn_on("now really", "owner")

    KillSwitch(state).turn_on("x", "owner")
    with pytest.raises(SwitchError, match="was turned on again meanwhile"):
        KillSwitch(state, record=killed_meanwhile).turn_off("y", "owner")
    assert isinstance(KillSwitch(state).state(), On)


def test_a_kill_reports_that_the_switch_was_turned_off_meanwhile(state):
    def revived_meanwhile(*_: object, **__: object) -> None:
        KillSwitch(state).turn_off("no", "owner")

    killed = KillSwitch(state, record=revived_meanwhile).turn_on("x", "owner")
    assert (killed.is_on, killed.problems) == (
        False,
        ("the switch is not on: what ran was killed, and more can be started",),
    )


def test_a_kill_between_the_check_and_the_removal_by_a_revive_is_not_lost(state, monkeypatch):
    unlink = Path.unlink
    killed = []

    def killed_in_between(path: Path, missing_ok: bool = False) -> None:
        monkeypatch.setattr(Path, "unlink", unlink)
        thread = Thread(target=lambda: killed.append(KillSwitch(state).turn_on("now really", "owner")))
        thread.start()
        give_up = time.monotonic() + BOUND_S
        while b"now really" not in path.read_bytes():
            assert time.monotonic() < give_up
        unlink(path, missing_ok)
        killed.insert(0, thread)

    KillSwitch(state).turn_on("x", "owner")
    (state / "KILLED").write_bytes(b"")  # so that the one who kills writes his own reason
    monkeypatch.setattr(Path, "unlink", killed_in_between)
    KillSwitch(state).turn_off("y", "owner")
    killed.pop(0).join(BOUND_S)
    assert killed == [(On("now really", killed[0].on.at, "owner"), True, True, (), ())]
    assert KillSwitch(state).state() == killed[0].on


HOLDING = """
import fcntl, os, sys
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(handle, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_process_that_hangs_while_it_revives_is_reported_and_does_not_stop_a_kill(state, monkeypatch):
    monkeypatch.setattr("neurons.switch.kill_switch.LOCK_TIMEOUT_S", 0.01)
    command = [sys.executable, "-c", HOLDING, str(state / ".KILLED.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        killed = KillSwitch(state).turn_on("x", "owner")
        assert killed.is_on
        assert killed.problems == ("another process hangs while it turns the switch off: it may go off again",)
        with pytest.raises(SwitchError, match="another process holds its lock and hangs"):
            KillSwitch(state).turn_off("y", "owner")
        holder.stdin.close()
    assert isinstance(KillSwitch(state).state(), On)
    KillSwitch(state).turn_off("y", "owner")
    assert KillSwitch(state).state() == Off()


def test_one_neuron_can_be_killed_alone(switch, state):
    switch.turn_on("it spams", "owner", neuron="price-1")
    assert switch.state() == Off()
    assert switch.state("price-2") == Off()
    assert switch.state("price-1") == KillSwitch(state).state("price-1") == On("it spams", NOW, "owner", "price-1")
    assert "for price-1 since" in switch.refusal("price-1")
    assert "cortex revive --neuron price-1" in switch.refusal("price-1")
    switch.turn_on("all of it", "owner")
    assert switch.state("price-1").reason == switch.state("price-2").reason == "all of it"
    switch.turn_off("ok", "owner")
    assert switch.state("price-1").reason == "it spams"
    switch.turn_off("ok", "owner", neuron="price-1")
    assert switch.state("price-1") == Off()


@pytest.mark.parametrize("neuron", ["", "..", "a/b", "A", "a" * 81, "a\n", "é"])
def test_an_invalid_neuron_id_is_refused_and_counts_as_on(switch, neuron):
    for turn in (switch.turn_on, switch.turn_off):
        with pytest.raises(Refused, match="There is no neuron"):
            turn("x", "owner", neuron=neuron)
    assert isinstance(switch.state(neuron), On)


def noted(state: Path, pid: int, *below: str) -> None:
    Running(state.joinpath("running", *below)).note(pid)


def test_every_recorded_process_is_killed(switch, state, sleeper):
    noted(state, sleeper.pid)
    assert switch.turn_on("x", "owner").processes == (sleeper.pid,)
    assert sleeper.wait(BOUND_S) == -9


def test_the_switch_is_on_before_any_kill_and_on_disk_afterwards(switch, state, monkeypatch):
    done: list[object] = []
    real = os.fsync

    def killing(folder: Path) -> KillReport:
        done.append(("killed", isinstance(KillSwitch(state).state(), On)))
        return kill_recorded(folder)

    def flushing(handle: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{handle}")).relative_to(state.parent))
        real(handle)

    monkeypatch.setattr("neurons.switch.kill_switch.kill_recorded", killing)
    monkeypatch.setattr(os, "fsync", flushing)
    switch.turn_on("x", "owner")
    assert done[:3] == [("killed", True), Path("state/KILLED"), Path("state")]
    done.clear()
    switch.turn_off("y", "owner")
    assert done == [Path("state")]
    switch.turn_on("x", "owner", neuron="price-1")
    assert set(done[2:]) == {Path("state/KILLED.d/price-1"), Path("state/KILLED.d"), Path("state")}


def test_only_the_process_of_that_neuron_is_killed(switch, state, sleeper):
    with subprocess.Popen(["sleep", "60"]) as other:
        noted(state, sleeper.pid, "price-1")
        noted(state, other.pid)
        assert switch.turn_on("x", "owner", neuron="price-1").processes == (sleeper.pid,)
        assert other.poll() is None
        other.kill()


FULL = """
import resource, sys
from pathlib import Path
from neurons import KillSwitch
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
killed = KillSwitch(Path(sys.argv[1])).turn_on("x", "owner")
print(killed.is_on, len(killed.processes), *killed.problems)
"""


def test_a_full_disk_takes_the_switch_but_not_the_reason(state, sleeper):
    noted(state, sleeper.pid)
    command = [sys.executable, "-c", FULL, state]
    done = subprocess.run(command, env=without_coverage(), capture_output=True, text=True, timeout=60)
    assert done.stdout == f'True 1 the reason could not be written to "{state}/KILLED": File too large\n', done.stderr
    assert sleeper.wait(BOUND_S) == -9
    assert isinstance(KillSwitch(state).state(), On)


def test_processes_are_killed_even_when_the_home_cannot_be_written(somebody):
    state = somebody / "state"
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        noted(state, process.pid)
        state.chmod(0o500)
        try:
            killed = KillSwitch(state).turn_on("x", "owner")
        finally:
            state.chmod(0o700)
        assert killed.is_on is False
        assert killed.problems[:2] == (
            "the switch is not on: what ran was killed, and more can be started",
            f'the reason could not be written to "{state}/KILLED": Permission denied',
        )
        assert not any("power cut" in problem for problem in killed.problems)
        if os.getuid() != 0:  # who only plays somebody else may not kill what root has started
            assert process.wait(BOUND_S) == -9
        process.kill()


def test_a_switch_that_cannot_be_removed_stays_on(state):
    (state / "KILLED").mkdir()
    with pytest.raises(SwitchError, match=r'Cannot turn the kill switch off: ".*/KILLED"'):
        KillSwitch(state).turn_off("x", "owner")
    killed = KillSwitch(state).turn_on("x", "owner")
    assert (killed.is_on, "could not be written" in killed.problems[0]) == (True, True)


def test_importing_the_switch_loads_no_event_loop_and_nothing_slow():
    program = "from neurons import KillSwitch; import sys, json; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=without_coverage(), capture_output=True, timeout=60, check=True)
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"anyio", "asyncio", "trio", "pydantic", "ssl", "httpx2", "openai", "subprocess", "socket"}
    assert "neurons.switch.kill_switch" in loaded


def test_turning_the_switch_on_imports_nothing_more(state, sleeper):
    noted(state, sleeper.pid)
    program = (
        "import sys; from pathlib import Path; from neurons import KillSwitch\n"
        f"assert KillSwitch(Path({str(state)!r})).turn_on('x', 'owner').processes\n"
        "print(sorted({'anyio', 'asyncio', 'pydantic', 'ssl', 'subprocess'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


class Watched:
    """What was asked of somebody who watches a switch."""

    def __init__(self) -> None:
        self.said: list[object] = []
        self.neurons = ["price-1", "price-2"]
        self.faults = 0

    def on_kill(self, on: On) -> None:
        if self.faults:
            self.faults -= 1
            raise RuntimeError("not just now")
        self.said.append(("kill", on.reason))

    def on_revive(self) -> None:
        self.said.append("revive")

    def on_neuron(self, neuron: str, on: On) -> None:
        self.neurons.remove(neuron)
        self.said.append((neuron, on.reason))

    async def watch(self, switch: KillSwitch) -> None:
        await watch_switch(
            switch, 1, self.on_kill, self.on_revive, neurons=lambda: self.neurons, on_neuron=self.on_neuron
        )

    async def until(self, *said: object) -> None:
        with anyio.fail_after(BOUND_S):
            while self.said != list(said):
                await anyio.sleep(0.001)


async def test_a_watcher_of_the_switch_is_told_once_of_each_change(state, switch):
    watched = Watched()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watched.watch, switch)
        other = KillSwitch(state)
        other.turn_on("it spams", "owner", neuron="price-1")
        await watched.until(("price-1", "it spams"))
        other.turn_on("all", "owner")
        await watched.until(("price-1", "it spams"), ("kill", "all"))
        other.turn_on("again", "owner")
        other.turn_on("x", "owner", neuron="price-2")
        other.turn_off("ok", "owner")
        await watched.until(("price-1", "it spams"), ("kill", "all"), "revive", ("price-2", "x"))
        tasks.cancel_scope.cancel()


async def test_a_watcher_that_starts_while_the_switch_is_on_is_told_at_once(state, switch):
    switch.turn_on("since yesterday", "owner")
    watched = Watched()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watched.watch, KillSwitch(state))
        await watched.until(("kill", "since yesterday"))
        tasks.cancel_scope.cancel()


async def test_a_watcher_whose_callback_raises_is_told_again(switch, caplog):
    watched = Watched()
    watched.faults = 3
    switch.turn_on("x", "owner")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watched.watch, switch)
        await watched.until(("kill", "x"))
        tasks.cancel_scope.cancel()
    assert caplog.messages == ["Cannot do what the kill switch asks for; it is tried again"] * 3


def test_a_dead_process_has_no_identity(sleeper):
    assert identity_of(sleeper.pid) is not None
    sleeper.kill()
    sleeper.wait()
    assert identity_of(sleeper.pid) is None
