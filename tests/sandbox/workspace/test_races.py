"""Races: another process swaps folders for symlinks while they are used. Nothing outside is ever read or written."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox.contracts.errors import ToolError
from sandbox.workspace import WorkspaceError, beneath
from sandbox.workspace.commit import commit, prepare
from sandbox.workspace.difference import differences

from .conftest import SECRET
from .support import Files, contents
from .test_folder import WAYS

TRIES = 150
BOUND_S = 60


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beneath, "kernel_resolves", lambda: request.param is beneath.open_at_once)


# In one instant, so that the name is always there, and in a process of its own, so that it happens at any moment.
SWAPPER = """
import ctypes, sys
exchange = ctypes.CDLL(None).renameat2
one, two = (name.encode() for name in sys.argv[1:])
print(exchange(-100, one, -100, two, 2), flush=True)
while True:
    exchange(-100, one, -100, two, 2)
"""


@contextmanager
def swapped(folder: Path, outside: Path) -> Iterator[None]:
    """`docs` is in turn a folder and a link to the outside, as fast as another process can make it."""
    docs, other = folder / "docs", folder / "other"
    other.symlink_to(outside)
    command = [sys.executable, "-I", "-c", SWAPPER, docs, other]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "0\n"
            yield
        finally:
            process.kill()
    if docs.is_symlink():
        docs.unlink()
        other.rename(docs)
    else:
        other.unlink()


@pytest.mark.usefixtures("each_way")
async def test_reading_never_leaves_through_a_link_that_just_appeared(folder, outside):
    (folder / "docs" / "secret.txt").write_bytes(b"harmless")
    answers: set[object] = set()
    with swapped(folder, outside):
        run = Files(folder)
        await run.names()
        reader = run.transaction._folder
        give_up = time.monotonic() + BOUND_S
        for tries in itertools.count():
            # The other process may get no turn for a while.
            if tries > TRIES * 3 and (answers >= {b"harmless", "PermissionDenied"} or time.monotonic() > give_up):
                break
            try:
                answers.add(reader.read(("docs", "secret.txt"), 1000).data)
                answers.update(reader.entries(("docs",), 1000))
                reader.walk(("docs",), 1000)
            except ToolError as error:
                answers.add(error.code)
        run.transaction.drop()
    assert SECRET not in answers
    assert answers <= {b"harmless", "b.txt", "deep", "secret.txt", "PermissionDenied", "NotADirectory"}
    # It was a race: both were met.
    assert answers >= {b"harmless", "PermissionDenied"}


@pytest.mark.usefixtures("each_way")
async def test_committing_never_writes_through_a_link_that_just_appeared(folder, outside):
    files = {"secret.txt", "new.txt"}
    for _ in range(4):
        with swapped(folder, outside):
            for _ in range(TRIES // 8):
                run = Files(folder)
                try:
                    await run.write("docs/secret.txt", os.urandom(8))
                    await run.write("docs/new.txt", b"x")
                    overlay, identity = run.transaction._overlay, run.transaction._folder.identity
                    commit(folder, identity, differences(overlay))
                except (ToolError, WorkspaceError):
                    pass
                finally:
                    run.transaction.drop()
        # `outside` looks after itself: its fixture compares it at the end.
        os.close(prepare(folder))
        assert {path.name for path in folder.iterdir()} == {"a.txt", "docs"}
        # Now that the folder stays where it is, every commit has come to an end, one way or the other.
        assert files & {path.name for path in (folder / "docs").iterdir()} in (set(), files)


@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize("moment", ["made staging", "flushed journal", "set aside", "put in place"])
async def test_a_folder_swapped_at_a_chosen_moment_of_the_commit(folder, outside, moment):
    before = contents(folder)
    run = Files(folder)
    await run.write("docs/b.txt", b"mine")
    await run.write("docs/secret.txt", b"PWNED")
    await run.remove("docs/deep", recursive=True)
    overlay, identity = run.transaction._overlay, run.transaction._folder.identity
    swapped_at = []

    def at(where: str) -> None:
        if where == moment and not swapped_at:
            swapped_at.append(where)
            (folder / "docs").rename(folder / "real")
            (folder / "docs").symlink_to(outside)

    with pytest.raises(WorkspaceError) as caught:
        commit(folder, identity, differences(overlay), at)
    run.transaction.drop()
    assert swapped_at == [moment]
    assert (outside / "secret.txt").read_bytes() == SECRET
    begun = moment in ("set aside", "put in place")
    assert ("finished or undone when" if begun else "nothing has changed") in str(caught.value)
    # The old files are kept for the folder to come back, and the workspace can be used meanwhile.
    for _ in range(2):
        os.close(prepare(folder))
        assert any(path.name.startswith(".motor-cortex-") for path in folder.iterdir()) == begun
    (folder / "docs").unlink()
    (folder / "real").rename(folder / "docs")
    os.close(prepare(folder))
    assert contents(folder) == before
