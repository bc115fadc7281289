"""Files of lines that only grow: a line is there whole or not at all, and one that a kill or a power cut has torn
takes no other with it."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def append_line(handle: int, line: bytes) -> None:
    """Add a line, with its end, to a file that was opened for reading and appending. Raises OSError.

    The caller is the only one who writes meanwhile.
    """
    size = os.fstat(handle).st_size
    # What was torn must not spoil this one.
    mend = b"\n" if size and os.pread(handle, 1, size - 1) != b"\n" else b""
    if os.write(handle, mend + line) != len(mend + line):
        # Else it would be said to be there, and whoever reads would pass it over.
        os.ftruncate(handle, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def last_lines(path: Path, max_bytes: int) -> list[bytes]:
    """Those in so many bytes at the end, however large somebody made the file; none where there is no file."""
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - max_bytes)
            file.seek(start)
            lines = file.read(max_bytes).split(b"\n")
    except FileNotFoundError:
        return []
    # What comes before the first line end may be the rest of a line.
    return [line for line in (lines[1:] if start else lines) if line.strip()]
