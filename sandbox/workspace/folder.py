"""Reads the real folder on the disk. Everything here may wait for the disk, and must run on a thread.

Symlinks are shown but never followed, and only regular files are read. A hard link to a file outside looks like any
other file: a process that could put it into the folder could have read that file, and the code cannot make links.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from ..contracts import ToolError
from .beneath import LIST, READ, TRAVERSE, open_beneath
from .paths import MAX_DEPTH, Parts, quoted, shown, usable
from .terms import WorkspaceError

Kind = Literal["file", "folder", "link", "other"]

_CHUNK = 1024 * 1024
_CODES = {
    errno.ENOENT: "NotFound",
    errno.ENOTDIR: "NotADirectory",
    errno.EISDIR: "IsADirectory",
    errno.EACCES: "PermissionDenied",
    errno.EPERM: "PermissionDenied",
    errno.ENAMETOOLONG: "InvalidData",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """What was found at a path (from `stat`)."""

    kind: Kind
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int
    uid: int
    gid: int

    @classmethod
    def of(cls, status: os.stat_result) -> Fact:
        kind: Kind = "other"
        if stat.S_ISREG(status.st_mode):
            kind = "file"
        elif stat.S_ISDIR(status.st_mode):
            kind = "folder"
        elif stat.S_ISLNK(status.st_mode):
            kind = "link"
        return cls(
            kind=kind,
            size=status.st_size,
            mtime_ns=status.st_mtime_ns,
            ctime_ns=status.st_ctime_ns,
            inode=status.st_ino,
            mode=stat.S_IMODE(status.st_mode),
            uid=status.st_uid,
            gid=status.st_gid,
        )

    def is_still(self, other: Fact | None) -> bool:
        """Whether the entry is unchanged. A folder is unchanged whatever was put into it."""
        # A writer can reset mtime to what it was, as copying programs do, but not ctime.
        return (
            other is not None and self.looks_like(other) and (self.kind == "folder" or self.ctime_ns == other.ctime_ns)
        )

    def looks_like(self, other: Fact | None) -> bool:
        """Whether the entry is unchanged, ignoring ctime, which a rename changes."""
        if other is None or (self.kind, self.inode) != (other.kind, other.inode):
            return False
        return self.kind == "folder" or (self.size, self.mtime_ns) == (other.size, other.mtime_ns)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a file on the disk, and what was found there."""

    fact: Fact
    data: bytes

    @property
    def digest(self) -> bytes:
        return digest(self.data)


def digest(data: bytes | bytearray) -> bytes:
    return blake2b(data, digest_size=32).digest()


def open_folder(folder: Path) -> int:
    """Open the folder itself; return a descriptor. Raises WorkspaceError that says what is wrong with it."""
    try:
        return os.open(folder, LIST | os.O_CLOEXEC)
    except OSError as error:
        raise WorkspaceError(f'Cannot use "{folder}" as a workspace: {error.strerror}') from error


def fact_at(root: int, parts: Parts) -> Fact | None:
    """What is at the path, or None. Raises OSError when its parent is missing or is not a folder."""
    above = open_beneath(root, parts[:-1], TRAVERSE)
    try:
        return Fact.of(os.stat(parts[-1] if parts else ".", dir_fd=above, follow_symlinks=False))
    except FileNotFoundError:
        return None
    finally:
        os.close(above)


class Folder:
    """The folder on the disk, while a run uses it. Opened when it is first needed."""

    _root = -1

    def __init__(self, opener: Callable[[], int]) -> None:
        self._opener = opener
        self._lock = threading.Lock()
        self._users = 0
        self.closed = False
        self.identity: tuple[int, int] | None = None
        """Device and inode, once it is open."""

    def open(self) -> None:
        """Open the folder, once. More than one thread may try, when the first was abandoned."""
        root = self._opener()
        with self._lock:
            if self.closed or self.is_open:
                os.close(root)
                return
            status = os.fstat(root)
            self.identity = (status.st_dev, status.st_ino)
            self._root = root

    @property
    def is_open(self) -> bool:
        return self._root >= 0

    def close(self) -> None:
        """Close the folder once no thread uses it: an abandoned thread must not find its descriptor reused."""
        with self._lock:
            self.closed = True
            self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self.closed and self._users == 0 and self._root >= 0:
            os.close(self._root)
            self._root = -1

    def __del__(self) -> None:
        if self._root >= 0:
            os.close(self._root)

    @contextmanager
    def _borrowed(self) -> Iterator[int]:
        with self._lock:
            if self.closed or not self.is_open:
                raise has_ended()
            self._users += 1
        try:
            yield self._root
        finally:
            with self._lock:
                self._users -= 1
                self._close_if_unused()

    @contextmanager
    def _opened(self, parts: Parts, flags: int) -> Iterator[int]:
        with self._borrowed() as root:
            descriptor = open_beneath(root, parts, flags)
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def look(self, parts: Parts) -> Fact | None:
        """What is at the path, or None. Raises ToolError when its parent is missing or is not a folder."""
        with _told("look at", parts), self._borrowed() as root:
            return fact_at(root, parts)

    def may_write(self, parts: Parts) -> bool:
        """Whether this user may write to a file, by its mode and everything else that the file system checks."""
        with _told("look at", parts), self._opened(parts[:-1], TRAVERSE) as above:
            return os.access(parts[-1], os.W_OK, dir_fd=above, effective_ids=True, follow_symlinks=False)

    def read(self, parts: Parts, max_bytes: int) -> Content:
        """Read a whole regular file. Raises ToolError."""
        with _told("read", parts):
            # Look before opening: merely opening a device can have an effect.
            found = self.look(parts)
            if found is not None and found.kind == "other":
                raise not_regular(parts)
            with self._opened(parts, READ) as descriptor:
                fact = Fact.of(os.fstat(descriptor))
                if fact.kind == "folder":
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                if fact.kind != "file":
                    raise not_regular(parts)
                if fact.size > max_bytes:
                    raise too_large(parts, fact.size, max_bytes)
                data = _read_all(descriptor, max_bytes)
        if len(data) > max_bytes:
            raise too_large(parts, len(data), max_bytes)
        return Content(fact, data)

    def digest(self, parts: Parts, max_bytes: int) -> bytes | None:
        """The digest of a file; None when it cannot be read."""
        try:
            return self.read(parts, max_bytes).digest
        except ToolError:
            return None

    def entries(self, parts: Parts, max_entries: int) -> dict[str, Kind]:
        """The names in a folder that the code may see, and the kind of each."""
        found: dict[str, Kind] = {}
        with _told("list", parts), self._opened(parts, LIST) as descriptor, os.scandir(descriptor) as scan:
            for entry in scan:
                if not usable(entry.name):
                    continue
                if len(found) >= max_entries:
                    raise too_many(parts, max_entries)
                found[entry.name] = _kind(entry)
        return found

    def walk(self, parts: Parts, max_entries: int) -> dict[Parts, Fact]:
        """Everything beneath a folder. Raises ToolError when it contains a name that the code may not see."""
        found: dict[Parts, Fact] = {}
        waiting = [parts]
        while waiting:
            above = waiting.pop()
            with _told("list", above), self._opened(above, LIST) as descriptor, os.scandir(descriptor) as scan:
                for entry in scan:
                    if not usable(entry.name):
                        message = f"{quoted(shown(above))} holds an entry whose name cannot be used here"
                        raise ToolError(message, code="PermissionDenied")
                    if len(found) >= max_entries:
                        raise too_many(parts, max_entries)
                    fact = Fact.of(os.stat(entry.name, dir_fd=descriptor, follow_symlinks=False))
                    found[(*above, entry.name)] = fact
                    if fact.kind != "folder":
                        continue
                    if len(above) + 1 >= MAX_DEPTH:
                        raise ToolError(f"{quoted(shown(parts))} is deeper than {MAX_DEPTH} folders", code="LimitError")
                    waiting.append((*above, entry.name))
        return found


def has_ended() -> ToolError:
    return ToolError("The run has ended, and with it its use of files", code="BadResource")


def too_large(parts: Parts, size: int, max_bytes: int) -> ToolError:
    return ToolError(f"{quoted(shown(parts))} is too large: {size} bytes of at most {max_bytes}", code="LimitError")


def too_many(parts: Parts, most: int) -> ToolError:
    return ToolError(f"{quoted(shown(parts))} holds more than {most} entries", code="LimitError")


def not_regular(parts: Parts) -> ToolError:
    return ToolError(f"{quoted(shown(parts))} is not a regular file", code="PermissionDenied")


def is_link(parts: Parts) -> ToolError:
    message = f"{quoted(shown(parts))} is a symbolic link or behind one, and links are not followed here"
    return ToolError(message, code="PermissionDenied")


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _read_all(descriptor: int, max_bytes: int) -> bytes:
    """Read at most one byte more than allowed: a file can grow while it is read."""
    pieces = []
    left = max_bytes + 1
    while left > 0 and (piece := os.read(descriptor, min(left, _CHUNK))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


@contextmanager
def _told(verb: str, parts: Parts) -> Iterator[None]:
    """Turn an OSError into a ToolError for the code, without any path of the host."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise is_link(parts) from error
        code = _CODES.get(error.errno or 0, "BadResource")
        raise ToolError(f"Cannot {verb} {quoted(shown(parts))}: {error.strerror}", code=code) from error
