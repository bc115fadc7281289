"""A run as the tests see it: the calls that the code would make, and the folder around them."""

from __future__ import annotations

import base64
import itertools
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox.contracts.changes import Changes
from sandbox.contracts.errors import ToolError
from sandbox.contracts.frames import FileCall
from sandbox.workspace import Transaction, Workspace, WorkspaceLimits

# Where flushing to a disk takes no time, for tests that do it thousands of times. None where there is no such folder.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Files:
    """The file functions of one run."""

    def __init__(self, folder: Path | str, **limits: int) -> None:
        self.transaction: Transaction = Workspace(folder, WorkspaceLimits(**limits)).begin()
        self._ids = itertools.count()
        self._uploads = itertools.count(1000)

    async def call(self, operation: str, **params: Any) -> Any:
        answer = await self.transaction.answer(FileCall(str(next(self._ids)), operation, params))
        return json.loads(answer)

    async def read(self, path: str) -> bytes:
        return base64.b64decode((await self.call("readFile", path=path))["data"])

    async def write(
        self, path: str, data: bytes = b"", *, append: bool = False, create: bool = True, create_new: bool = False
    ) -> None:
        options = {"append": append, "create": create, "create_new": create_new}
        await self.piece(path, data, upload=next(self._uploads), size=len(data), last=True, **options)

    async def piece(
        self,
        path: str,
        data: bytes,
        *,
        upload: int = 0,
        size: int,
        last: bool = False,
        append: bool = False,
        create: bool = True,
        create_new: bool = False,
    ) -> None:
        """One piece of a file that is longer."""
        options = {"append": append, "create": create, "create_new": create_new}
        text = base64.b64encode(data).decode()
        await self.call("writeFile", path=path, data=text, upload=upload, size=size, last=last, **options)

    async def names(self, path: str = ".") -> list[str]:
        return [entry["name"] for entry in await self.call("readDir", path=path)]

    async def mkdir(self, path: str, recursive: bool = False) -> None:
        await self.call("mkdir", path=path, recursive=recursive)

    async def remove(self, path: str, recursive: bool = False) -> None:
        await self.call("remove", path=path, recursive=recursive)

    async def rename(self, path: str, to: str) -> None:
        await self.call("rename", path=path, to=to)

    async def copy(self, path: str, to: str) -> None:
        await self.call("copyFile", path=path, to=to)

    def changes(self) -> Changes:
        return self.transaction.changes()


@contextmanager
def refused(code: str, match: str | None = None) -> Iterator[None]:
    with pytest.raises(ToolError, match=match) as caught:
        yield
    assert caught.value.code == code, caught.value


def contents(folder: Path) -> dict[str, bytes | str | None]:
    """All that is in a folder: files by content, folders as None, links by target."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        name = str(path.relative_to(folder))
        if stat.S_ISLNK(mode):
            found[name] = os.readlink(path)
        elif stat.S_ISDIR(mode):
            found[name] = None
        else:
            found[name] = path.read_bytes() if stat.S_ISREG(mode) else "special"
    return found


def lines(changes: Changes) -> list[str]:
    return [str(change) for change in changes]
