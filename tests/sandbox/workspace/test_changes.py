"""What the caller sees before it commits, and that it can decide only once."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import anyio
import pytest

from sandbox.contracts.changes import Change, Changes
from sandbox.contracts.errors import SandboxError

from .support import Files, contents, lines


async def test_changes_are_listed_with_their_sizes(folder):
    run = Files(folder)
    await run.write("new", b"123")
    await run.write("a.txt", b"12")
    await run.remove("docs/deep", recursive=True)
    await run.mkdir("made")
    changes = run.changes()
    assert list(changes) == [
        Change("changed", "a.txt", size=2, old_size=5),
        Change("removed", "docs/deep/"),
        Change("removed", "docs/deep/c.txt", old_size=5),
        Change("added", "made/"),
        Change("added", "new", size=3),
    ]
    assert changes[0].path == "a.txt"
    assert [change.path for change in changes[3:]] == ["made/", "new"]
    assert [change.is_folder for change in changes] == [False, True, False, True, False]
    assert repr(changes) == (
        "<Changes (open): changed a.txt (5 to 2 bytes); removed docs/deep/; removed docs/deep/c.txt (5 bytes); "
        "added made/; added new (3 bytes)>"
    )


async def test_what_comes_to_nothing_is_no_change(folder):
    run = Files(folder)
    await run.write("a.txt", b"alpha")
    await run.write("docs/b.txt", b"be")
    await run.write("docs/b.txt", b"ta", append=True)
    await run.write("new")
    await run.remove("new")
    await run.mkdir("made/inner", recursive=True)
    await run.write("made/inner/x")
    await run.remove("made", recursive=True)
    await run.rename("docs/deep", "elsewhere")
    await run.rename("elsewhere", "docs/deep")
    changes = run.changes()
    assert list(changes) == []
    assert repr(changes) == "<Changes (open): none>"


async def test_what_is_removed_and_written_again_is_compared_with_what_was(folder):
    run = Files(folder)
    await run.remove("docs", recursive=True)
    await run.mkdir("docs/deep", recursive=True)
    await run.write("docs/b.txt", b"beta")
    await run.write("docs/deep/c.txt", b"delta")
    assert lines(run.changes()) == ["changed docs/deep/c.txt (5 to 5 bytes)"]


async def test_a_file_that_became_a_folder_is_removed_and_added(folder):
    run = Files(folder)
    await run.remove("a.txt")
    await run.mkdir("a.txt")
    await run.write("a.txt/x", b"1")
    await run.remove("docs", recursive=True)
    await run.write("docs", b"22")
    changes = run.changes()
    assert lines(changes) == [
        "removed a.txt (5 bytes)",
        "added a.txt/",
        "added a.txt/x (1 bytes)",
        "added docs (2 bytes)",
        "removed docs/",
        "removed docs/b.txt (4 bytes)",
        "removed docs/deep/",
        "removed docs/deep/c.txt (5 bytes)",
    ]
    await changes.commit()
    assert contents(folder) == {"a.txt": None, "a.txt/x": b"1", "docs": b"22"}


async def test_changes_without_a_workspace_are_empty_and_can_be_committed():
    changes = Changes()
    assert len(changes) == 0
    assert changes == Changes()
    assert changes != Changes([Change("added", "x", size=1)])
    assert changes != ()
    assert hash(changes) == hash(Changes())
    await changes.commit()
    with pytest.raises(SandboxError, match="already committed"):
        await changes.commit()


async def test_a_caller_decides_only_once(folder):
    before = contents(folder)
    run = Files(folder)
    await run.write("x", b"1")
    changes = run.changes()
    changes.rollback()
    assert "rolled back" in repr(changes)
    with pytest.raises(SandboxError, match="already rolled back"):
        changes.rollback()
    with pytest.raises(SandboxError, match="already rolled back"):
        await changes.commit()
    assert contents(folder) == before

    run = Files(folder)
    await run.write("x", b"1")
    changes = run.changes()
    await changes.commit()
    with pytest.raises(SandboxError, match="already committed"):
        changes.rollback()
    with pytest.raises(SandboxError, match="already committed"):
        await changes.commit()


async def test_two_tasks_cannot_both_commit():
    begun, go_on = anyio.Event(), anyio.Event()
    applied = []

    async def apply(done: object) -> None:
        begun.set()
        await go_on.wait()
        applied.append(1)

    changes = Changes([Change("added", "x", size=1)], apply)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(changes.commit)
        await begun.wait()
        with pytest.raises(SandboxError, match="being committed"):
            changes.rollback()
        with pytest.raises(SandboxError, match="being committed"):
            await changes.commit()
        go_on.set()
    assert applied == [1]


async def test_a_commit_that_failed_may_be_tried_again():
    tries = []

    async def apply(done: object) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("no")

    changes = Changes([], apply)
    with pytest.raises(OSError, match="no"):
        await changes.commit()
    assert changes.state == "open"
    await changes.commit()
    assert len(tries) == 2
    assert changes.state == "committed"


@pytest.mark.parametrize("end", ["rollback", "drop", "commit"])
async def test_memory_is_given_back_at_the_end(folder, end):
    run = Files(folder)
    await run.write("x", b"1" * 1000)

    class Witness:
        pass

    witness = Witness()
    gone = weakref.ref(witness)
    # Something that lives exactly as long as what the run has written.
    run.transaction._overlay.root.children["x"].data = _Held(run.transaction._overlay.root.children["x"].data, witness)
    del witness
    if end == "drop":
        run.transaction.drop()
    else:
        changes = run.changes()
        assert gone() is not None
        await changes.commit() if end == "commit" else changes.rollback()
    gc.collect()
    assert gone() is None


class _Held(bytearray):
    def __init__(self, data: bytes, witness: object) -> None:
        super().__init__(data)
        self.witness = witness


def test_many_changes_are_shown_in_short():
    changes = Changes(Change("added", f"{number}", size=1) for number in range(30))
    assert repr(changes).endswith("added 9 (1 bytes); 20 more>")


def test_changes_can_be_imported_without_anything_heavy():
    code = "import sys; before = set(sys.modules); import importlib.util as u\n"
    code += "import types; p = types.ModuleType('sandbox'); p.__path__ = ['sandbox']; sys.modules['sandbox'] = p\n"
    code += "import sandbox.contracts.changes; print([m for m in ('pydantic', 'anyio', 'ctypes') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
