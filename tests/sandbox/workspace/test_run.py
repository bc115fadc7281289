"""What the code sees and does: the folder plus its own writes, with the errors that Deno would give."""

from __future__ import annotations

import json
import os

import anyio
import pytest

from sandbox.contracts.errors import SandboxError
from sandbox.contracts.frames import FileCall
from sandbox.workspace import Workspace, WorkspaceError

from .support import Files, contents, lines, refused


async def test_the_code_reads_the_folder(folder):
    run = Files(folder)
    assert await run.read("a.txt") == b"alpha"
    assert await run.read("/workspace/docs/deep/c.txt") == b"gamma"
    assert await run.read(f"{folder}/docs/b.txt") == b"beta"
    assert await run.call("readDir", path="/workspace") == [
        {"name": "a.txt", "isFile": True, "isDirectory": False, "isSymlink": False},
        {"name": "docs", "isFile": False, "isDirectory": True, "isSymlink": False},
    ]
    status = await run.call("stat", path="a.txt")
    assert status == {
        "isFile": True,
        "isDirectory": False,
        "isSymlink": False,
        "size": 5,
        "mtime": (folder / "a.txt").stat().st_mtime_ns // 1_000_000,
    }
    assert await run.call("lstat", path="docs") == {
        "isFile": False,
        "isDirectory": True,
        "isSymlink": False,
        "size": 0,
        "mtime": (folder / "docs").stat().st_mtime_ns // 1_000_000,
    }
    assert (await run.call("stat", path="."))["isDirectory"]
    assert await run.call("realPath", path="docs/../a.txt") == "/workspace/a.txt"
    assert list(run.changes()) == []


async def test_the_code_sees_its_own_writes_and_the_folder_does_not(folder):
    before = contents(folder)
    run = Files(folder)
    await run.write("new.txt", b"one")
    await run.write("a.txt", b"two")
    await run.write("docs/b.txt", b" and more", append=True)
    await run.mkdir("made/inner", recursive=True)
    await run.write("made/inner/x", b"x")
    await run.remove("docs/deep/c.txt")
    assert await run.read("new.txt") == b"one"
    assert await run.read("a.txt") == b"two"
    assert await run.read("docs/b.txt") == b"beta and more"
    assert await run.names() == ["a.txt", "docs", "made", "new.txt"]
    assert await run.names("docs/deep") == []
    assert await run.call("stat", path="made/inner/x") == {
        "isFile": True,
        "isDirectory": False,
        "isSymlink": False,
        "size": 1,
        "mtime": None,
    }
    assert (await run.call("stat", path="made"))["mtime"] is None
    with refused("NotFound"):
        await run.read("docs/deep/c.txt")
    assert contents(folder) == before
    run.transaction.drop()
    assert contents(folder) == before


async def test_a_missing_file_or_folder_is_not_found(folder):
    run = Files(folder)
    for path in ("nope", "nope/x", "docs/nope", "docs/nope/x"):
        for operation in ("readFile", "readDir", "stat", "lstat", "realPath"):
            with refused("NotFound"):
                await run.call(operation, path=path)
        with refused("NotFound"):
            await run.remove(path)
        with refused("NotFound"):
            await run.rename(path, "x")
        with refused("NotFound"):
            await run.copy(path, "x")
    for path in ("nope/x", "docs/nope/x"):
        with refused("NotFound"):
            await run.write(path)
        with refused("NotFound"):
            await run.mkdir(path)
        with refused("NotFound"):
            await run.copy("a.txt", path)
        with refused("NotFound"):
            await run.rename("a.txt", path)
    with refused("NotFound"):
        await run.write("nope", create=False)
    with refused("NotFound"):
        await run.write("nope", create=False, append=True)
    await run.mkdir("own")
    with refused("NotFound"):
        await run.read("own/nope/deeper")


async def test_a_file_is_not_a_folder(folder):
    run = Files(folder)
    await run.write("own")
    for path in ("a.txt", "own"):
        with refused("NotADirectory"):
            await run.names(path)
        with refused("NotADirectory"):
            await run.read(f"{path}/x")
        with refused("NotADirectory"):
            await run.write(f"{path}/x")
        with refused("NotADirectory"):
            await run.mkdir(f"{path}/x")
        with refused("NotADirectory"):
            await run.rename("docs", path)
        with refused("AlreadyExists"):
            await run.mkdir(path, recursive=True)
        with refused("AlreadyExists"):
            await run.mkdir(f"{path}/x", recursive=True)


async def test_a_folder_is_not_a_file(folder):
    run = Files(folder)
    await run.mkdir("own")
    for path in ("docs", "own", "."):
        with refused("IsADirectory"):
            await run.read(path)
        with refused("IsADirectory"):
            await run.write(path)
        with refused("IsADirectory"):
            await run.copy("a.txt", path)
        with refused("IsADirectory"):
            await run.copy(path, "x")
    for path in ("docs", "own"):
        with refused("IsADirectory"):
            await run.rename("a.txt", path)


async def test_what_exists_is_not_made_again(folder):
    run = Files(folder)
    await run.write("own")
    for path in ("a.txt", "own", "docs", "."):
        with refused("AlreadyExists"):
            await run.write(path, create_new=True)
        with refused("AlreadyExists"):
            await run.mkdir(path)
    await run.mkdir("docs", recursive=True)
    await run.mkdir("docs/deep/x/y", recursive=True)
    await run.mkdir(".", recursive=True)
    await run.write("fresh", b"1", create_new=True)
    await run.write("fresh", b"2", create=False)
    assert await run.read("fresh") == b"2"


async def test_a_folder_with_something_in_it_is_removed_only_with_all_of_it(folder):
    run = Files(folder)
    with refused("NotEmpty", match="not empty"):
        await run.remove("docs")
    await run.remove("docs", recursive=True)
    assert await run.names() == ["a.txt"]
    with refused("NotFound"):
        await run.read("docs/b.txt")
    await run.mkdir("docs")
    assert await run.names("docs") == []
    await run.remove("docs")
    await run.remove("a.txt", recursive=True)
    assert await run.names() == []
    with refused("PermissionDenied"):
        await run.remove(".", recursive=True)


async def test_files_and_folders_are_renamed(folder):
    run = Files(folder)
    await run.write("docs/deep/own", b"own")
    await run.remove("docs/b.txt")
    await run.write("docs/deep/c.txt", b"!", append=True)
    await run.mkdir("docs/empty")
    await run.rename("docs", "moved")
    assert await run.names() == ["a.txt", "moved"]
    assert await run.names("moved") == ["deep", "empty"]
    assert await run.read("moved/deep/own") == b"own"
    assert await run.read("moved/deep/c.txt") == b"gamma!"
    await run.rename("a.txt", "moved/deep/own")
    assert await run.read("moved/deep/own") == b"alpha"
    await run.rename("moved/deep/own", "moved/deep/own")
    await run.rename("moved/deep", "moved/empty")
    assert await run.names("moved/empty") == ["c.txt", "own"]
    changes = run.changes()
    assert lines(changes) == [
        "removed a.txt (5 bytes)",
        "removed docs/",
        "removed docs/b.txt (4 bytes)",
        "removed docs/deep/",
        "removed docs/deep/c.txt (5 bytes)",
        "added moved/",
        "added moved/empty/",
        "added moved/empty/c.txt (6 bytes)",
        "added moved/empty/own (5 bytes)",
    ]
    await changes.commit()
    assert contents(folder) == {
        "moved": None,
        "moved/empty": None,
        "moved/empty/c.txt": b"gamma!",
        "moved/empty/own": b"alpha",
    }


async def test_a_rename_that_makes_no_sense_is_refused(folder):
    run = Files(folder)
    with refused("InvalidData"):
        await run.rename("docs", "docs/deep/docs")
    with refused("NotEmpty"):
        await run.rename("docs/deep", "docs")
    await run.mkdir("own")
    await run.write("own/x")
    with refused("NotEmpty"):
        await run.rename("docs", "own")
    for path, to in ((".", "x"), ("docs", ".")):
        with refused("PermissionDenied"):
            await run.rename(path, to)
    assert lines(run.changes()) == ["added own/", "added own/x (0 bytes)"]


async def test_folders_moved_into_folders_do_not_grow_deeper_than_paths_may_be(folder):
    run = Files(folder)
    deep = "/".join("d" * 40)
    await run.mkdir(deep, recursive=True)
    await run.mkdir(f"e/{deep}", recursive=True)
    with refused("InvalidData", match="too deep"):
        await run.rename("d", f"e/{deep}/x")
    long = "/".join(["x" * 250] * 15)
    await run.mkdir(f"f/{long}", recursive=True)
    await run.mkdir(f"g/{'y' * 250}/{'y' * 250}", recursive=True)
    with refused("InvalidData", match="too long"):
        await run.rename("f", f"g/{'y' * 250}/{'y' * 250}/f")


async def test_files_are_copied(folder):
    run = Files(folder)
    os.chmod(folder / "a.txt", 0o750)
    await run.copy("a.txt", "copy")
    await run.copy("copy", "again")
    await run.copy("copy", "docs/b.txt")
    await run.copy("a.txt", "a.txt")
    await run.copy("copy", "longer")
    await run.write("longer", b"!", append=True)
    assert await run.read("copy") == b"alpha"
    await run.write("copy", b"other")
    assert await run.read("again") == await run.read("docs/b.txt") == await run.read("a.txt") == b"alpha"
    await run.changes().commit()
    assert (folder / "copy").read_bytes() == b"other"
    # No program, and no wider than what was copied.
    assert (folder / "again").stat().st_mode & 0o777 == 0o640


async def test_a_thousand_pieces_become_one_file(folder):
    run = Files(folder)
    piece = bytes(range(256)) * 16
    await run.write("big", piece)
    data = run.transaction._overlay.root.children["big"].data
    for _ in range(999):
        await run.write("big", piece, append=True)
    assert await run.read("big") == piece * 1000
    # The same bytes all the time: nothing was copied for each piece.
    assert run.transaction._overlay.root.children["big"].data is data
    run.transaction.drop()


async def test_calls_that_are_made_at_once_are_done_one_after_the_other(folder):
    run = Files(folder)
    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(lambda: run.write("a.txt", b"+", append=True))
            tasks.start_soon(run.read, "docs/b.txt")
    assert await run.read("a.txt") == b"alpha" + b"+" * 50
    run.transaction.drop()


WRITE = {"path": "x", "data": "YQ==", "append": False, "create": True, "create_new": False}
WRITE |= {"upload": 1, "size": 1, "last": True}


async def test_a_call_of_the_right_shape_is_answered(folder):
    run = Files(folder)
    assert await run.transaction.answer(FileCall("1", "writeFile", WRITE)) == b"null"
    assert lines(run.changes()) == ["added x (1 bytes)"]


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("chmod", {"path": "a.txt"}),
        ("__init__", {}),
        ("", {}),
        ("readFile", {}),
        ("readFile", {"path": None}),
        ("readFile", {"path": 1}),
        ("readFile", {"path": ["a.txt"]}),
        ("readFile", {"path": ""}),
        ("readFile", {"path": "a\0"}),
        ("readFile", {"path": "a.txt", "more": 1}),
        ("rename", {"path": "a.txt", "to": {}}),
        ("rename", {"path": "a.txt", "to": "\ud800"}),
        ("mkdir", {"path": "x", "recursive": 1}),
        ("mkdir", {"path": "x", "recursive": None}),
        ("writeFile", WRITE | {"data": "é"}),
        ("writeFile", WRITE | {"data": "a"}),
        ("writeFile", WRITE | {"data": "YQ==YQ=="}),
        ("writeFile", WRITE | {"data": "Y Q=="}),
        ("writeFile", WRITE | {"data": b"YQ=="}),
        ("writeFile", WRITE | {"append": "no"}),
        ("writeFile", WRITE | {"last": 1}),
        ("writeFile", WRITE | {"upload": True}),
        ("writeFile", WRITE | {"upload": -1}),
        ("writeFile", WRITE | {"upload": "1"}),
        ("writeFile", WRITE | {"size": True}),
        ("writeFile", WRITE | {"size": -1}),
        ("writeFile", WRITE | {"size": 1.0}),
        ("writeFile", WRITE | {"size": 0}),
        ("writeFile", WRITE | {"size": 2}),
        ("writeFile", {name: value for name, value in WRITE.items() if name != "last"}),
    ],
    ids=ascii,
)
async def test_a_call_of_the_wrong_shape_is_invalid_data(folder, operation, params):
    run = Files(folder)
    with refused("InvalidData"):
        await run.transaction.answer(FileCall("1", operation, params))
    assert list(run.changes()) == []


async def test_nothing_is_answered_after_the_end(folder):
    for end in ("changes", "drop"):
        run = Files(folder)
        await run.write("x", b"1")
        getattr(run.transaction, end)()
        for operation in ("readFile", "readDir", "stat"):
            with refused("BadResource", match="ended"):
                await run.call(operation, path="a.txt")
        assert list(run.changes()) == []
        run.transaction.drop()


async def test_a_call_whose_look_at_the_disk_ends_after_the_run_changes_nothing(folder, monkeypatch):
    run = Files(folder)
    await run.read("a.txt")
    overlay, reader = run.transaction._overlay, run.transaction._folder
    look = reader.look

    def slow(parts: tuple[str, ...]) -> object:
        found = look(parts)
        run.transaction.drop()
        return found

    monkeypatch.setattr(reader, "look", slow)
    with refused("BadResource", match="ended"):
        await run.write("docs/new", b"late")
    assert overlay.root.children == {}


async def test_a_call_that_is_still_under_way_at_the_end_changes_nothing(folder):
    run = Files(folder)
    await run.read("a.txt")
    overlay = run.transaction._overlay
    async with anyio.create_task_group() as tasks:

        async def write() -> None:
            with refused("BadResource"):
                await run.write("docs/b.txt", b"late")

        tasks.start_soon(write)
        while run.transaction.calls < 2:
            await anyio.lowlevel.checkpoint()
        changes = run.changes()
    assert list(changes) == []
    assert overlay.root.children == {}


async def test_a_run_that_is_cancelled_in_the_middle_of_a_call_leaves_no_descriptor(folder):
    for _ in range(20):
        run = Files(folder)
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run.read, "a.txt")
                await anyio.lowlevel.checkpoint()
                scope.cancel()
        run.transaction.drop()


@pytest.mark.parametrize("what", ["missing", "a.txt", ""])
def test_a_workspace_needs_a_folder(folder, what):
    with pytest.raises(WorkspaceError, match="Cannot use") as caught:
        Workspace(folder / what if what else "")
    assert isinstance(caught.value, SandboxError)


async def test_a_folder_that_vanishes_is_not_found(folder, tmp_path):
    early, late = Files(folder), Files(folder)
    await early.write("x", b"1")
    folder.rename(tmp_path / "elsewhere")
    with refused("NotFound", match="cannot be used") as _:
        await late.read("a.txt")
    changes = early.changes()
    with pytest.raises(WorkspaceError, match="No such file"):
        await changes.commit()
    folder.mkdir()
    with pytest.raises(WorkspaceError, match="not the folder any more"):
        await changes.commit()
    assert contents(folder) == {}
    changes.rollback()


async def test_two_runs_do_not_see_each_other(folder):
    one, two = Files(folder), Files(folder)
    await one.write("a.txt", b"one")
    await one.write("own", b"one")
    assert await two.read("a.txt") == b"alpha"
    assert await two.names() == ["a.txt", "docs"]
    for run in (one, two):
        run.transaction.drop()


async def test_the_answer_is_json_and_a_name_may_hold_anything_that_text_may(folder):
    run = Files(folder)
    name = 'quote" 文 \\ ~ $(x)'
    await run.write(name, b"x")
    answer = await run.transaction.answer(FileCall("1", "readDir", {"path": "."}))
    assert name in [entry["name"] for entry in json.loads(answer)]
    await run.changes().commit()
    assert (folder / name).read_bytes() == b"x"
