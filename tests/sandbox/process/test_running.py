"""Running processes are noted, and another program can kill them by the notes alone: real processes, real files."""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from sandbox import (
    DenoRuntime,
    ErrorType,
    ExecutionError,
    ExecutionRequest,
    NetworkPolicy,
    ResidentProgram,
    Running,
    SandboxUnavailable,
    Tier,
    ToolDeclaration,
    kill_recorded,
)
from sandbox.process.early_start import HeadStart, start_launcher
from sandbox.process.killing import kill_tree
from sandbox.process.process_facts import identity_of
from sandbox.testing import FunctionTools
from sandbox.wall import wall
from tests.conftest import descendants, small

deno = pytest.mark.deno
BOUND_S = 60
FOREVER = ExecutionRequest(code="await new Promise(() => setInterval(() => 0, 1000))", timeout_ms=300_000)
BEGUN_FOREVER = ExecutionRequest(code=f"await tools.begun({{}}); {FOREVER.code}", timeout_ms=300_000)
SPIN = ExecutionRequest(code="while (true) {}", timeout_ms=300_000)
ONE = ExecutionRequest(code="return 1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "running"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with us."""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        yield process
        process.kill()


def write_note(folder: Path, pid: int, **changes: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{pid}.json"
    identity = identity_of(pid)
    fields = identity._asdict() if identity else {"pid": pid, "started": 1, "boot": "x", "namespace": "y"}
    path.write_text(json.dumps({**fields, **changes}))
    return path


def notes(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.json"))


async def until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(BOUND_S):
        while not condition():
            await anyio.sleep(0.005)


def busy(runtime: DenoRuntime) -> int:
    """Executions that have a process."""
    return runtime.settings.max_concurrent - runtime._slots.value - len(runtime._pool._waiters)


def alive() -> list[int]:
    """Descendants of this process, without zombies (dead but not yet reaped)."""
    return [pid for pid, command in descendants().items() if command]


def running_code() -> list[int]:
    """The same without the reader of programs: it runs no code, and ends with its host or when the host may not run."""
    return sorted(pid for pid, command in descendants().items() if command and "reading_process.py" not in str(command))


def is_alive(pid: int) -> bool:
    return identity_of(pid) is not None


class Switch:
    """Why nothing may run, as a test says."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def refusal(self, _: str | None = None) -> str | None:
        return self.reason


@deno
async def test_a_launcher_is_noted_as_long_as_it_lives_and_only_its_owner_can_read_that(folder, nothing_left):
    async with DenoRuntime(small(), running=Running(folder)) as runtime:
        (launcher,) = notes(folder)
        assert launcher == runtime._spawner._launcher.pid
        path = folder / f"{launcher}.json"
        assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(folder.stat().st_mode)) == (0o600, 0o700)
        host = {"host": os.getpid(), "host_started": identity_of(os.getpid()).started}
        assert json.loads(path.read_text()) == {**identity_of(launcher)._asdict(), **host}
        runtime._spawner.kill_launcher()
        await until(lambda: launcher not in alive())
        while not (await runtime.execute(ONE)).ok:  # what it had kept warm may still look alive
            pass
        await until(lambda: getattr(runtime._spawner._launcher, "pid", launcher) != launcher)
        assert runtime._spawner._launcher.pid in notes(folder)
    assert notes(folder) == []


@deno
async def test_what_is_noted_is_killed_with_all_that_it_started(folder, nothing_left):
    running = Running(folder)
    async with DenoRuntime(small(), running=running) as runtime, DenoRuntime(small(), running=running) as other:
        outcomes = []

        async def run(of: DenoRuntime, request: ExecutionRequest) -> None:
            outcomes.append(await of.execute(request))

        async with anyio.create_task_group() as tasks:
            for one, request in ((runtime, FOREVER), (runtime, SPIN), (other, SPIN)):
                tasks.start_soon(run, one, request)
            await until(lambda: (busy(runtime), busy(other)) == (2, 1))
            await until(lambda: runtime._pool.ready and other._pool.ready)
            before = set(descendants())
            # In a thread: killing works without the event loop.
            report = await anyio.to_thread.run_sync(kill_recorded, folder)
        assert report.left == ()
        assert len(report.killed) >= 2 + 3
        assert set(report.killed) <= before
        assert [outcome.error.type for outcome in outcomes] == [ErrorType.CRASH] * 3
        assert not any(map(is_alive, report.killed))


def test_a_process_that_only_has_the_number_is_not_killed(folder, sleeper):
    path = write_note(folder, sleeper.pid, started=identity_of(sleeper.pid).started - 1)
    assert kill_recorded(folder) == ((), ())
    assert sleeper.poll() is None
    assert not path.exists()


def test_a_note_of_before_the_last_start_of_the_machine_kills_nobody(folder, sleeper):
    path = write_note(folder, sleeper.pid, boot="11111111-2222-3333-4444-555555555555")
    assert kill_recorded(folder) == ((), ())
    assert (sleeper.poll(), path.exists()) == (None, False)


def test_a_note_of_another_container_is_left_and_reported(folder, sleeper):
    path = write_note(folder, sleeper.pid, namespace="pid:[1]")
    report = kill_recorded(folder)
    assert report.killed == ()
    assert report.left == (f"process {sleeper.pid} runs in another container: it has to see the switch by itself",)
    assert (sleeper.poll(), path.exists()) == (None, True)


def test_a_note_of_a_process_that_is_gone_is_deleted(folder):
    with subprocess.Popen(["true"]) as process:
        path = write_note(folder, process.pid, started=1)
    assert kill_recorded(folder) == ((), ())
    assert not path.exists()


def test_a_dead_process_that_is_not_reaped_yet_is_not_counted(folder):
    process = subprocess.Popen(["sleep", "60"])
    path = write_note(folder, process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert kill_recorded(folder) == ((), ())
    assert not path.exists()
    process.wait()


HALVES = [b"", b"{", b"[1, 2]", b"null", b"\xff\xfe", b'{"pid": "x"}', b"[" * 4000, b'{"pid": 1, "started": 2']


@pytest.mark.parametrize("half", HALVES)
def test_half_a_note_kills_a_launcher_and_no_other_process(folder, sleeper, half, nothing_left):
    launcher, server = start_launcher()
    try:
        for pid in (launcher.pid, sleeper.pid):
            write_note(folder, pid).write_bytes(half)
        while b"jail.launcher" not in Path(f"/proc/{launcher.pid}/cmdline").read_bytes():
            pass  # the kernel is not done with it yet
        report = kill_recorded(folder)
    finally:
        server.close()
    assert (report.killed, report.left) == ((launcher.pid,), ())
    assert launcher.wait(BOUND_S) == -signal.SIGKILL
    assert (sleeper.poll(), notes(folder)) == (None, [])


def test_what_is_in_the_folder_beside_is_left_alone(folder):
    folder.mkdir(parents=True)
    for name in ("notes.txt", "x.json", "-1.json", ".12.json.abc.cortex-new", f"{10**20}.json", "\u0663.json"):
        (folder / name).write_text("x")
    assert kill_recorded(folder) == ((), ())
    assert len(list(folder.iterdir())) == 6


@pytest.mark.parametrize("place", ["missing", "file"])
def test_without_a_folder_there_is_nothing_to_kill(tmp_path, place):
    (tmp_path / "file").touch()
    assert kill_recorded(tmp_path / place) == ((), ())


TREE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for session in (True, False):
    if os.fork() == 0:
        if session:
            os.setsid()
        if os.fork() == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
        print("x", flush=True)
        time.sleep(60)
print("x", flush=True)
time.sleep(60)
"""


def test_children_and_theirs_die_whatever_their_session_and_though_they_are_stopped(folder, nothing_left):
    with subprocess.Popen([sys.executable, "-c", TREE], stdout=subprocess.PIPE) as process:
        for _ in range(3):
            process.stdout.readline()
        write_note(folder, process.pid)
        below = set(descendants(process.pid))
        assert len(below) == 4
        report = kill_recorded(folder)
        assert set(report.killed) == below | {process.pid}
        assert report.left == ()


def test_a_stopped_process_is_killed(folder, sleeper):
    write_note(folder, sleeper.pid)
    sleeper.send_signal(signal.SIGSTOP)
    assert kill_recorded(folder) == ((sleeper.pid,), ())
    assert sleeper.wait(BOUND_S) == -signal.SIGKILL


FORKING = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("x", flush=True)
started = 0
while True:
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
        os._exit(0)
    started += 1
    # Who kills them may stand still for a while, and has a thousand descriptors.
    time.sleep(0.0005 if started < 300 else 0.05)
"""


def test_a_process_that_keeps_starting_others_leaves_none(folder, nothing_left):
    """Listed first and killed then, it would start one more in between."""
    mark = secrets.token_hex(16)
    with subprocess.Popen([sys.executable, "-c", FORKING, mark], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        write_note(folder, process.pid)
        report = kill_recorded(folder)
        assert process.pid in report.killed
        assert [path.name for path in Path("/proc").iterdir() if path.name.isdigit() and has_mark(path, mark)] == []


def has_mark(path: Path, mark: str) -> bool:
    """Of a process, dead ones have none."""
    try:
        return mark in (path / "cmdline").read_text()
    except OSError:
        return False


INTERRUPTED = """
import os, select, signal, sys
from pathlib import Path
from sandbox.process import killing
poll = select.poll
def interrupted_poll():
    os.kill(os.getpid(), signal.SIGINT)  # in the middle of it
    return poll()
killing.select.poll = interrupted_poll
try:
    killing.kill_recorded(Path(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted", list(Path(sys.argv[1]).iterdir()))
"""


def test_an_interrupted_kill_finishes_first(folder, sleeper):
    write_note(folder, sleeper.pid)
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, folder], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted []\n", "")
    assert sleeper.wait(BOUND_S) == -signal.SIGKILL


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_process_of_another_user_is_reported(sleeper):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "running"
        write_note(folder, sleeper.pid)
        os.chmod(place, 0o755)
        program = "import os, sys\nfrom pathlib import Path\nfrom sandbox import kill_recorded\nos.setuid(12345)\n"
        program += "print(kill_recorded(Path(sys.argv[1])).left)"
        done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"('process {sleeper.pid}: Operation not permitted',)\n", done.stderr
    assert sleeper.poll() is None


def test_kill_tree_is_for_those_who_know_the_process(sleeper):
    assert kill_tree(sleeper.pid) == ((sleeper.pid,), ())
    assert sleeper.wait(BOUND_S) == -signal.SIGKILL
    assert kill_tree(sleeper.pid) == ((), ())


def test_what_killed_hosts_have_left_is_swept(folder, sleeper):
    gone = write_note(folder, 2**22 + 5, started=1)
    torn = folder / f"{2**22 + 6}.json"
    torn.write_bytes(b"")
    Running(folder).note(sleeper.pid)
    assert not gone.exists()
    assert notes(folder) == [sleeper.pid, 2**22 + 6]  # an unreadable note is left for the kill command


def test_a_process_that_cannot_be_noted_does_not_run(tmp_path, sleeper):
    (tmp_path / "file").touch()
    with pytest.raises(
        SandboxUnavailable, match=r'Cannot record running processes in ".*/file/running": Not a directory'
    ):
        Running(tmp_path / "file" / "running").note(sleeper.pid)
    Running(tmp_path / "file" / "running", required=False).note(sleeper.pid)


@deno
async def test_without_a_place_for_notes_nothing_is_started(tmp_path, nothing_left):
    (tmp_path / "file").touch()
    with pytest.raises(SandboxUnavailable, match="Cannot record running processes"):
        async with DenoRuntime(small(), running=Running(tmp_path / "file" / "running")):
            pass
    async with DenoRuntime(small(), running=Running(tmp_path / "file" / "running", required=False)) as runtime:
        assert (await runtime.execute(ONE)).result == 1


FULL = """
import resource, sys, os
from pathlib import Path
from sandbox import Running, kill_recorded
from sandbox.process.early_start import start_launcher
launcher, server = start_launcher()
while b"jail.launcher" not in Path(f"/proc/{launcher.pid}/cmdline").read_bytes():
    pass  # the kernel is not done with it yet
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
Running(Path(sys.argv[1])).note(launcher.pid)
print([path.stat().st_size for path in Path(sys.argv[1]).iterdir()])
print(kill_recorded(Path(sys.argv[1])).killed == (launcher.pid,))
launcher.wait()
"""


def test_a_full_disk_still_takes_a_note(folder):
    from tests.conftest import without_coverage

    command = [sys.executable, "-c", FULL, folder]
    done = subprocess.run(command, env=without_coverage(), capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[0]\nTrue\n", "")


class Turning:
    """Is turned on between one look and the next."""

    def __init__(self, looks_before: int) -> None:
        self.left = looks_before

    def refusal(self, _: str | None = None) -> str | None:
        self.left -= 1
        return None if self.left >= 0 else "It was forbidden"


@deno
@pytest.mark.parametrize("looks_before", range(6))
async def test_a_refusal_at_any_check_is_obeyed_before_anything_runs(folder, looks_before, nothing_left):
    """A process that was stopped between a look and what follows finds itself forbidden when it goes on."""
    turning = Turning(looks_before)
    async with DenoRuntime(small(pool_size=0), running=Running(folder, turning.refusal)) as runtime:
        for _ in range(2):
            outcome = await runtime.execute(ONE)
            assert (outcome.refused, outcome.error) == (True, ExecutionError(ErrorType.PERMISSION, "It was forbidden"))
        assert alive() == [] or looks_before > 3  # from there on the launcher is noted, and the killer finds it
    assert notes(folder) == []


def test_a_refusal_while_a_note_is_written_is_obeyed(folder, sleeper):
    """He may have looked for notes before this one was there."""
    with pytest.raises(SandboxUnavailable, match="It was forbidden"):
        Running(folder, Turning(1).refusal).note(sleeper.pid)
    Running(folder, Turning(2).refusal).note(sleeper.pid)


@deno
async def test_a_launcher_that_was_killed_from_outside_is_not_replaced_while_that_is_forbidden(folder, nothing_left):
    switch = Switch()
    async with DenoRuntime(small(), running=Running(folder, switch.refusal)) as runtime:
        switch.reason = "Kill switch is on"
        await anyio.to_thread.run_sync(kill_recorded, folder)
        assert (await runtime.execute(ONE)).error.message == "Kill switch is on"
        await until(lambda: runtime._pool._failures)  # it wanted to fill the pool again, and could not
        assert (notes(folder), alive()) == ([], [])
        switch.reason = None
        assert (await runtime.execute(ONE)).result == 1


@deno
async def test_a_run_that_was_killed_says_why(folder, nothing_left):
    switch = Switch()
    async with DenoRuntime(small(), running=Running(folder, switch.refusal)) as runtime:
        outcomes = []

        async def run() -> None:
            outcomes.append(await runtime.execute(SPIN))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await until(lambda: busy(runtime) == 1 and runtime._pool.ready)
            switch.reason = "Kill switch is on"
            await anyio.to_thread.run_sync(kill_recorded, folder)
        (outcome,) = outcomes
        assert not outcome.refused  # it did run
        assert outcome.error.message == "The run was stopped: Kill switch is on"


@deno
async def test_a_runtime_that_is_stopped_kills_refuses_and_goes_on_when_it_may(folder, nothing_left):
    async with DenoRuntime(small(pool_size=2, max_concurrent=3), running=Running(folder)) as runtime:
        outcomes = []

        async def run() -> None:
            outcomes.append(await runtime.execute(BEGUN_FOREVER, begun))

        async def note(arguments) -> None:
            pass

        begun = FunctionTools({"begun": note})
        async with anyio.create_task_group() as tasks:
            for _ in range(6):  # three of them wait for their turn
                tasks.start_soon(run)
            # Not when they have a process: what has not begun then is refused and not stopped.
            await until(lambda: len(begun.calls) == 3 and runtime._queued == 3)
            runtime.stop("Enough")  # while others are being started
            assert alive() == []
        messages = sorted(outcome.error.message for outcome in outcomes)
        assert messages == ["Enough"] * 3 + ["The run was stopped: Enough"] * 3
        assert (await runtime.execute(ONE)).error.message == "Enough"
        await until(lambda: not runtime._pool._starting)
        assert (runtime._pool.ready, alive(), notes(folder)) == (0, [], [])
        runtime.allow()
        await until(lambda: runtime._pool.ready == 2)
        assert (await runtime.execute(ONE)).result == 1


@deno
async def test_a_runtime_opens_while_nothing_may_run_and_starts_once_it_may(folder, nothing_left):
    switch = Switch()
    switch.reason = "Kill switch is on"
    async with DenoRuntime(small(), running=Running(folder, switch.refusal)) as runtime:
        assert (await runtime.execute(ONE)).error.message == "Kill switch is on"
        assert descendants() == {}
        switch.reason = None
        results = []

        async def run() -> None:
            results.append((await runtime.execute(ONE)).result)

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(run)
        assert results == [1, 1, 1]
        assert runtime.wall.held
        assert len(notes(folder)) == 1


@deno
async def test_a_runtime_that_was_forbidden_to_open_for_a_moment_starts_with_the_first_use(folder, nothing_left):
    reasons = iter([None, "It was forbidden"])
    running = Running(folder, lambda _: next(reasons, None))
    async with DenoRuntime(small(), running=running) as runtime:
        assert alive() == []
        assert (await runtime.execute(ONE)).result == 1


@deno
async def test_a_runtime_that_starts_late_and_cannot_says_so_and_tries_again(folder, nothing_left):
    switch = Switch()
    switch.reason = "Kill switch is on"
    async with DenoRuntime(small(deno_path=folder / "none"), running=Running(folder, switch.refusal)) as runtime:
        switch.reason = None
        for _ in range(2):
            outcome = await runtime.execute(ONE)
            assert (outcome.refused, "Cannot" in outcome.error.message) == (True, True)


@deno
async def test_a_runtime_that_is_closed_while_it_starts_late_leaves_nothing(folder, nothing_left):
    switch = Switch()
    switch.reason = "Kill switch is on"
    outcomes = []
    running = Running(folder, switch.refusal)
    async with anyio.create_task_group() as tasks, DenoRuntime(small(), running=running) as runtime:
        switch.reason = None

        async def run() -> None:
            outcomes.append(await runtime.execute(ONE))

        tasks.start_soon(run)
        await until(lambda: runtime._opening)
    (outcome,) = outcomes
    assert outcome.error.message == "The runtime was closed while the code waited for its turn"
    assert notes(folder) == []


@deno
async def test_without_a_launcher_each_process_is_noted(folder, monkeypatch, nothing_left):
    monkeypatch.setattr(wall, "can_fork_serve", lambda: False)
    switch = Switch()
    async with DenoRuntime(small(require=()), running=Running(folder, switch.refusal)) as runtime:
        await until(lambda: runtime._pool.ready)
        outcomes = []

        async def run() -> None:
            outcomes.append(await runtime.execute(SPIN))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            # That of the self-test may not be gone yet, and that which fills the place not be there.
            await until(lambda: len(notes(folder)) == 2 and runtime._pool.ready and notes(folder) == running_code())
            switch.reason = "Kill switch is on"
            await anyio.to_thread.run_sync(kill_recorded, folder)
        assert outcomes[0].error.message == "The run was stopped: Kill switch is on"
        assert (await runtime.execute(ONE)).error.message == "Kill switch is on"
        await until(lambda: not runtime._pool._starting)
        assert (notes(folder), alive()) == ([], [])
        switch.reason = None
        assert (await runtime.execute(ONE)).result == 1
        runtime.stop("Enough")
        await until(lambda: descendants() == {})
    assert notes(folder) == []


def test_a_head_start_is_noted_before_it_is_told_anything(folder, nothing_left):
    switch = Switch()
    with HeadStart() as head_start:
        head_start.order(small(), Running(folder, switch.refusal))
        assert len(notes(folder)) == 1
        assert head_start._pipes is not None
    assert notes(folder) == []
    switch.reason = "Kill switch is on"
    with HeadStart() as head_start:
        head_start.order(small(), Running(folder, switch.refusal))
        assert head_start._pipes is None


@deno
async def test_a_head_start_that_was_killed_runs_nothing(folder, nothing_left):
    switch = Switch()
    running = Running(folder, switch.refusal)
    with HeadStart() as head_start:
        head_start.order(small(pool_size=0), running)
        switch.reason = "Kill switch is on"
        assert kill_recorded(folder).left == ()
        async with DenoRuntime(small(pool_size=0), head_start=head_start, running=running) as runtime:
            assert (await runtime.execute(ONE)).error.message == "Kill switch is on"


COUNT = "state.n = (state.n ?? 0) + 1; emit('counted', state.n)"


@deno
async def test_a_program_that_stays_is_noted_under_its_name_and_can_be_killed_alone(folder, nothing_left):
    switch = Switch()
    running = Running(folder, lambda name: switch.reason if name == "one" else None)
    async with (
        DenoRuntime(small(), running=running) as runtime,
        runtime.resident(ResidentProgram(code=COUNT, name="one")) as one,
        runtime.resident(ResidentProgram(code=COUNT, name="two")) as two,
    ):
        assert (await one.handle([{}], {})).answers[0].ok
        (launcher,), (first,), (second,) = notes(folder), notes(folder / "one"), notes(folder / "two")
        switch.reason = "Kill switch is on for one"
        assert kill_recorded(folder / "one") == ((first,), ())
        with pytest.raises(SandboxUnavailable, match=r"^Kill switch is on for one$"):
            await one.handle([{}], {})
        assert (await two.handle([{}], {})).answers[0].ok
        assert (notes(folder), notes(folder / "one"), notes(folder / "two")) == ([launcher], [], [second])
        switch.reason = None
        assert (await one.handle([{}], {})).answers[0].ok
        assert len(notes(folder / "one")) == 1
    assert (notes(folder / "one"), notes(folder / "two")) == ([], [])


@deno
async def test_all_that_stays_dies_with_the_rest_and_is_not_started_again(folder, nothing_left):
    switch = Switch()
    async with (
        DenoRuntime(small(), running=Running(folder, switch.refusal)) as runtime,
        runtime.resident(ResidentProgram(code=COUNT, name="one")) as one,
    ):
        assert (await one.handle([{}], {})).answers[0].ok
        switch.reason = "Kill switch is on"
        assert (await anyio.to_thread.run_sync(kill_recorded, folder)).left == ()
        for _ in range(2):
            with pytest.raises(SandboxUnavailable, match=r"^Kill switch is on$"):
                await one.handle([{}], {})
        with pytest.raises(SandboxUnavailable, match=r"^Kill switch is on$"):
            async with runtime.resident(ResidentProgram(code=COUNT, name="two")):
                pass
        await until(lambda: not runtime._pool._starting)
        assert alive() == []


@deno
async def test_a_program_without_a_name_has_no_note_of_its_own(folder, nothing_left):
    async with (
        DenoRuntime(small(), running=Running(folder)) as runtime,
        runtime.resident(ResidentProgram(code=COUNT)) as one,
    ):
        assert (await one.handle([{}], {})).answers[0].ok
        assert [path.suffix for path in folder.iterdir()] == [".json"]


class Deaf:
    """A tool whose first call blocks this whole process until the code has asked for something more, and kills it then:
    what it asked for lies in the pipe, as it would if this process had been stopped."""

    def __init__(self, switch: Switch, folder: Path) -> None:
        self.switch, self.folder = switch, folder
        self.stdout = -1
        self.calls = 0

    def declarations(self) -> list[ToolDeclaration]:
        return [ToolDeclaration("act")]

    async def call(self, name: str, arguments: dict[str, object]) -> None:
        self.calls += 1
        if self.calls == 1:
            asked = select.poll()
            asked.register(self.stdout, select.POLLIN)
            # None comes when this process stood still before: then all has come together, and waits in its memory.
            asked.poll(3_000)
            self.switch.reason = "Kill switch is on"
            assert kill_recorded(self.folder).left == ()


@deno
@pytest.mark.parametrize("asks", ["tools.act({})", "fetch('http://localhost:9/')"])
async def test_what_a_dead_process_had_asked_for_is_not_done(folder, asks, nothing_left):
    switch = Switch()
    tools = Deaf(switch, folder)
    code = f"tools.act({{}}); setTimeout(() => {asks}, 100); await new Promise(() => {{}})"
    request = ExecutionRequest(code=code, tier=Tier.NETWORK, timeout_ms=60_000)
    policy = NetworkPolicy.model_validate({"allow": ["http://localhost:9"]})
    async with DenoRuntime(small(), running=Running(folder, switch.refusal)) as runtime:
        tools.stdout = runtime._pool._ready[0].process.stdout
        outcome = await runtime.execute(request, tools, network=policy)
        assert outcome.error.message == "The run was stopped: Kill switch is on"
        assert (tools.calls, outcome.metrics.fetches) == (1, 0)


@deno
@pytest.mark.parametrize(
    "last_word", ["emit('counted', 1)", "await tools.act({})", "throw new Error('no')", "while (true) {}"]
)
async def test_a_resident_that_is_killed_has_answered_nothing_and_has_not_failed(folder, last_word, nothing_left):
    switch = Switch()
    tools = Deaf(switch, folder)
    code = f"tools.act({{}}); await new Promise((go) => setTimeout(go, 100)); console.log(1); {last_word}"
    async with (
        DenoRuntime(small(), running=Running(folder, switch.refusal)) as runtime,
        runtime.resident(ResidentProgram(code=code, name="one", timeout_ms=60_000), tools) as one,
    ):
        tools.stdout = one._process._held[0].process.stdout
        with pytest.raises(SandboxUnavailable, match=r"^Kill switch is on$"):
            await one.handle([{}, {}], {})
        assert tools.calls == 1
