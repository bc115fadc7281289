"""The contents behind the changes of a run, as a person sees them before a commit."""

from __future__ import annotations

import hashlib
import os

from sandbox import ChangedFile
from sandbox.contracts.changes import Change, Changes
from sandbox.workspace import contents

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


async def test_files_that_were_moved_into_another_folder_in_its_place_are_not_read(folder):
    """Moving a folder changes nothing about the files in it: only the folder itself tells that it is another one."""
    changes = await edited(folder)
    moved = folder.with_name("moved")
    folder.rename(moved)
    folder.mkdir()
    (moved / "docs").rename(folder / "docs")
    assert all(file.before is None for file in await changes.files())


async def test_a_file_that_is_replaced_between_the_look_and_the_opening_is_not_shown(folder, monkeypatch):
    changes = await edited(folder)
    open_beneath = contents.open_beneath

    def late(root, parts, *more):
        if parts == ("a.txt",):
            (folder / "other").write_bytes(b"OTHER")
            (folder / "other").replace(folder / "a.txt")
        return open_beneath(root, parts, *more)

    monkeypatch.setattr(contents, "open_beneath", late)
    before = {file.change.path: file.before for file in await changes.files()}
    assert before["a.txt"] is None
    assert before["docs/b.txt"] == b"beta"


async def test_a_file_that_shrinks_or_grows_while_it_is_read_is_not_shown(folder, monkeypatch):
    for size in (2, 500):
        (folder / "a.txt").write_bytes(b"alpha")
        changes = await edited(folder)
        found = contents.Fact

        class Late:
            @staticmethod
            def of(status, size=size, found=found):
                os.truncate(folder / "a.txt", size)
                return found.of(status)

        with monkeypatch.context() as patch:
            patch.setattr(contents, "Fact", Late)
            before = {file.change.path: file.before for file in await changes.files()}
        assert before["a.txt"] is None
        changes.rollback()


async def test_what_is_not_the_file_any_more_is_not_even_opened(folder, monkeypatch):
    """Opening a device, or a pipe with a reader that waits, has an effect."""
    changes = await edited(folder)
    (folder / "a.txt").unlink()
    os.mkfifo(folder / "a.txt")
    opened, open_beneath = [], contents.open_beneath

    def noted(root, parts, *more):
        opened.append("/".join(parts))
        return open_beneath(root, parts, *more)

    monkeypatch.setattr(contents, "open_beneath", noted)
    await changes.files()
    assert sorted(opened) == ["docs/b.txt", "docs/deep/c.txt"]
