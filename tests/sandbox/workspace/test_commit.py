"""All changes or none: conflicts, faults, locks, modes, and what an earlier commit left unfinished."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from sandbox.contracts.errors import SandboxError
from sandbox.workspace import WorkspaceBusy, WorkspaceConflict, WorkspaceError, transaction
from sandbox.workspace.commit import commit, prepare
from sandbox.workspace.difference import differences
from sandbox.workspace.journal import Journal, Step

from .support import Files, contents, refused


async def test_a_commit_makes_the_changes_and_leaves_nothing_else(folder):
    run = Files(folder)
    await run.write("new", b"new")
    await run.write("docs/b.txt", b"changed")
    await run.mkdir("made")
    await run.remove("docs/deep", recursive=True)
    await run.changes().commit()
    assert contents(folder) == {
        "a.txt": b"alpha",
        "docs": None,
        "docs/b.txt": b"changed",
        "made": None,
        "new": b"new",
    }


async def test_modes_are_kept_and_nothing_new_is_a_program(folder):
    os.chmod(folder / "a.txt", 0o4751)
    os.chmod(folder / "docs/b.txt", 0o600)
    os.chmod(folder / "docs/deep/c.txt", 0o755)
    if os.geteuid() == 0:
        os.chown(folder / "docs/b.txt", 1234, 4321)
    umask = os.umask(0o027)
    try:
        run = Files(folder)
        await run.write("a.txt", b"changed")
        await run.write("docs/b.txt", b"changed")
        await run.write("new")
        await run.mkdir("made")
        await run.rename("docs/deep/c.txt", "moved")
        await run.changes().commit()
    finally:
        os.umask(umask)
    modes = {name: (folder / name).stat().st_mode & 0o7777 for name in ("a.txt", "docs/b.txt", "new", "made", "moved")}
    assert modes == {"a.txt": 0o751, "docs/b.txt": 0o600, "new": 0o640, "made": 0o750, "moved": 0o755}
    if os.geteuid() == 0:
        status = (folder / "docs/b.txt").stat()
        assert (status.st_uid, status.st_gid) == (1234, 4321)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def ownership(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_uid, status.st_gid, status.st_mode & 0o7777


async def test_new_files_and_folders_have_the_modes_that_the_process_gives(folder):
    with umask(0o002):
        run = Files(folder)
        await run.write("new")
        await run.mkdir("made")
        await run.changes().commit()
    assert (folder / "new").stat().st_mode & 0o7777 == 0o664
    assert (folder / "made").stat().st_mode & 0o7777 == 0o775


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give folders to any group")
async def test_what_is_new_in_a_shared_folder_belongs_to_its_group(folder):
    os.chown(folder, -1, 1111)
    folder.chmod(0o2775)
    os.chown(folder / "docs/deep", -1, 2222)
    (folder / "docs/deep").chmod(0o2770)
    with umask(0o002):
        run = Files(folder)
        for place in ("", "docs/", "docs/deep/"):
            await run.write(f"{place}new")
            await run.mkdir(f"{place}made/inner", recursive=True)
            await run.write(f"{place}made/inner/new")
        await run.changes().commit()
    for place, group, handed_down in (("", 1111, 0o2000), ("docs/", 0, 0), ("docs/deep/", 2222, 0o2000)):
        assert ownership(folder / f"{place}new") == (0, group, 0o664)
        assert ownership(folder / f"{place}made") == (0, group, 0o775 | handed_down)
        assert ownership(folder / f"{place}made/inner") == (0, group, 0o775 | handed_down)
        assert ownership(folder / f"{place}made/inner/new") == (0, group, 0o664)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize(("member", "group", "mode"), [(True, 1111, 0o664), (False, 0, 0o644)])
async def test_a_changed_file_of_another_keeps_its_group_if_it_may(folder, member, group, mode):
    os.chown(folder / "a.txt", 1234, 1111)
    (folder / "a.txt").chmod(0o664)
    run = Files(folder)
    await run.write("a.txt", b"mine")
    found, identity = differences(run.transaction._overlay), run.transaction._folder.identity
    run.transaction.drop()
    groups = os.getgroups()
    os.setgroups([0, 1111] if member else [0])
    try:
        with without_privileges():
            commit(folder, identity, found)
    finally:
        os.setgroups(groups)
    # What the old group was allowed is not for another group.
    assert ownership(folder / "a.txt") == (0, group, mode)


async def test_a_program_that_is_moved_and_written_to_is_a_program_no_more(folder):
    for name in ("moved", "rewritten", "continued"):
        (folder / f"{name}.sample").write_bytes(b"old")
        (folder / f"{name}.sample").chmod(0o755)
    run = Files(folder)
    await run.call("rename", path="moved.sample", to="moved")
    await run.call("rename", path="rewritten.sample", to="rewritten")
    await run.call("rename", path="continued.sample", to="continued")
    await run.write("rewritten", b"new")
    await run.write("continued", b"new", append=True)
    await run.changes().commit()
    assert (folder / "moved").stat().st_mode & 0o111
    assert not (folder / "rewritten").stat().st_mode & 0o111
    assert not (folder / "continued").stat().st_mode & 0o111


async def test_a_hard_link_to_a_file_outside_is_not_written_through(folder, outside):
    os.link(outside / "secret.txt", folder / "hard")
    run = Files(folder)
    await run.write("hard", b"PWNED")
    await run.changes().commit()
    assert (folder / "hard").read_bytes() == b"PWNED"


def unnoticeably(path: Path) -> None:
    """Other content of the same length at the same time, as copying programs leave it."""
    status = path.stat()
    path.write_bytes(path.read_bytes().upper())
    # Repeat until ctime has changed: within one clock tick of the file system, a change cannot be detected.
    while path.stat().st_ctime_ns == status.st_ctime_ns or path.stat().st_mtime_ns != status.st_mtime_ns:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


async def test_two_names_for_one_file_are_changed_at_once(folder):
    os.link(folder / "a.txt", folder / "docs" / "same")
    os.link(folder / "a.txt", folder / "other")
    run = Files(folder)
    await run.write("a.txt", b"one")
    await run.write("docs/same", b"two")
    await run.remove("other")
    await run.changes().commit()
    assert (folder / "a.txt").read_bytes() == b"one"
    assert (folder / "docs" / "same").read_bytes() == b"two"
    assert not (folder / "other").exists()


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda folder: (folder / "a.txt").write_bytes(b"somebody else"),
        lambda folder: unnoticeably(folder / "a.txt"),
        lambda folder: unnoticeably(folder / "docs/deep/c.txt"),
        lambda folder: (folder / "a.txt").unlink(),
        lambda folder: ((folder / "a.txt").unlink(), (folder / "a.txt").mkdir()),
        lambda folder: os.replace(folder / "docs/b.txt", folder / "a.txt"),
        lambda folder: (folder / "new").write_bytes(b"somebody else"),
        lambda folder: (folder / "new").symlink_to("/etc"),
        lambda folder: (folder / "docs/deep/c.txt").unlink(),
        lambda folder: (folder / "docs/deep/d.txt").touch(),
        lambda folder: (folder / "docs/deep").rename(folder / "docs/deeper"),
        lambda folder: (folder / "docs").rename(folder / "dox"),
        lambda folder: ((folder / "docs").rename(folder / "dox"), (folder / "docs").symlink_to("dox")),
        lambda folder: ((folder / "docs").rename(folder / "dox"), (folder / "docs").write_bytes(b"")),
    ],
)
async def test_what_another_has_changed_meanwhile_is_a_conflict_and_nothing_changes(folder, meanwhile):
    run = Files(folder)
    assert await run.read("a.txt") == b"alpha"
    await run.write("other", b"other")
    await run.write("docs/x", b"x")
    await run.remove("docs/deep", recursive=True)
    await run.write("new", b"new")
    await run.write("a.txt", b"mine")
    changes = run.changes()
    meanwhile(folder)
    before = contents(folder)
    with pytest.raises(WorkspaceConflict, match="nothing has changed") as caught:
        await changes.commit()
    assert isinstance(caught.value, SandboxError)
    assert contents(folder) == before
    changes.rollback()


@pytest.mark.parametrize(
    ("meanwhile", "reason"),
    [
        (lambda docs: (docs / "deep/late").touch(), "was added to a folder that the run removed"),
        (lambda docs: docs.rename(docs.parent / "dox"), "is not"),
        (lambda docs: (docs.rename(docs.parent / "dox"), docs.symlink_to("dox")), "is not"),
        (lambda docs: shutil.rmtree(docs / "other"), "is not a folder any more"),
        (lambda docs: ((docs / "other").rmdir(), (docs / "other").symlink_to("deep")), "is not a folder any more"),
    ],
)
async def test_a_conflict_is_noticed_before_anything_is_begun(folder, meanwhile, reason):
    (folder / "docs" / "other").mkdir()
    run = Files(folder)
    await run.write("docs/other/new", b"x")
    await run.remove("docs/deep", recursive=True)
    found, identity = differences(run.transaction._overlay), run.transaction._folder.identity
    run.transaction.drop()
    meanwhile(folder / "docs")
    begun = []
    with pytest.raises(WorkspaceConflict, match=reason):
        commit(folder, identity, found, begun.append)
    assert begun == []


async def test_a_change_between_reading_and_writing_is_a_conflict(folder):
    run = Files(folder)
    text = await run.read("a.txt")
    (folder / "a.txt").write_bytes(b"newer than what the run read")
    await run.write("a.txt", text + b"!")
    with pytest.raises(WorkspaceConflict):
        await run.changes().commit()
    assert (folder / "a.txt").read_bytes() == b"newer than what the run read"


async def test_what_a_run_only_read_is_no_conflict(folder):
    run = Files(folder)
    await run.read("a.txt")
    await run.names()
    await run.write("new")
    (folder / "a.txt").write_bytes(b"changed meanwhile")
    await run.changes().commit()
    assert (folder / "new").exists()


async def test_of_two_runs_the_second_conflicts_only_where_they_overlap(folder):
    runs = [Files(folder) for _ in range(3)]
    await runs[0].write("a.txt", b"first")
    await runs[1].write("a.txt", b"second")
    await runs[2].write("docs/b.txt", b"third")
    first, second, third = (run.changes() for run in runs)
    await first.commit()
    with pytest.raises(WorkspaceConflict, match=r"a\.txt"):
        await second.commit()
    await third.commit()
    assert contents(folder) | {} == {
        "a.txt": b"first",
        "docs": None,
        "docs/b.txt": b"third",
        "docs/deep": None,
        "docs/deep/c.txt": b"gamma",
    }


async def test_many_runs_commit_at_once(folder):
    runs = [Files(folder) for _ in range(8)]
    for number, run in enumerate(runs):
        await run.write(f"own-{number}", b"x")
        await run.write(f"docs/own-{number}", b"x")
    async with anyio.create_task_group() as tasks:
        for run in runs:
            tasks.start_soon(run.changes().commit)
    assert len(list(folder.glob("own-*"))) == len(list(folder.glob("docs/own-*"))) == 8


async def test_a_change_in_the_last_moment_is_noticed_and_undone(folder):
    """By another process that ignores the lock, after the commit has checked (a race)."""
    tricks = {
        "a.txt": lambda: (folder / "a.txt").write_bytes(b"last moment"),
        "a.txt again": lambda: unnoticeably(folder / "a.txt"),
        "new": lambda: (folder / "new").write_bytes(b"last moment"),
        "docs/deep": lambda: (folder / "docs/deep/late").write_bytes(b"last moment"),
        "docs/b.txt": lambda: (folder / "docs/b.txt").unlink(),
    }
    for path, trick in tricks.items():
        run = Files(folder)
        await run.write("a.txt", b"mine")
        await run.write("new", b"mine")
        await run.mkdir("made")
        await run.remove("docs/deep", recursive=True)
        await run.remove("docs/b.txt")
        overlay, identity = run.transaction._overlay, run.transaction._folder.identity
        expected = {}

        def at(where: str, trick=trick, expected=expected) -> None:
            if where == "flushed journal":
                trick()
                expected.update(contents(folder))

        with pytest.raises(WorkspaceError):
            commit(folder, identity, differences(overlay), at)
        run.transaction.drop()
        kept = {name: data for name, data in expected.items() if not name.startswith(".motor")}
        assert contents(folder) == kept, path
        for name in ("new", "docs/deep/late"):
            (folder / name).unlink(missing_ok=True)
        (folder / "docs/b.txt").write_bytes(b"beta")


async def test_the_staging_folder_is_private_and_no_run_sees_it(folder):
    run, other = Files(folder), Files(folder)
    await run.write("new", b"x")
    await other.names()
    seen = []

    def at(where: str) -> None:
        if where == "flushed journal":
            (staging,) = folder.glob(".motor-cortex-*")
            seen.append((staging.stat().st_mode & 0o777, other.transaction._folder.entries((), 100)))

    overlay, identity = run.transaction._overlay, run.transaction._folder.identity
    commit(folder, identity, differences(overlay), at)
    assert seen == [(0o700, {"a.txt": "file", "docs": "folder"})]
    for each in (run, other):
        each.transaction.drop()


async def test_without_hard_links_a_commit_works_too_and_is_undone_too(folder, monkeypatch):
    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", no_links)
    before = contents(folder)
    run = Files(folder)
    await run.write("a.txt", b"mine")
    await run.write("docs/b.txt", b"mine")
    found, identity = differences(run.transaction._overlay), run.transaction._folder.identity
    run.transaction.drop()
    for moment in ("set aside", "put in place"):

        def at(where: str, moment=moment) -> None:
            if where == moment:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with pytest.raises(WorkspaceError, match="No space left on device; nothing has changed"):
            commit(folder, identity, found, at)
        assert contents(folder) == before
    commit(folder, identity, found)
    assert contents(folder) == before | {"a.txt": b"mine", "docs/b.txt": b"mine"}


@pytest.mark.parametrize("moment", ["set aside", "put in place", "flushed folders"])
async def test_a_commit_that_was_undone_can_be_tried_again(folder, monkeypatch, moment):
    run = Files(folder)
    await run.write("a.txt", b"mine")
    await run.remove("docs", recursive=True)
    changes = run.changes()
    before = contents(folder)
    wrong = []

    def at(where: str) -> None:
        if where == moment and not wrong:
            wrong.append(where)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(transaction, "commit", lambda *arguments: commit(*arguments, at))
        with pytest.raises(WorkspaceError, match="nothing has changed"):
            await changes.commit()
    assert contents(folder) == before
    await changes.commit()
    assert contents(folder) == {"a.txt": b"mine"}


@pytest.mark.parametrize("moment", ["set aside", "put in place"])
async def test_what_another_changes_after_a_commit_was_undone_is_a_conflict(folder, moment):
    run = Files(folder)
    await run.write("a.txt", b"mine")
    await run.write("docs/b.txt", b"mine")
    found, identity = differences(run.transaction._overlay), run.transaction._folder.identity
    run.transaction.drop()

    def at(where: str) -> None:
        if where == moment:
            unnoticeably(folder / "docs/b.txt")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for checkpoint in (at, lambda where: None):
        with pytest.raises(WorkspaceError, match="nothing has changed"):
            commit(folder, identity, found, checkpoint)
    assert (folder / "a.txt").read_bytes() == b"alpha"
    assert (folder / "docs/b.txt").read_bytes() == b"BETA"


async def test_a_full_disk_changes_nothing(folder, monkeypatch):
    before = contents(folder)
    run = Files(folder)
    await run.write("a.txt", b"mine")
    await run.write("new", b"mine" * 100)
    changes = run.changes()
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data[:3])

    with monkeypatch.context() as patch:
        patch.setattr("sandbox.workspace.staging.os.write", full)
        with pytest.raises(WorkspaceError, match="Cannot commit to the workspace: No space left on device"):
            await changes.commit()
    assert contents(folder) == before
    await changes.commit()
    assert contents(folder) == before | {"a.txt": b"mine", "new": b"mine" * 100}


@contextmanager
def without_privileges() -> Iterator[None]:
    """Drop this thread's privileges for the block, so that file permissions apply even to root."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    held = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, held) == 0
    less = (ctypes.c_uint32 * 6)(*held)
    less[0] &= ~0b111  # chown, and to go past permissions when reading and writing
    assert libc.capset(header, less) == 0
    try:
        yield
    finally:
        assert libc.capset(header, held) == 0


async def test_a_folder_that_cannot_be_written_to_is_read_and_not_changed(folder):
    run = Files(folder)
    await run.write("a.txt", b"mine")
    await run.write("docs/deep/c.txt", b"mine")
    overlay, identity = run.transaction._overlay, run.transaction._folder.identity
    before = contents(folder)
    for path in (folder, folder / "docs" / "deep"):
        os.chmod(path, 0o555)
        with without_privileges():
            os.close(prepare(folder))
            with pytest.raises(WorkspaceError, match="Permission denied; nothing has changed"):
                commit(folder, identity, differences(overlay))
        os.chmod(path, 0o755)
        assert contents(folder) == before
    run.transaction.drop()


async def test_a_read_only_file_is_not_written_to(folder):
    (folder / "a.txt").chmod(0o444)
    run = Files(folder)
    for refusal in (
        run.write("a.txt", b"mine"),
        run.write("a.txt", b"mine", append=True),
        run.copy("docs/b.txt", "a.txt"),
    ):
        with refused("PermissionDenied", match="read-only"):
            await refusal
    with refused("AlreadyExists"):
        await run.write("a.txt", create_new=True)
    assert list(run.changes()) == []


async def test_a_read_only_file_is_copied_moved_replaced_and_removed_as_its_folder_allows(folder):
    for name in ("a.txt", "docs/b.txt", "docs/deep/c.txt"):
        (folder / name).chmod(0o444)
    run = Files(folder)
    await run.copy("a.txt", "copy")
    await run.rename("a.txt", "moved")
    for own in ("copy", "moved"):
        with refused("PermissionDenied", match="read-only"):
            await run.write(own, b"mine")
    await run.write("new", b"new")
    await run.rename("new", "docs/b.txt")
    await run.remove("docs/deep/c.txt")
    await run.write("docs/deep/c.txt", b"another")
    await run.changes().commit()
    assert contents(folder) == {
        "copy": b"alpha",
        "docs": None,
        "docs/b.txt": b"new",
        "docs/deep": None,
        "docs/deep/c.txt": b"another",
        "moved": b"alpha",
    }


async def test_a_file_that_others_may_write_to_and_this_user_may_not_is_read_only(folder, monkeypatch):
    run = Files(folder)
    await run.names()
    if os.geteuid() == 0:
        os.chown(folder / "a.txt", 12345, 12345)
        with without_privileges():
            assert run.transaction._folder.may_write(("docs", "b.txt"))
            assert not run.transaction._folder.may_write(("a.txt",))
    monkeypatch.setattr(run.transaction._folder, "may_write", lambda parts: parts != ("a.txt",))
    await run.write("docs/b.txt", b"mine")
    with refused("PermissionDenied", match="read-only"):
        await run.write("a.txt", b"mine")
    run.transaction.drop()


async def test_what_cannot_be_read_is_refused(folder):
    run = Files(folder)
    await run.names()
    os.chmod(folder / "docs", 0)
    os.chmod(folder / "a.txt", 0)
    try:
        with without_privileges():
            reader = run.transaction._folder
            for refusal in (
                lambda: reader.read(("a.txt",), 100),
                lambda: reader.entries(("docs",), 100),
                lambda: reader.walk(("docs",), 100),
                lambda: reader.look(("docs", "b.txt")),
            ):
                with refused("PermissionDenied"):
                    refusal()
            assert reader.digest(("a.txt",), 100) is None
    finally:
        os.chmod(folder / "docs", 0o755)
        os.chmod(folder / "a.txt", 0o644)
        run.transaction.drop()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The lock, as another process would hold it."""
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


async def test_a_commit_waits_for_the_lock_and_can_be_cancelled_while_it_waits(folder):
    run, late = Files(folder), Files(folder)
    await run.write("new", b"x")
    changes = run.changes()
    async with anyio.create_task_group() as tasks:
        with held(folder):
            with anyio.move_on_after(0.05) as scope:
                await changes.commit()
            assert scope.cancelled_caught
            assert not (folder / "new").exists()
            tasks.start_soon(changes.commit)
            tasks.start_soon(late.read, "a.txt")
            await anyio.wait_all_tasks_blocked()
            assert not (folder / "new").exists()
    assert (folder / "new").exists()
    late.transaction.drop()


async def test_a_lock_that_is_never_given_back_is_reported(folder, monkeypatch):
    monkeypatch.setattr(transaction, "LOCK_WAIT_S", 0.05)
    run, late = Files(folder), Files(folder)
    await run.write("new", b"x")
    changes = run.changes()
    with held(folder):
        with pytest.raises(WorkspaceBusy):
            await changes.commit()
        with refused("Busy"):
            await late.read("a.txt")
    assert await late.read("a.txt") == b"alpha"
    late.transaction.drop()
    await changes.commit()


async def test_a_folder_that_cannot_be_locked_is_not_used(folder, monkeypatch):
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("sandbox.workspace.commit.fcntl.flock", no_locks)
    with pytest.raises(WorkspaceError, match="Cannot lock"):
        prepare(folder)


STAGING = ".motor-cortex-0123456789abcdef"


def left_unfinished(folder: Path, *paths: str) -> Path:
    """What a commit leaves that is killed right after it has begun: new content for each path."""
    staging = folder / STAGING
    staging.mkdir()
    staging.chmod(0o700)
    steps = []
    for number, path in enumerate(paths):
        new = staging / f"new-{number}"
        new.write_bytes(b"committed")
        parts = tuple(path.split("/"))
        steps.append(Step(number=number, path=parts, old=True, new=True, inode=new.stat().st_ino))
    (staging / "journal").write_bytes(Journal(inode=staging.stat().st_ino, steps=tuple(steps)).encode())
    return staging


async def test_what_a_commit_left_unfinished_is_finished_before_the_next_run_reads(folder, caplog):
    staging = left_unfinished(folder, "a.txt")
    run = Files(folder)
    assert await run.read("a.txt") == b"committed"
    assert await run.names() == ["a.txt", "docs"]
    assert not staging.exists()
    assert caplog.messages == []
    run.transaction.drop()


async def test_what_a_commit_had_not_begun_is_thrown_away(folder):
    staging = folder / STAGING
    (staging / "old-1" / "late").mkdir(parents=True)
    staging.chmod(0o700)
    (staging / "new-0").write_bytes(b"not committed")
    (staging / "journal-draft").write_bytes(b'{"inode":')
    run = Files(folder)
    assert await run.read("a.txt") == b"alpha"
    assert not staging.exists()
    run.transaction.drop()


async def is_left_alone(folder: Path, staging: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = contents(staging)
    run = Files(folder)
    assert await run.read("a.txt") == b"alpha"
    assert await run.names() == ["a.txt", "docs"]
    await run.write("new", b"new")
    await run.changes().commit()
    assert contents(staging) == before
    assert (folder / "a.txt").read_bytes() == b"alpha"
    assert caplog.messages


@pytest.mark.parametrize("kind", ["copied", "escaping", "not json", "reserved", "another new file"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_journal_that_no_commit_has_written_here_is_not_obeyed(folder, outside, kind, caplog):
    staging = left_unfinished(folder, "a.txt")
    journal = json.loads((staging / "journal").read_bytes())
    match kind:
        case "copied":
            journal["inode"] += 1
        case "escaping":
            journal["steps"][0]["path"] = ["..", "outside", "secret.txt"]
        case "reserved":
            journal["steps"][0]["path"] = [".motor-cortex-other", "x"]
        case "another new file":
            journal["steps"][0]["inode"] += 1
    (staging / "journal").write_text("[[[" if kind == "not json" else json.dumps(journal))
    await is_left_alone(folder, staging, caplog)


def give_away(path: Path) -> None:
    os.chown(path, 12345, 12345, follow_symlinks=False)


def replace_by_link(path: Path) -> None:
    path.rename(path.parent / "old-9")
    path.symlink_to("old-9")


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DIFFERENT = {
    "open to read": lambda staging: staging.chmod(0o755),
    "open to the group": lambda staging: staging.chmod(0o770),
    "sticky": lambda staging: staging.chmod(0o1700),
    "new link": lambda staging: replace_by_link(staging / "new-0"),
    "new pipe": lambda staging: replace_by_pipe(staging / "new-0"),
    "more in it": lambda staging: (staging / "thesis.txt").write_bytes(b"years of work"),
    "other number": lambda staging: (staging / "new-x").write_bytes(b"years of work"),
    "linked journal": lambda staging: replace_by_link(staging / "journal"),
    "journal pipe": lambda staging: replace_by_pipe(staging / "journal"),
}


@pytest.mark.parametrize(
    ("kind", "begun"),
    [(kind, begun) for kind in DIFFERENT for begun in (True, False) if begun or "journal" not in kind],
)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_folder_that_no_commit_has_left_is_neither_obeyed_nor_deleted(folder, kind, begun, caplog):
    staging = left_unfinished(folder, "a.txt")
    DIFFERENT[kind](staging)
    if not begun:
        (staging / "journal").unlink()
    await is_left_alone(folder, staging, caplog)
    assert caplog.messages == [
        f'Left alone "{STAGING}" in the workspace (1 in all): no commit of this user has made it'
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("what", [".", "journal"])
async def test_what_another_user_has_planted_is_neither_obeyed_nor_deleted(folder, what, caplog):
    staging = left_unfinished(folder, "a.txt")
    give_away(staging / what)
    await is_left_alone(folder, staging, caplog)
    assert len(caplog.messages) == 1


async def test_a_folder_of_another_user_is_not_even_opened(folder, monkeypatch):
    """Opening it could fail, and so could every run."""
    left_unfinished(folder, "a.txt")
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    opened = []
    monkeypatch.setattr("sandbox.workspace.leftovers.open_staging", lambda *where: opened.append(where))
    os.close(prepare(folder))
    assert opened == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_what_belongs_to_others_is_replaced_and_set_aside_all_the_same(folder):
    staging = left_unfinished(folder, "a.txt", "docs/b.txt")
    for path in (folder / "a.txt", staging / "new-0"):
        give_away(path)
    os.rename(folder / "docs/b.txt", staging / "old-1")
    give_away(staging / "old-1")
    os.close(prepare(folder))
    assert (folder / "a.txt").read_bytes() == (folder / "docs/b.txt").read_bytes() == b"committed"
    assert not staging.exists()


@pytest.mark.parametrize(
    "name", [".motor-cortex-notes", ".motor-cortex-", f"{STAGING}0", STAGING.upper(), ".motor-cortex-0123456789ABCDEF"]
)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_any_other_reserved_name_is_left_alone_and_hidden(folder, name):
    (folder / name).mkdir()
    (folder / name).chmod(0o700)
    (folder / name / "journal-draft").write_text("years of work")
    run = Files(folder)
    assert await run.names() == ["a.txt", "docs"]
    await run.write("new")
    await run.changes().commit()
    assert (folder / name / "journal-draft").read_text() == "years of work"


@pytest.mark.parametrize("swap", ["another mode", "another folder"])
async def test_a_staging_folder_that_is_not_private_is_not_used(folder, swap):
    run = Files(folder)
    await run.write("new", b"x")
    overlay, identity = run.transaction._overlay, run.transaction._folder.identity
    (folder / "docs").chmod(0o700)
    before = contents(folder)

    def at(where: str) -> None:
        assert where == "made staging"
        (staging,) = folder.glob(".motor-cortex-*")
        if swap == "another mode":
            staging.chmod(0o755)
        else:
            staging.rename(folder / "elsewhere")
            (folder / "docs").rename(staging)

    with pytest.raises(WorkspaceError, match="keeps no owners or permissions"):
        commit(folder, identity, differences(overlay), at)
    run.transaction.drop()
    if swap == "another folder":
        (staging,) = folder.glob(".motor-cortex-*")
        staging.rename(folder / "docs")
        (folder / "elsewhere").rmdir()
    assert contents(folder) == before


async def test_files_and_links_with_a_reserved_name_are_left_alone_and_hidden(folder, outside):
    (folder / ".motor-cortex-file").write_bytes(b"x")
    (folder / ".motor-cortex-link").symlink_to(outside)
    (folder / STAGING).symlink_to(outside)
    run = Files(folder)
    assert await run.names() == ["a.txt", "docs"]
    with refused("PermissionDenied", match="reserved"):
        await run.read(".motor-cortex-file")
    await run.write("new")
    await run.changes().commit()
    assert (folder / ".motor-cortex-link").is_symlink()
    assert (folder / STAGING).is_symlink()
    assert (folder / ".motor-cortex-file").exists()


async def test_a_commit_that_can_neither_end_nor_be_undone_says_so_and_is_settled_later(folder):
    before = contents(folder)
    for first, second in (("put in place", "went back"), ("flushed journal", "removed journal")):
        run = Files(folder)
        await run.write("a.txt", b"mine")
        await run.mkdir("made")
        overlay, identity = run.transaction._overlay, run.transaction._folder.identity
        wrong = []

        def at(where: str, first=first, second=second, wrong=wrong) -> None:
            if where == (second if wrong else first):
                wrong.append(where)
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        with pytest.raises(WorkspaceError, match="finished or undone when"):
            commit(folder, identity, differences(overlay), at)
        os.close(prepare(folder))
        assert contents(folder) == before
        run.transaction.drop()


async def test_undoing_leaves_what_another_has_put_in_the_way(folder):
    run = Files(folder)
    await run.write("a.txt", b"mine")
    await run.mkdir("made")
    await run.remove("docs/b.txt")
    await run.write("zz", b"mine")
    overlay, identity = run.transaction._overlay, run.transaction._folder.identity

    def at(where: str) -> None:
        if where == "put in place" and (folder / "zz").exists():
            (folder / "made" / "theirs").write_bytes(b"theirs")
            (folder / "docs/b.txt").write_bytes(b"theirs")
            os.replace(folder / "docs/deep/c.txt", folder / "a.txt")
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(WorkspaceError, match="nothing has changed"):
        commit(folder, identity, differences(overlay), at)
    run.transaction.drop()
    assert contents(folder) == {
        "a.txt": b"gamma",
        "docs": None,
        "docs/b.txt": b"theirs",
        "docs/deep": None,
        "made": None,
        "made/theirs": b"theirs",
    }
