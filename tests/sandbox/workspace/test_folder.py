"""The real folder: symlinks, special files, and both ways of opening what lies beneath it."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from sandbox.contracts.errors import ToolError
from sandbox.workspace import beneath
from sandbox.workspace.beneath import LIST, READ, TRAVERSE, open_at_once, open_by_steps
from sandbox.workspace.folder import Folder, open_folder

from .conftest import SECRET
from .support import Files, contents, lines, refused

WAYS = [open_by_steps]
if beneath.kernel_resolves():
    WAYS.append(open_at_once)


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way of opening, as if the kernel had no other."""
    monkeypatch.setattr(beneath, "kernel_resolves", lambda: request.param is open_at_once)


@pytest.fixture
def linked(folder: Path, outside: Path) -> Path:
    """A folder with links of every kind."""
    (folder / "out file").symlink_to(outside / "secret.txt")
    (folder / "out folder").symlink_to(outside)
    (folder / "up").symlink_to("../outside")
    (folder / "inside").symlink_to("docs")
    (folder / "inside file").symlink_to("a.txt")
    (folder / "nowhere").symlink_to("nothing")
    (folder / "loop").symlink_to("loop")
    (folder / "magic").symlink_to("/proc/self/cwd")
    return folder


LINKS = ("out file", "out folder", "up", "inside", "inside file", "nowhere", "loop", "magic")


def test_this_kernel_was_asked_and_not_its_name():
    assert beneath.kernel_resolves() == (open_at_once in WAYS)


def test_a_kernel_that_refuses_the_call_is_not_used(monkeypatch):
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSYS, "no such call")

    monkeypatch.setattr(beneath, "open_at_once", refuse)
    assert beneath.kernel_resolves.__wrapped__() is False


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_both_ways_open_the_same_and_fail_the_same(linked, outside, way):
    root = os.open(linked, LIST)
    try:
        for parts in ((), ("docs",), ("docs", "deep")):
            os.close(way(root, parts, TRAVERSE))
            os.close(way(root, parts, LIST))
        descriptor = way(root, ("docs", "deep", "c.txt"), READ)
        assert os.read(descriptor, 100) == b"gamma"
        assert not os.get_inheritable(descriptor)
        os.close(descriptor)
        for parts, flags, problem in (
            (("nope",), READ, errno.ENOENT),
            (("docs", "nope", "x"), READ, errno.ENOENT),
            (("a.txt", "x"), READ, errno.ENOTDIR),
            (("a.txt",), LIST, errno.ENOTDIR),
            (("out folder", "secret.txt"), READ, errno.ELOOP),
            (("inside", "b.txt"), READ, errno.ELOOP),
            (("up", "secret.txt"), READ, errno.ELOOP),
            *(((link,), flags, errno.ELOOP) for link in LINKS for flags in (READ, LIST, TRAVERSE)),
        ):
            with pytest.raises(OSError) as caught:  # noqa: PT011 - its number is looked at
                way(root, parts, flags)
            assert caught.value.errno == problem, (parts, flags)
    finally:
        os.close(root)


@pytest.mark.usefixtures("each_way")
async def test_a_link_is_listed_and_can_be_removed_and_nothing_else(linked, outside):
    before = contents(linked)
    run = Files(linked)
    entries = {entry["name"]: entry for entry in await run.call("readDir", path=".")}
    for link in LINKS:
        assert entries[link] == {"name": link, "isFile": False, "isDirectory": False, "isSymlink": True}
        assert (await run.call("lstat", path=link))["isSymlink"]
        for operation in ("readFile", "readDir", "stat", "realPath"):
            with refused("PermissionDenied", match="link"):
                await run.call(operation, path=link)
        for operation in ("readFile", "readDir", "stat", "lstat"):
            with refused("PermissionDenied", match="link"):
                await run.call(operation, path=f"{link}/secret.txt")
        for refusal in (
            run.write(link, b"PWNED"),
            run.write(link, b"PWNED", append=True),
            run.write(f"{link}/new", b"PWNED"),
            run.mkdir(f"{link}/new"),
            run.mkdir(f"{link}/new", recursive=True),
            run.mkdir(link, recursive=True),
            run.remove(f"{link}/secret.txt"),
            run.rename(link, "x"),
            run.rename("a.txt", link),
            run.rename("a.txt", f"{link}/x"),
            run.copy(link, "x"),
            run.copy("a.txt", link),
            run.copy("a.txt", f"{link}/x"),
        ):
            with refused("PermissionDenied", match="link"):
                await refusal
        with refused("AlreadyExists"):
            await run.write(link, create_new=True)
        with refused("AlreadyExists"):
            await run.mkdir(link)
        with refused("NotADirectory"):
            await run.rename("docs", link)
    for link in LINKS:
        await run.remove(link, recursive=True)
    await run.write("out folder", b"a file of its own")
    changes = run.changes()
    assert contents(linked) == before
    assert [change.path for change in changes] == sorted(LINKS)
    await changes.commit()
    expected = {name: data for name, data in before.items() if name not in LINKS}
    assert contents(linked) == expected | {"out folder": b"a file of its own"}
    assert (outside / "secret.txt").read_bytes() == SECRET


@pytest.mark.usefixtures("each_way")
async def test_a_folder_with_links_in_it_is_removed_without_what_they_point_to_and_not_moved(folder, outside):
    (folder / "docs" / "out").symlink_to(outside)
    run = Files(folder)
    with refused("PermissionDenied", match="link"):
        await run.rename("docs", "x")
    await run.remove("docs", recursive=True)
    await run.changes().commit()
    assert contents(folder) == {"a.txt": b"alpha"}


@pytest.mark.usefixtures("each_way")
async def test_only_regular_files_are_read(folder):
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        # Bound by a short name: the path of a socket has a limit of its own.
        here = os.open(folder, LIST)
        listener.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
    run = Files(folder)
    for name in ("pipe", "socket"):
        assert await run.call("stat", path=name) | {"mtime": 0} == {
            "isFile": False,
            "isDirectory": False,
            "isSymlink": False,
            "size": 0,
            "mtime": 0,
        }
        for refusal in (
            run.read(name),
            run.write(name, b"x"),
            run.write(name, b"x", append=True),
            run.copy(name, "x"),
            run.rename(name, "x"),
            run.copy("a.txt", name),
        ):
            with refused("PermissionDenied", match="not a regular file"):
                await refusal
        with refused("NotADirectory"):
            await run.names(name)
    await run.remove("pipe")
    changes = run.changes()
    assert lines(changes) == ["removed pipe (0 bytes)"]
    await changes.commit()
    assert not (folder / "pipe").exists()


def test_what_is_no_file_is_not_even_opened(folder, monkeypatch):
    """To open a device can do something."""
    os.mkfifo(folder / "pipe")
    reader = Folder(lambda: open_folder(folder))
    reader.open()
    opened = []

    def watched(root: int, parts: tuple[str, ...], flags: int) -> int:
        opened.append(parts)
        return beneath.open_beneath(root, parts, flags)

    monkeypatch.setattr("sandbox.workspace.folder.open_beneath", watched)
    with refused("PermissionDenied"):
        reader.read(("pipe",), 100)
    assert ("pipe",) not in opened
    reader.close()


def test_a_file_that_becomes_a_pipe_after_the_look_is_still_not_read(folder, monkeypatch):
    reader = Folder(lambda: open_folder(folder))
    reader.open()
    regular = reader.look(("a.txt",))
    os.mkfifo(folder / "pipe")
    monkeypatch.setattr(reader, "look", lambda parts: regular)
    with pytest.raises(ToolError, match="not a regular file"):
        reader.read(("pipe",), 100)
    reader.close()


def test_a_file_that_grows_while_it_is_read_is_not_read_beyond_its_limit(folder, monkeypatch):
    reader = Folder(lambda: open_folder(folder))
    reader.open()
    real = os.fstat

    def small(descriptor: int) -> os.stat_result:
        fields = list(real(descriptor))
        fields[6] = 0
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", small)
    with refused("LimitError"):
        reader.read(("a.txt",), 3)
    reader.close()


async def test_names_that_the_code_could_not_write_are_not_shown(folder):
    odd = os.fsencode(folder / "docs") + b"/\xff\n"
    with open(odd, "wb"):
        pass
    (folder / "docs" / ".motor-cortex-mine").touch()
    run = Files(folder)
    assert await run.names("docs") == ["b.txt", "deep"]
    for refusal in (run.remove("docs", recursive=True), run.rename("docs", "x")):
        with refused("PermissionDenied", match="cannot be used"):
            await refusal
    await run.remove("docs/b.txt")
    await run.remove("docs/deep", recursive=True)
    with refused("PermissionDenied"):
        await run.remove("docs")
    run.transaction.drop()


def test_a_closed_folder_is_closed_when_its_last_user_is_done(folder):
    reader = Folder(lambda: open_folder(folder))
    reader.open()
    reader.open()
    with reader._borrowed() as root:
        reader.close()
        assert os.fstat(root)
        with pytest.raises(ToolError, match="ended"):
            reader.look(("a.txt",))
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(root)
    reader.open()
    assert not reader.is_open


def test_other_faults_of_the_disk_are_told_without_paths_of_the_host(folder, monkeypatch):
    reader = Folder(lambda: open_folder(folder))
    reader.open()

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(folder))

    monkeypatch.setattr("sandbox.workspace.folder.open_beneath", fail)
    with pytest.raises(ToolError) as caught:
        reader.read(("a.txt",), 100)
    assert caught.value.code == "BadResource"
    assert str(caught.value) == 'Cannot look at "/workspace/a.txt": Input/output error'
    reader.close()
