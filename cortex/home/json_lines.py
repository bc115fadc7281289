"""Appends lines to a file so that each is there whole or not at all, and a torn one damages no other."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def append_line(handle: int, line: bytes) -> None:
    """Append a line, with its line end, to a file opened for reading and appending. Raises OSError.

    The caller must be the only writer meanwhile.
    """
    size = os.fstat(handle).st_size
    # A torn last line must not spoil this one.
    mend = b"\n" if size and os.pread(handle, 1, size - 1) != b"\n" else b""
    if os.write(handle, mend + line) != len(mend + line):
        # Else an incomplete line would count as written, and readers would skip it.
        os.ftruncate(handle, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def last_lines(path: Path, max_bytes: int) -> list[bytes]:
    """The lines in the last `max_bytes` of the file, however large it is; empty when there is no file."""
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - max_bytes)
            file.seek(start)
            lines = file.read(max_bytes).split(b"\n")
    except FileNotFoundError:
        return []
    # The text before the first line end may be part of a line.
    return [line for line in (lines[1:] if start else lines) if line.strip()]
