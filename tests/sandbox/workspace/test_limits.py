"""Each limit of the workspace, and the error that the code gets."""

from __future__ import annotations

import os

import pytest
from pydantic import ValidationError

from sandbox.workspace import WorkspaceLimits

from .support import Files, contents, refused


async def test_a_file_may_not_grow_beyond_its_limit(folder):
    run = Files(folder, max_file_bytes=10)
    await run.write("x", b"0123456789")
    with refused("LimitError", match="11 bytes of at most 10"):
        await run.write("x", b"!", append=True)
    with refused("LimitError"):
        await run.write("y", b"0" * 11)
    with refused("LimitError"):
        await run.write("a.txt", b"012345", append=True)
    assert await run.read("x") == b"0123456789"
    assert await run.names() == ["a.txt", "docs", "x"]
    run.transaction.drop()


async def test_a_file_of_the_folder_that_is_too_large_is_not_read(folder):
    (folder / "big").write_bytes(b"x" * 50)
    run = Files(folder, max_file_bytes=10)
    for refusal in (run.read("big"), run.copy("big", "y"), run.rename("big", "y"), run.write("big", b"y", append=True)):
        with refused("LimitError", match="50 bytes of at most 10"):
            await refusal
    assert (await run.call("stat", path="big"))["size"] == 50
    await run.write("big", b"small")
    assert [str(change) for change in run.changes()] == ["changed big (50 to 5 bytes)"]


async def test_all_that_a_run_writes_has_a_limit_and_what_it_gives_back_is_free_again(folder):
    run = Files(folder, max_total_bytes=20)
    await run.write("x", b"0" * 10)
    await run.write("y", b"0" * 10)
    for refusal in (
        run.write("z", b"0"),
        run.write("x", b"0", append=True),
        run.copy("x", "z"),
        run.copy("a.txt", "z"),
    ):
        with refused("LimitError", match="20 bytes"):
            await refusal
    with refused("LimitError"):
        await run.rename("a.txt", "z")
    with refused("LimitError"):
        await run.rename("docs", "z")
    await run.rename("x", "z")
    await run.copy("z", "y")
    await run.write("y", b"0" * 10)
    await run.remove("y")
    await run.rename("docs", "moved")
    await run.remove("moved", recursive=True)
    await run.write("y", b"0" * 10)
    assert run.transaction._overlay._total == 20
    run.transaction.drop()


async def test_the_paths_that_a_run_changes_have_a_limit(folder):
    run = Files(folder, max_files=3)
    await run.write("x")
    await run.mkdir("y")
    await run.write("z")
    await run.write("z", b"again")
    for refusal in (
        run.write("one more"),
        run.mkdir("one more"),
        run.remove("a.txt"),
        run.copy("z", "one more"),
        run.rename("z", "one more"),
        run.rename("y", "one more"),
    ):
        with refused("LimitError", match="More than 3 files and folders"):
            await refusal
    assert len(run.changes()) == 3


async def test_a_big_tree_is_neither_removed_nor_moved(folder):
    for number in range(20):
        (folder / "docs" / f"{number}").mkdir()
    run = Files(folder, max_files=10)
    for refusal in (run.remove("docs", recursive=True), run.rename("docs", "x")):
        with refused("LimitError", match="more than 10 entries"):
            await refusal
    deep = folder / "deep"
    deep.mkdir()
    above = os.open(deep, os.O_RDONLY)
    for _ in range(70):
        os.mkdir("d", dir_fd=above)
        below = os.open("d", os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)
    run = Files(folder)
    for refusal in (run.remove("deep", recursive=True), run.rename("deep", "x")):
        with refused("LimitError", match="deeper"):
            await refusal
    assert list(run.changes()) == []


async def test_a_listing_has_a_limit(folder):
    run = Files(folder, max_entries=3)
    assert len(await run.names()) == 2
    await run.write("x")
    assert len(await run.names()) == 3
    await run.write("y")
    with refused("LimitError", match="more than 3 entries"):
        await run.names()
    (folder / "1").touch()
    (folder / "2").touch()
    with refused("LimitError"):
        await run.names()
    # The disk is not read to its end before.
    with refused("LimitError"):
        run.transaction._folder.entries((), 3)
    run.transaction.drop()


async def test_the_calls_of_a_run_have_a_limit(folder):
    run = Files(folder, max_calls=3)
    for _ in range(2):
        await run.read("a.txt")
    with refused("NotFound"):
        await run.read("nope")
    with refused("LimitError", match="More than 3 calls"):
        await run.read("a.txt")
    run.transaction.drop()


async def test_reaching_a_limit_changes_nothing(folder):
    before = contents(folder)
    run = Files(folder, max_total_bytes=3)
    with refused("LimitError"):
        await run.rename("docs", "x")
    assert await run.names("docs") == ["b.txt", "deep"]
    changes = run.changes()
    assert list(changes) == []
    await changes.commit()
    assert contents(folder) == before


def test_limits_are_checked():
    assert WorkspaceLimits().max_total_bytes == 16 * 1024 * 1024
    for wrong in ({"max_files": -1}, {"max_depth": 1}):
        with pytest.raises(ValidationError):
            WorkspaceLimits.model_validate(wrong)
