"""What only a folder has: files of all kinds, modes, leftovers, a disk that refuses, and forks."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from neurons import Damage, DeferredStorage, MemoryStorage, StorageError
from tests.neurons.places import wait_until

KEY = "neurons/crypto-price"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@contextmanager
def calls_of(*names: str) -> Iterator[list[str]]:
    """The calls of the system with these names, in their order."""
    found: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "c_call" and (name := getattr(argument, "__name__", "")) in names:
            found.append(name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


def test_what_is_written_through_is_flushed_before_and_after_it_takes_its_name(state: Path):
    storage = DeferredStorage(state)
    with calls_of("fsync", "replace") as calls:
        storage.write_through(KEY, {"a": 1})
    assert calls == ["fsync", "replace", "fsync"]
    with calls_of("fsync", "replace") as calls:
        storage.write(KEY, {"a": 2})
    assert calls == []
    with calls_of("fsync", "replace") as calls:
        storage.flush()
    assert calls == ["fsync", "replace", "fsync"]
    with calls_of("unlink", "fsync") as calls:
        storage.delete(KEY)
    assert calls == ["unlink", "fsync"]


def test_files_and_folders_are_their_owners_alone(state: Path):
    DeferredStorage(state).write_through(KEY, {"a": 1})
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (state, *state.rglob("*"))}
    assert modes == {"state": 0o700, "neurons": 0o700, "crypto-price.json": 0o600, ".lock": 0o600}


def test_nothing_is_made_by_who_only_reads(state: Path):
    storage = DeferredStorage(state)
    assert storage.read(KEY) is None
    assert storage.read_all("neurons/") == []
    assert not state.exists()


def test_what_a_killed_process_left_unfinished_is_swept_by_the_next_who_writes(state: Path):
    storage = DeferredStorage(state)
    storage.write_through(KEY, {"a": 1})
    left = state / "neurons" / ".crypto-price.json.abc123.cortex-new"
    left.write_text('{"revision": 2')
    kept = state / "neurons" / "notes of the owner"
    kept.touch()
    assert [document.key for document in DeferredStorage(state).read_all("neurons/")] == [KEY]
    assert left.exists(), "who reads has no lock: it might be of somebody who is at it"
    DeferredStorage(state).write_through("neurons/other", {"a": 1})
    assert not left.exists()
    assert kept.exists()


def test_other_files_in_the_folder_are_no_documents(state: Path):
    storage = DeferredStorage(state)
    storage.write_through(KEY, {"a": 1})
    for name in ("README.json", "a.b.json", "crypto-price.json~", "crypto-price.json.damaged-1", "x.txt", ".json"):
        (state / "neurons" / name).write_text("?")
    assert [document.key for document in storage.read_all("neurons/")] == [KEY]


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "link to nothing"])
def test_what_is_no_file_is_set_aside_like_damage(state: Path, tmp_path: Path, kind: str):
    damages: list[Damage] = []
    storage = DeferredStorage(state, on_damage=damages.append)
    storage.write_through("neurons/z", {"a": 1})
    path = state / f"{KEY}.json"
    secret = tmp_path / "secret.json"
    secret.write_text('{"revision": 1, "secret": true}')
    match kind:
        case "link":
            path.symlink_to(secret)
        case "link to nothing":
            path.symlink_to(tmp_path / "nothing")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
    assert [document.key for document in storage.read_all("neurons/")] == ["neurons/z"]
    assert [damage.path for damage in damages] == [state / f"{KEY}.json.damaged-1"]
    assert storage.write_through(KEY, {"a": 1}) == 1
    assert secret.read_text() == '{"revision": 1, "secret": true}'


def test_a_file_that_cannot_be_read_stays_is_reported_once_and_stops_no_other(
    state: Path, monkeypatch: pytest.MonkeyPatch
):
    damages: list[Damage] = []
    storage = DeferredStorage(state, on_damage=damages.append)
    storage.write_through(KEY, {"a": 1})
    storage.write_through("neurons/z", {"a": 1})
    opened = os.open

    def refuse(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith("crypto-price.json"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(path, flags, mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        for _ in range(2):
            assert [document.key for document in storage.read_all("neurons/")] == ["neurons/z"]
            with pytest.raises(StorageError, match=r'Cannot read ".*crypto-price.json": Permission denied'):
                storage.read(KEY)
    [damage] = damages
    assert damage.path is None
    assert str(damage).endswith("; it stays where it is")
    assert storage.read(KEY).data == {"a": 1}


def test_what_cannot_be_set_aside_is_reported_once_and_stops_no_other(state: Path, monkeypatch: pytest.MonkeyPatch):
    damages: list[Damage] = []
    storage = DeferredStorage(state, on_damage=damages.append)
    storage.write_through("neurons/z", {"a": 1})
    (state / f"{KEY}.json").write_text("?")

    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "rename", refuse)
    for _ in range(3):
        assert [document.key for document in storage.read_all("neurons/")] == ["neurons/z"]
    [damage] = damages
    assert "Read-only file system" in damage.reason


def test_a_folder_that_somebody_deleted_is_made_again(state: Path):
    storage = DeferredStorage(state)
    storage.write_through(KEY, {"a": 1})
    shutil.rmtree(state)
    assert storage.read(KEY) is None
    assert storage.write_through(KEY, {"a": 2}) == 1
    with storage.alone("neurons"):
        shutil.rmtree(state)
    assert storage.write_through(KEY, {"a": 3}) == 1


def test_a_full_disk_is_told_and_what_is_behind_waits_for_room(state: Path, monkeypatch: pytest.MonkeyPatch):
    storage = DeferredStorage(state)
    storage.write_through(KEY, {"count": 1})
    storage.update(KEY, lambda data: {"count": data["count"] + 1}, through=False)
    storage.write("neurons/other", {"count": 1})

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match=r"Cannot write .*: No space left on device"):
            storage.flush()
        with pytest.raises(StorageError, match="No space left on device"):
            storage.write_through(KEY, {"count": 7})
    assert DeferredStorage(state).read(KEY).data == {"count": 1}
    assert storage.read(KEY).data == {"count": 2}
    storage.flush()
    assert DeferredStorage(state).read(KEY).data == {"count": 2}
    assert DeferredStorage(state).read("neurons/other").data == {"count": 1}
    assert [path.name for path in state.rglob("*.cortex-new")] == []


def test_what_others_can_see_is_not_done_once_more_though_the_disk_refused_in_the_end(
    state: Path, monkeypatch: pytest.MonkeyPatch
):
    storage = DeferredStorage(state)
    storage.write_through(KEY, {"count": 1})
    storage.update(KEY, lambda data: {"count": data["count"] + 1}, through=False)
    flushed = os.fsync
    calls: list[int] = []

    def second_fails(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flushed(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", second_fails)
        with pytest.raises(StorageError, match="Input/output error"):
            storage.flush()
    storage.flush()
    assert storage.read(KEY).data == DeferredStorage(state).read(KEY).data == {"count": 2}


def test_who_reads_while_it_is_brought_to_disk_finds_each_change_once(state: Path, monkeypatch: pytest.MonkeyPatch):
    storage = DeferredStorage(state)
    storage.write_through(KEY, {"count": 1})
    storage.update(KEY, lambda data: {"count": data["count"] + 1}, through=False)
    flushed = os.fsync
    seen: list[object] = []

    def look(handle: int) -> None:
        flushed(handle)
        seen.append(storage.read(KEY).data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", look)
        storage.flush()
    # Before the file has its name, and after.
    assert seen == [{"count": 2}, {"count": 2}]


def test_two_writes_within_a_tick_of_the_clock_give_two_stamps(state: Path):
    storage = DeferredStorage(state)
    storage.write_through(KEY, {"a": 1})
    tick = time.time_ns()
    os.utime(state / "neurons", ns=(tick, tick))
    before = storage.stamp("neurons")
    storage.write_through(KEY, {"a": 2})
    os.utime(state / "neurons", ns=(tick, tick))
    wait_until(lambda: storage.stamp("neurons") != before)


def test_a_disk_of_the_fake_refuses_on_demand_and_a_crash_loses_what_was_behind():
    storage = MemoryStorage()
    storage.write_through(KEY, {"a": 1})
    storage.write(KEY, {"a": 2})
    storage.refuses = "No space left on device"
    with pytest.raises(StorageError, match=f'Cannot write "{KEY}": No space left on device'):
        storage.flush()
    assert storage.read(KEY).data == {"a": 2}
    storage.refuses = None
    storage.crash()
    storage.flush()
    assert storage.read(KEY).data == {"a": 1}


def test_a_fork_has_its_own_locks_and_leaves_what_is_behind_to_its_parent(state: Path):
    storage = DeferredStorage(state)
    storage.write_through(KEY, {"count": 1})
    storage.update(KEY, lambda data: {"count": data["count"] + 1}, through=False)
    with storage.alone("neurons"):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                storage.flush()
                if storage.update("neurons/child", lambda _: {"ok": True}).data == {"ok": True}:
                    status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert DeferredStorage(state).read(KEY).data == {"count": 1}
    storage.flush()
    assert DeferredStorage(state).read(KEY).data == {"count": 2}
    assert storage.read("neurons/child").data == {"ok": True}
