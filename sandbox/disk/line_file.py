"""A file of lines that is only appended to. Each append is complete or absent, and a torn line damages no other.

The ledger and the audit write with `open_lines` and `append_whole` too, and keep their own formats: they also check
every line that they read.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

from .durable import FileLock, Flusher, LockBusy
from .whole_files import FILE_MODE, flush_file, private_folder, replace_file

_BLOCK_BYTES = 8_192
_COUNTED_BYTES = 1_048_576
# The oldest lines are dropped this many at a time: the rest has to be rewritten, and that may be megabytes.
_SURPLUS = 100


def open_lines(path: Path, *, create: bool = True, is_new: bool = False) -> int:
    """Open the file for reading and appending. With `is_new` it must not exist yet. Raises OSError, also for a link."""
    flags = (os.O_CREAT if create else 0) | (os.O_EXCL if is_new else 0)
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | flags, FILE_MODE)


def append_whole(handle: int, data: bytes) -> int:
    """Append the data and return the new size. Raises OSError, and then no part of the data is there.

    The caller must be the only writer meanwhile. If the program is killed during the call, a part may stay.
    """
    size = os.fstat(handle).st_size
    try:
        written = os.write(handle, data)
        while written < len(data):
            written += os.write(handle, data[written:])
    except BaseException:
        os.ftruncate(handle, size)
        raise
    return size + len(data)


def append_lines(handle: int, lines: bytes) -> int:
    """Like `append_whole`, for lines with their line ends: a torn line before them gets a line end first."""
    size = os.fstat(handle).st_size
    mend = b"\n" if size and os.pread(handle, 1, size - 1) != b"\n" else b""
    return append_whole(handle, mend + lines)


class FileEnd(NamedTuple):
    """The end of a file, and its offset in the file."""

    start: int
    data: bytes
    begins_line: bool
    """False when no line begins in what was read: then the data is the end of one long line."""


def end_of_file(handle: int, size: int, lines: int, most_bytes: int | None = None) -> FileEnd:
    """The end of the file, from the start of a line on. It has at least `lines` complete lines if the file has them
    within its last `most_bytes`. Raises OSError when it cannot be read whole: a part would look like a torn line."""
    limit = size if most_bytes is None else min(size, most_bytes)
    block = min(_BLOCK_BYTES, limit)
    while True:
        # With the byte before it, which shows whether a line begins there.
        start = max(0, size - block - 1)
        data = _read_whole(handle, start, size)
        if data.count(b"\n") > lines or block == limit:
            break
        block = min(block * 4, limit)
    skipped = data.find(b"\n") + 1 if start > 0 else 0
    return FileEnd(start + skipped, data[skipped:], begins_line=start == 0 or skipped > 0)


def _read_whole(handle: int, start: int, end: int) -> bytes:
    pieces = []
    while start < end:
        piece = os.pread(handle, end - start, start)
        if not piece:
            raise OSError(errno.EIO, "The file became shorter while it was read")
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)


def last_lines(path: Path, most: int, most_bytes: int) -> list[bytes]:
    """The last `most` lines that are not blank, oldest first, within the last `most_bytes` of the file; empty when
    there is no file. A torn line at the end counts."""
    if most <= 0:
        return []
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    try:
        end = end_of_file(handle, os.fstat(handle).st_size, most, most_bytes)
    finally:
        os.close(handle)
    return [line for line in end.data.split(b"\n") if line.strip()][-most:] if end.begins_line else []


def first_lines(path: Path, max_bytes: int) -> list[bytes]:
    """Complete lines from the beginning of a file that another program may be writing."""
    with path.open("rb") as file:
        whole, _, _ = file.read(max_bytes).rpartition(b"\n")
    return whole.split(b"\n")


class LineFile:
    """Lines by append, shared by all processes of a home. With `keep`, at least the newest `keep` lines stay, and older
    ones make way; without, every line stays, and the caller must be the only writer."""

    def __init__(
        self,
        path: Path,
        *,
        max_line_bytes: int,
        keep: int | None = None,
        max_read_bytes: int | None = None,
        flusher: Flusher | None = None,
    ) -> None:
        """`max_read_bytes` limits what `last` reads; None reads as much as its lines may take."""
        self._path = path
        self._max_read_bytes = max_read_bytes
        self._max_line_bytes = max_line_bytes
        self._keep = keep
        self._lock = FileLock(path.with_suffix(".lock")) if keep is not None else None
        self._flusher = flusher
        self._inode = self._counted_bytes = self._counted_lines = 0

    def append(self, lines: bytes) -> None:
        """Append one or more lines, each with its line end. Raises OSError, and LockBusy when another process holds the
        file for too long."""
        private_folder(self._path.parent)
        with self._lock.held() if self._lock is not None else nullcontext():
            handle = open_lines(self._path)
            try:
                if self._keep is not None and self._is_full(handle, self._keep):
                    kept = last_lines(self._path, self._keep - 1, self._keep * self._max_line_bytes)
                    replace_file(self._path, b"".join(old + b"\n" for old in kept) + lines, durable=True)
                    return
                append_lines(handle, lines)
            finally:
                os.close(handle)
        if self._flusher is not None:
            self._flusher.want(self._path, partial(flush_file, self._path))

    def last(self, most: int) -> list[bytes]:
        """The newest `most` lines, oldest first, without their line ends."""
        most_bytes = most * self._max_line_bytes
        return last_lines(self._path, most, min(most_bytes, self._max_read_bytes or most_bytes))

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def _is_full(self, handle: int, keep: int) -> bool:
        """Whether the oldest must make way. Reads only what was added since the last call."""
        status = os.fstat(handle)
        if status.st_size > (keep + _SURPLUS) * self._max_line_bytes:
            return True
        if status.st_ino != self._inode or status.st_size < self._counted_bytes:
            self._inode, self._counted_bytes, self._counted_lines = status.st_ino, 0, 0
        while block := os.pread(handle, _COUNTED_BYTES, self._counted_bytes):
            self._counted_bytes += len(block)
            self._counted_lines += block.count(b"\n")
        return self._counted_lines >= keep + _SURPLUS


class HeldLines:
    """A line file that only one program at a time can write. Raises LockBusy when another program has it open.

    `lines` has its complete lines. A killed program leaves at most part of a line, which is cut off here: no later
    line depends on it.
    """

    _handle = -1

    def __init__(
        self, path: Path, *, create: bool, max_read_bytes: int, on_torn: Callable[[int], None] = lambda _: None
    ) -> None:
        """Raises FileNotFoundError without `create`, FileExistsError with it, and OSError."""
        if create:
            private_folder(path.parent)
        self._handle = open_lines(path, create=create, is_new=create)
        try:
            # The handle itself is locked, and no second one: the path may lead to another file by then.
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.lines = [] if create else self._read(max_read_bytes, on_torn)
        except BlockingIOError as error:
            self.close()
            raise LockBusy(f'"{path}" is open in another program') from error
        except BaseException:
            self.close()
            raise

    def append(self, lines: bytes) -> None:
        """Append whole lines, or nothing and raise OSError."""
        append_whole(self._handle, lines)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        self.close()

    def _read(self, max_bytes: int, on_torn: Callable[[int], None]) -> list[bytes]:
        size = os.fstat(self._handle).st_size
        end = end_of_file(self._handle, size, size, max_bytes)
        if not end.begins_line:
            # Cutting would leave the beginning of a line, and the next one would be glued to it.
            append_lines(self._handle, b"")
            return []
        whole, _, torn = end.data.rpartition(b"\n")
        if torn:
            os.ftruncate(self._handle, size - len(torn))
            on_torn(len(torn))
        return whole.split(b"\n") if whole else []
