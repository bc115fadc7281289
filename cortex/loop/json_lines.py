"""The file of a conversation: lines that are only appended, for one writer among all processes.

Each line is one write, so a killed program leaves at most part of a line at the end, which the next one cuts off.
"""

from __future__ import annotations

import fcntl
import logging
import os
from pathlib import Path

from sandbox import FILE_MODE, private_folder

log = logging.getLogger("motor_cortex")

# Of a larger file only the end is read; its beginning is left alone.
MAX_READ_BYTES = 16 * 1024 * 1024


class FileBusy(Exception):
    """Another program has the file open for writing."""


class JsonLines:
    """The file, open for one writer among all processes."""

    _handle = -1

    def __init__(self, path: Path, *, create: bool, max_read_bytes: int = MAX_READ_BYTES) -> None:
        """Open or create the file. Raises FileBusy, FileNotFoundError (or FileExistsError with `create`), and
        OSError."""
        if create:
            private_folder(path.parent)
        flags = os.O_CREAT | os.O_EXCL if create else 0
        self._handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | flags, FILE_MODE)
        self._path = path
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.lines = [] if create else self._read(max_read_bytes)
        except BlockingIOError as error:
            self.close()
            raise FileBusy(f'"{path}" is open in another program') from error
        except BaseException:
            self.close()
            raise

    def _read(self, max_bytes: int) -> list[bytes]:
        size = os.fstat(self._handle).st_size
        begin = max(0, size - max_bytes)
        # The byte before shows whether a line begins there.
        data = _read_at(self._handle, max(0, begin - 1), size)
        whole, _, torn = data.rpartition(b"\n")
        if torn:
            # Cut off before anything is appended: else the next line would be glued to it, and lost as well.
            os.ftruncate(self._handle, size - len(torn))
            log.warning("Cut off %d bytes of a line that was never finished at the end of %s", len(torn), self._path)
        lines = whole.split(b"\n")
        return lines[1:] if begin else lines

    def append(self, data: bytes) -> None:
        """Append data, whole or not at all unless the program is killed. Raises OSError."""
        before = os.fstat(self._handle).st_size
        written = os.write(self._handle, data)
        if written < len(data):
            os.ftruncate(self._handle, before)
            raise OSError(f"only {written} of {len(data)} bytes were taken")

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        self.close()


def first_lines(path: Path, max_bytes: int) -> list[bytes]:
    """Complete lines from the beginning of a file that another program may be writing."""
    with path.open("rb") as file:
        whole, _, _ = file.read(max_bytes).rpartition(b"\n")
    return whole.split(b"\n")


def _read_at(handle: int, begin: int, end: int) -> bytes:
    pieces = []
    while begin < end and (piece := os.pread(handle, end - begin, begin)):
        pieces.append(piece)
        begin += len(piece)
    return b"".join(pieces)
