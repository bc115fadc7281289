"""A read-only workspace refuses on the side of the host, whatever the process sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sandbox import ToolError, Workspace
from sandbox.contracts import FileCall

WRITE = {"append": False, "create": True, "create_new": False, "upload": 1, "size": 1, "last": True}
CALLS: dict[str, dict[str, Any]] = {
    "writeFile": {"path": "a.txt", "data": "eA==", **WRITE},
    "mkdir": {"path": "d", "recursive": True},
    "remove": {"path": "a.txt", "recursive": True},
    "rename": {"path": "a.txt", "to": "b.txt"},
    "copyFile": {"path": "a.txt", "to": "b.txt"},
}


@pytest.mark.parametrize("operation", CALLS)
async def test_no_frame_writes_to_a_read_only_workspace(operation, tmp_path: Path):
    (tmp_path / "a.txt").write_text("as it was")
    files = Workspace(tmp_path, read_only=True).begin()
    with pytest.raises(ToolError, match="The workspace is read-only") as refused:
        await files.answer(FileCall("1", operation, CALLS[operation]))
    assert refused.value.code == "PermissionDenied"
    assert b"as it was" not in await files.answer(FileCall("2", "stat", {"path": "a.txt"}))
    assert not files.changes()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


async def test_the_same_frames_do_write_where_that_is_granted(tmp_path: Path):
    (tmp_path / "a.txt").write_text("as it was")
    files = Workspace(tmp_path).begin()
    for operation in ("copyFile", "mkdir", "writeFile"):
        await files.answer(FileCall("1", operation, CALLS[operation]))
    assert [change.path for change in files.changes()] == ["a.txt", "b.txt", "d/"]
