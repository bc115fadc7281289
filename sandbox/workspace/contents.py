"""The contents behind the changes of a run, for a person who is to decide about them, and for records of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from ..contracts import Change, ChangedFile
from .beneath import READ, open_beneath
from .difference import Difference
from .folder import Fact, fact_at, open_folder
from .kept_changes import packed
from .overlay import File
from .paths import Parts
from .terms import WorkspaceError


class Contents:
    """The new contents in memory, and the old ones on the disk."""

    def __init__(
        self, folder: Path, identity: tuple[int, int] | None, found: Sequence[Difference], changes: Sequence[Change]
    ) -> None:
        self._folder = folder
        self._identity = identity
        self._found = {one.parts: one for one in found}
        self._changes = changes

    async def files(self, max_file_bytes: int, max_total_bytes: int) -> list[ChangedFile]:
        """Never raises for what is on the disk: what cannot be read is None."""
        return await anyio.to_thread.run_sync(self._read, max_file_bytes, max_total_bytes, abandon_on_cancel=True)

    async def hashes(self) -> tuple[str | None, ...]:
        return await anyio.to_thread.run_sync(self._hash, abandon_on_cancel=True)

    async def packed(self) -> bytes:
        return await anyio.to_thread.run_sync(lambda: packed(self._identity, list(self._found.values())))

    def _read(self, max_file_bytes: int, max_total_bytes: int) -> list[ChangedFile]:
        try:
            root = open_folder(self._folder)
        except WorkspaceError:
            root = -1
        try:
            if root >= 0 and self._identity != _identity(root):
                os.close(root)
                root = -1
            read = []
            for change in self._changes:
                room = min(max_file_bytes, max_total_bytes)
                before, after = self._before(root, change, room), self._after(change, room)
                max_total_bytes -= len(before or b"") + len(after or b"")
                read.append(ChangedFile(change, before, after))
            return read
        finally:
            if root >= 0:
                os.close(root)

    def _hash(self) -> tuple[str | None, ...]:
        return tuple(
            None if (file := self._file(change)) is None else hashlib.sha256(file.data).hexdigest()
            for change in self._changes
        )

    def _file(self, change: Change) -> File | None:
        after = None if change.kind == "removed" else self._found[_parts(change)].after
        return after if isinstance(after, File) else None

    def _after(self, change: Change, most: int) -> bytes | None:
        file = self._file(change)
        return bytes(file.data) if file is not None and len(file.data) <= most else None

    def _before(self, root: int, change: Change, most: int) -> bytes | None:
        fact = self._found[_parts(change)].before
        if root < 0 or change.kind == "added" or fact is None or fact.kind != "file" or fact.size > most:
            return None
        return _still(root, _parts(change), fact)


def _parts(change: Change) -> Parts:
    return tuple(change.path.rstrip("/").split("/"))


def _identity(root: int) -> tuple[int, int]:
    status = os.fstat(root)
    return (status.st_dev, status.st_ino)


def _still(root: int, parts: Parts, fact: Fact) -> bytes | None:
    """The content of the file; None when it is not the file any more that the run saw: its commit will fail."""
    try:
        # Look before opening: merely opening a device that is there now can have an effect.
        if not fact.is_still(fact_at(root, parts)):
            return None
        descriptor = open_beneath(root, parts, READ)
    except OSError:
        return None
    try:
        if not fact.is_still(Fact.of(os.fstat(descriptor))):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(fact.size + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data if len(data) == fact.size else None
