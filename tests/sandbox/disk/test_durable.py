"""Locks, flushing and file replacement with real files, real processes and real kills."""

from __future__ import annotations

import logging
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from sandbox import FileLock, Flusher, LockBusy, private_folder, replace_file
from sandbox.disk.line_file import HeldLines, LineFile, append_lines as append_to, last_lines
from tests.conftest import without_coverage


@contextmanager
def python(program: str, *arguments: object):
    """A process that runs the program; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


def output_of(program: str, *arguments: object) -> str:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=30, check=True
    ).stdout.strip()


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_private_folder_and_all_that_were_missing_above_it_are_the_owners_alone(tmp_path):
    folder = tmp_path / "a" / "b" / "c"
    assert private_folder(folder) == folder
    assert [mode(path) for path in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3


def test_a_folder_that_is_there_stays_as_it_is(tmp_path):
    (tmp_path / "a").mkdir(mode=0o750)
    private_folder(tmp_path / "a")
    assert mode(tmp_path / "a") == 0o750


def test_where_a_file_stands_there_is_no_folder(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(FileExistsError):
        private_folder(tmp_path / "a")
    with pytest.raises(NotADirectoryError):
        private_folder(tmp_path / "a" / "b")


@pytest.mark.parametrize("durable", [False, True])
def test_a_replaced_file_is_whole_and_the_owners_alone(tmp_path, durable):
    path = tmp_path / "f"
    replace_file(path, b"old", durable=durable)
    replace_file(path, b"new", durable=durable)
    assert (path.read_bytes(), mode(path), os.listdir(tmp_path)) == (b"new", 0o600, ["f"])


def test_a_replacement_that_fails_leaves_nothing_behind(tmp_path):
    (tmp_path / "f").mkdir()
    with pytest.raises(OSError, match="f"):
        replace_file(tmp_path / "f", b"new")
    assert os.listdir(tmp_path) == ["f"]


REPLACE = """
import sys
from pathlib import Path
from sandbox import replace_file
path = Path(sys.argv[1])
replace_file(path, b"a" * 100_000)
print("begun", flush=True)
while True:
    for letter in b"abcd":
        replace_file(path, bytes([letter]) * 100_000)
"""


def test_who_reads_while_the_writer_is_killed_finds_the_old_bytes_or_the_new(tmp_path):
    path = tmp_path / "f"
    for reads in range(3):
        with python(REPLACE, path) as process:
            assert process.stdout.readline() == "begun\n"
            for _ in range(1 + 40 * reads):
                data = path.read_bytes()
                assert (len(data), len(set(data))) == (100_000, 1)
        data = path.read_bytes()
        assert (len(data), len(set(data))) == (100_000, 1)


KILLED_WHILE_IT_REPLACES = """
import resource, signal, sys
from pathlib import Path
from sandbox import replace_file
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
replace_file(Path(sys.argv[1]), b"a" * 100_000)
"""


def left_behind(path) -> str:
    """What a process leaves beside the path that is killed in the middle of replacing it."""
    before = set(os.listdir(path.parent))
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_IT_REPLACES, path], timeout=30)
    assert killed.returncode == -signal.SIGXFSZ
    (name,) = set(os.listdir(path.parent)) - before
    return name


def test_what_a_killed_process_left_is_deleted_after_an_hour_and_nothing_else(tmp_path):
    abandoned, young = left_behind(tmp_path / "f"), left_behind(tmp_path / "g")
    others = {".hidden", "notes.cortex-new", ".f.jsonl"}
    for name in (*others, abandoned):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - 4000,) * 2)
    replace_file(tmp_path / "f", b"new")
    assert set(os.listdir(tmp_path)) == {"f", young, *others}


def test_one_holder_at_a_time_whether_through_one_object_or_two(tmp_path):
    lock, other = FileLock(tmp_path / "l"), FileLock(tmp_path / "l")
    assert lock.try_take()
    assert not lock.try_take()
    assert not other.try_take()
    lock.release()
    assert other.try_take()
    other.release()
    assert mode(tmp_path / "l") == 0o600
    lock.close()
    other.close()


def test_a_second_thread_waits_for_the_first(tmp_path):
    lock = FileLock(tmp_path / "l")
    counts = {"now": 0, "most": 0, "all": 0}

    def count():
        for _ in range(200):
            with lock.held(30):
                counts["now"] += 1
                counts["most"] = max(counts["most"], counts["now"])
                counts["all"] += 1
                counts["now"] -= 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert counts == {"now": 0, "most": 1, "all": 800}
    lock.close()


HOLD = """
import sys
from pathlib import Path
from sandbox import FileLock
lock = FileLock(Path(sys.argv[1]))
assert lock.try_take()
print("held", flush=True)
sys.stdin.read()
"""


def test_what_another_process_holds_is_not_to_be_had_and_the_message_says_what_to_do(tmp_path):
    lock = FileLock(tmp_path / "l")
    with python(HOLD, tmp_path / "l") as process:
        assert process.stdout.readline() == "held\n"
        assert not lock.try_take()
        with (
            pytest.raises(LockBusy, match=r"another process has held .* if it is stopped, continue or end it"),
            lock.held(0.01),
        ):
            pass
    lock.close()


def test_a_holder_that_dies_lets_go(tmp_path):
    lock = FileLock(tmp_path / "l")
    with python(HOLD, tmp_path / "l") as process:
        assert process.stdout.readline() == "held\n"
        os.kill(process.pid, signal.SIGKILL)
        with lock.held(30):
            pass
    lock.close()


COUNT = """
import sys
from pathlib import Path
from sandbox import FileLock, replace_file
lock, path = FileLock(Path(sys.argv[1])), Path(sys.argv[2])
for _ in range(200):
    with lock.held(30):
        number = int(path.read_text())
        replace_file(path, str(number + 1).encode())
"""


def test_processes_that_count_under_the_lock_lose_nothing(tmp_path):
    (tmp_path / "n").write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", COUNT, tmp_path / "l", tmp_path / "n"]) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert (tmp_path / "n").read_text() == "600"


FORK = """
import os, sys
from pathlib import Path
from sandbox import FileLock
lock = FileLock(Path(sys.argv[1]))
is_held_before = sys.argv[2] == "before"
assert lock.try_take()
if not is_held_before:
    lock.release()
reader, writer = os.pipe()
if os.fork() == 0:
    os.read(reader, 1)
    is_taken = lock.try_take()
    os._exit(is_taken)
if not is_held_before:
    assert lock.try_take()
os.write(writer, b"x")
has_both = os.waitstatus_to_exitcode(os.wait()[1])
lock.release()
if os.fork() == 0:
    os._exit(lock.try_take())
print(has_both, os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.parametrize("taken", ["before", "after"])
def test_a_fork_and_its_parent_do_not_hold_the_lock_together(tmp_path, taken):
    assert output_of(FORK, tmp_path / "l", taken) == "0 1"


def test_a_lock_that_nobody_has_any_more_is_closed_and_not_held(tmp_path, nothing_left):
    lock, other = FileLock(tmp_path / "l"), FileLock(tmp_path / "l")
    assert lock.try_take()
    assert not other.try_take()
    del lock
    assert other.try_take()
    del other


LEFT = """
import os, sys
from pathlib import Path
from sandbox import FileLock
lock = FileLock(Path(sys.argv[1]))
sys.kept = circle = [FileLock(Path(sys.argv[1] + "2"))]
circle.append(circle)
assert lock.try_take() and circle[0].try_take()
child = os.fork()
if child == 0:
    del lock
    sys.exit(0)
os.waitpid(child, 0)
print(FileLock(Path(sys.argv[1])).try_take(), end="")
"""


def test_what_is_left_open_to_the_end_is_no_trouble_and_a_fork_that_drops_a_lock_takes_it_from_nobody(tmp_path):
    command = [sys.executable, "-c", LEFT, tmp_path / "l"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False", "")


def test_a_lock_whose_file_was_deleted_is_the_one_that_others_find(tmp_path):
    lock, other = FileLock(tmp_path / "l"), FileLock(tmp_path / "l")
    with lock.held():
        pass
    (tmp_path / "l").unlink()
    assert lock.try_take()
    assert not other.try_take()
    lock.release()
    lock.close()
    other.close()


def test_a_lock_in_a_folder_that_is_missing_is_an_error_and_can_be_tried_again(tmp_path):
    lock = FileLock(tmp_path / "missing" / "l")
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            lock.try_take()
    (tmp_path / "missing").mkdir()
    with lock.held():
        pass
    lock.close()


async def test_who_waits_in_a_loop_lets_others_run(tmp_path):
    lock, other = FileLock(tmp_path / "l"), FileLock(tmp_path / "l")
    assert other.try_take()
    ran = anyio.Event()

    async def let_go():
        await anyio.lowlevel.checkpoint()
        other.release()
        ran.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(let_go)
        await lock.take(30)
    assert ran.is_set()
    lock.release()
    assert other.try_take()
    with pytest.raises(LockBusy):
        await lock.take(0.01)
    lock.close()
    other.close()


async def running(flusher: Flusher, tasks) -> None:
    tasks.start_soon(flusher.run)
    await anyio.lowlevel.checkpoint()


async def test_what_is_wanted_often_is_done_once_and_the_last_counts():
    flusher, done, finished = Flusher(10), [], threading.Event()
    for number in range(5):
        flusher.want("a", lambda number=number: done.append(("a", number, threading.current_thread().name)))
    flusher.want("b", finished.set)
    async with anyio.create_task_group() as tasks:
        await running(flusher, tasks)
        assert await anyio.to_thread.run_sync(finished.wait, 30)
        assert done == [("a", 4, "motor-cortex-flusher")]
        again = threading.Event()
        flusher.want("a", again.set)
        assert await anyio.to_thread.run_sync(again.wait, 30)
        tasks.cancel_scope.cancel()


async def test_any_thread_may_want_something():
    flusher, done = Flusher(1), threading.Event()
    async with anyio.create_task_group() as tasks:
        await running(flusher, tasks)
        await anyio.to_thread.run_sync(flusher.want, "a", done.set)
        assert await anyio.to_thread.run_sync(done.wait, 30)
        tasks.cancel_scope.cancel()


async def test_what_is_wanted_when_it_ends_is_done_before_it_has_ended():
    flusher, done = Flusher(60_000), []
    async with anyio.create_task_group() as tasks:
        await running(flusher, tasks)
        flusher.want("a", lambda: done.append("a"))
        tasks.cancel_scope.cancel()
    assert done == ["a"]


async def test_what_is_wanted_while_the_last_work_is_done_is_done_too():
    flusher, begun, go_on, done = Flusher(1), threading.Event(), threading.Event(), []

    def work():
        begun.set()
        go_on.wait(30)

    async with anyio.create_task_group() as tasks:
        await running(flusher, tasks)
        flusher.want("a", work)
        assert await anyio.to_thread.run_sync(begun.wait, 30)
        flusher.want("b", lambda: done.append("b"))
        tasks.cancel_scope.cancel()
        # Not before it has ended: then the thread would look again, as always.
        threading.Timer(0.05, go_on.set).start()
    assert done == ["b"]


def test_without_a_task_nothing_is_done_before_flush():
    flusher, done = Flusher(1), []
    flusher.want("a", lambda: done.append("a"))
    flusher.want("b", lambda: done.append("b"))
    assert done == []
    flusher.flush()
    flusher.flush()
    assert done == ["a", "b"]


def test_flush_returns_when_what_had_been_begun_is_finished_too():
    flusher, begun, go_on, done = Flusher(1), threading.Event(), threading.Event(), []

    def work():
        begun.set()
        assert go_on.wait(30)
        done.append("work")

    flusher.want("a", work)
    first = threading.Thread(target=flusher.flush)
    first.start()
    assert begun.wait(30)
    second = threading.Thread(target=lambda: (flusher.flush(), done.append("flushed")))
    second.start()
    go_on.set()
    first.join(30)
    second.join(30)
    assert done == ["work", "flushed"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), LockBusy("busy"), ValueError("odd")])
def test_what_cannot_be_flushed_is_logged_and_keeps_nobody_else_from_the_disk(caplog, error):
    flusher, done = Flusher(1), []

    def fail():
        raise error

    flusher.want("a", fail)
    flusher.want("b", lambda: done.append("b"))
    with caplog.at_level(logging.WARNING, "motor_cortex"):
        flusher.flush()
    assert done == ["b"]
    assert [record.getMessage() for record in caplog.records] == [f"Cannot flush state to disk: {error}"]


async def test_an_error_does_not_end_the_flusher(caplog):
    flusher, done = Flusher(1), threading.Event()

    def fail():
        raise OSError(5, "Input/output error")

    async with anyio.create_task_group() as tasks:
        await running(flusher, tasks)
        flusher.want("a", fail)
        with anyio.fail_after(30):
            while not caplog.records:
                await anyio.sleep(0.001)
        flusher.want("b", done.set)
        assert await anyio.to_thread.run_sync(done.wait, 30)
        tasks.cancel_scope.cancel()


FORK_DURING_A_FLUSH = """
import os, signal, threading
from sandbox import Flusher
flusher, begun, go_on, done = Flusher(1), threading.Event(), threading.Event(), []

def work():
    begun.set()
    assert go_on.wait(30)

flusher.want("a", work)
thread = threading.Thread(target=flusher.flush)
thread.start()
assert begun.wait(30)
with flusher._table:
    child = os.fork()
if child == 0:
    signal.alarm(20)
    flusher.want("b", lambda: done.append("b"))
    flusher.flush()
    os._exit(len(done))
status = os.waitpid(child, 0)[1]
go_on.set()
thread.join(30)
print(os.waitstatus_to_exitcode(status), thread.is_alive())
"""


def test_a_fork_does_not_wait_for_a_thread_that_it_does_not_have():
    assert output_of(FORK_DURING_A_FLUSH) == "1 False"


WORK_OF_THE_PARENT = """
import os
from sandbox import Flusher
flusher = Flusher(10)
flusher.want("key", lambda: print("done by the child", flush=True))
child = os.fork()
if child == 0:
    flusher.flush()
    os._exit(0)
os.waitpid(child, 0)
print("the parent goes on")
"""


def test_a_forked_child_leaves_the_parents_work_to_the_parent():
    assert output_of(WORK_OF_THE_PARENT) == "the parent goes on"


def test_an_append_to_a_shared_line_file_waits_for_its_lock(tmp_path):
    """A process that is just dropping the oldest lines would lose a line that is appended meanwhile."""
    lines, other = LineFile(tmp_path / "x.jsonl", max_line_bytes=10, keep=5), FileLock(tmp_path / "x.lock")
    with other.held():
        thread = threading.Thread(target=lines.append, args=(b"1\n",))
        thread.start()
        thread.join(0.2)
        assert lines.last(1) == []
    thread.join(30)
    assert lines.last(1) == [b"1"]


def append_lines(path: Path, *lines: bytes) -> None:
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        for line in lines:
            append_to(handle, line)
    finally:
        os.close(handle)


def test_lines_follow_each_other_and_a_torn_one_spoils_only_itself(tmp_path):
    path = tmp_path / "lines"
    append_lines(path, b"1\n", b"2\n")
    with path.open("ab") as file:
        file.write(b"tor")
    append_lines(path, b"3\n")
    assert last_lines(path, 100, 100) == [b"1", b"2", b"tor", b"3"]


@pytest.mark.parametrize(("max_bytes", "found"), [(100, ["aa", "bb", "cc"]), (7, ["bb", "cc"]), (5, ["cc"]), (2, [])])
def test_only_so_much_of_the_end_is_read_and_no_part_of_a_line(tmp_path, max_bytes, found):
    path = tmp_path / "lines"
    append_lines(path, b"aa\n", b"bb\n", b"cc\n")
    assert [line.decode() for line in last_lines(path, 100, max_bytes)] == found


def test_the_end_of_a_line_that_is_longer_than_what_is_read_is_no_line(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"x" * 10_000)
    assert last_lines(path, 5, 1_000) == []
    assert last_lines(path, 5, 10_000) == [b"x" * 10_000]


def test_a_torn_line_that_is_longer_than_what_is_read_is_not_cut_in_part(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"first\n" + b"x" * 10_000)
    held = HeldLines(path, create=False, max_read_bytes=1_000)
    held.append(b"next\n")
    held.close()
    assert path.read_bytes() == b"first\n" + b"x" * 10_000 + b"\nnext\n"


def test_a_read_that_stops_early_cuts_nothing_off(tmp_path, monkeypatch):
    path = tmp_path / "lines"
    path.write_bytes(b"first\nsecond\n")
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda handle, size, at: real(handle, min(size, 3), at))
    held = HeldLines(path, create=False, max_read_bytes=1_000)
    assert held.lines == [b"first", b"second"]
    held.close()
    monkeypatch.setattr(os, "pread", lambda handle, size, at: b"")
    with pytest.raises(OSError, match="became shorter"):
        HeldLines(path, create=False, max_read_bytes=1_000)
    assert path.read_bytes() == b"first\nsecond\n"


def test_where_there_is_no_file_there_are_no_lines(tmp_path):
    assert last_lines(tmp_path / "lines", 100, 100) == []


def test_a_line_for_which_there_is_no_room_is_an_error_and_leaves_no_part(tmp_path):
    path = tmp_path / "lines"
    append_lines(path, b"whole\n")
    program = (
        "import resource, signal, os, sys\n"
        "from sandbox.disk.line_file import append_lines\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "handle = os.open(sys.argv[1], os.O_RDWR | os.O_APPEND)\n"
        "try:\n"
        "    append_lines(handle, b'too long for it\\n')\n"
        "except OSError as error:\n"
        "    print(error.strerror)\n"
    )
    command = [sys.executable, "-c", program, path]
    done = subprocess.run(command, env=without_coverage(), capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("File too large\n", "")
    assert path.read_bytes() == b"whole\n"
