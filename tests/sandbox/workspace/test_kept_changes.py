"""Changes that are kept as bytes: another process makes them, exactly once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import Workspace, WorkspaceConflict, WorkspaceError
from sandbox.contracts import FileCall
from sandbox.workspace.kept_changes import packed, unpacked


async def kept(folder: Path, *, text: str = "bmV3") -> bytes:
    """A run that changes, adds, moves and removes; its changes as bytes."""
    transaction = Workspace(folder).begin()
    write = {"append": False, "create": True, "create_new": False, "size": 3, "last": True}
    await transaction.answer(FileCall(1, "writeFile", {"path": "a.txt", "data": text, "upload": 1, **write}))
    await transaction.answer(FileCall(2, "mkdir", {"path": "sub", "recursive": False}))
    await transaction.answer(FileCall(3, "writeFile", {"path": "sub/b.txt", "data": text, "upload": 2, **write}))
    await transaction.answer(FileCall(4, "rename", {"path": "run.sh", "to": "sub/run.sh"}))
    await transaction.answer(FileCall(5, "remove", {"path": "gone.txt", "recursive": False}))
    return await transaction.changes().packed()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.txt", "gone.txt", "run.sh"):
        (tmp_path / name).write_text("old")
    (tmp_path / "run.sh").chmod(0o755)
    return tmp_path


def made(folder: Path) -> bool:
    return (
        sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
        == ["a.txt", "sub", "sub/b.txt", "sub/run.sh"]
        and (folder / "a.txt").read_text() == "new"
        and (folder / "sub" / "b.txt").read_text() == "new"
        and (folder / "sub" / "run.sh").stat().st_mode & 0o777 == 0o755
    )


async def test_kept_changes_are_made_once(folder: Path):
    data = await kept(folder)
    assert not made(folder)
    assert await Workspace(folder).finish(data) is True
    assert made(folder)
    before = (folder / "a.txt").stat()
    assert await Workspace(folder).finish(data) is False
    assert (folder / "a.txt").stat().st_ino == before.st_ino


async def test_kept_changes_are_not_made_over_what_others_did(folder: Path):
    data = await kept(folder)
    (folder / "a.txt").write_text("of the owner")
    with pytest.raises(WorkspaceConflict):
        await Workspace(folder).finish(data)
    assert (folder / "a.txt").read_text() == "of the owner"
    assert (folder / "gone.txt").exists()


async def test_bytes_that_are_damaged_change_nothing(folder: Path):
    data = await kept(folder)
    head, _, rest = data.partition(b"\n")
    for wrong in (b"", b"{}", data[:-1], data + b"x", head, head.replace(b'"a.txt"', b'"../a.txt"') + b"\n" + rest):
        with pytest.raises(WorkspaceError):
            await Workspace(folder).finish(wrong)
    assert not made(folder)
    assert packed(*unpacked(data)) == data


async def test_changes_that_are_settled_cannot_be_kept(folder: Path):
    transaction = Workspace(folder).begin()
    await transaction.answer(FileCall(1, "remove", {"path": "a.txt", "recursive": False}))
    changes = transaction.changes()
    changes.rollback()
    with pytest.raises(Exception, match="already rolled back"):
        await changes.packed()
