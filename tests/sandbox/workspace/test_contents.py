"""The contents behind the changes of a run, as a person sees them before a commit."""

from __future__ import annotations

import hashlib
import os

from sandbox import ChangedFile
from sandbox.contracts.changes import Change, Changes

from .support import Files


async def edited(folder):
    run = Files(folder)
    await run.write("a.txt", b"ALPHA!")
    await run.mkdir("new")
    await run.write("new/b.bin", b"\0\1")
    await run.remove("docs", recursive=True)
    return run.changes()


async def test_each_change_has_what_was_there_and_what_will_be(folder):
    found = {file.change.path: (file.before, file.after) for file in await (await edited(folder)).files()}
    assert found == {
        "a.txt": (b"alpha", b"ALPHA!"),
        "new/": (None, None),
        "new/b.bin": (None, b"\0\1"),
        "docs/": (None, None),
        "docs/b.txt": (b"beta", None),
        "docs/deep/": (None, None),
        "docs/deep/c.txt": (b"gamma", None),
    }


async def test_each_new_content_has_its_hash(folder):
    changes = await edited(folder)
    hashes = dict(zip([change.path for change in changes], await changes.hashes(), strict=True))
    assert {path: hash_ for path, hash_ in hashes.items() if hash_} == {
        "a.txt": hashlib.sha256(b"ALPHA!").hexdigest(),
        "new/b.bin": hashlib.sha256(b"\0\1").hexdigest(),
    }


async def test_contents_beyond_the_limits_are_left_out(folder):
    changes = await edited(folder)
    one = {file.change.path: (file.before, file.after) for file in await changes.files(max_file_bytes=5)}
    assert one["a.txt"] == (b"alpha", None)
    total = [file for file in await changes.files(max_total_bytes=12) if file.before or file.after]
    assert sum(len(file.before or b"") + len(file.after or b"") for file in total) <= 12


async def test_a_file_that_is_not_the_one_any_more_is_not_shown_as_what_the_run_saw(folder, outside):
    changes = await edited(folder)
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(outside / "secret.txt")
    (folder / "docs" / "b.txt").write_bytes(b"another")
    os.remove(folder / "docs" / "deep" / "c.txt")
    os.mkfifo(folder / "docs" / "deep" / "c.txt")
    before = {file.change.path: file.before for file in await changes.files()}
    assert before["a.txt"] is before["docs/b.txt"] is before["docs/deep/c.txt"] is None


async def test_another_folder_in_its_place_is_not_read(folder):
    changes = await edited(folder)
    folder.rename(folder.with_name("moved"))
    assert all(file.before is None for file in await changes.files())
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"alpha")
    assert all(file.before is None for file in await changes.files())


async def test_changes_that_have_ended_hold_no_contents(folder):
    changes = await edited(folder)
    changes.rollback()
    assert {(file.before, file.after) for file in await changes.files()} == {(None, None)}
    assert set(await changes.hashes()) == {None}
    change = Change("added", "a")
    assert await Changes([change]).files() == [ChangedFile(change, None, None)]
