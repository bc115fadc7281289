"""Stores the lines that the person typed at the prompt, in a private file with one JSON string per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sandbox import LineFile, LockBusy

MAX_LINES = 1_000
_MAX_CHARS = 10_000
# One character takes at most twelve bytes of JSON (a surrogate pair, each half written as \uXXXX).
_MAX_LINE_BYTES = 12 * _MAX_CHARS + 10
# Lines of this much together are read when a chat starts; older ones are left out.
_MAX_READ_BYTES = 16 * 1_048_576


class LineHistory:
    """Reads and appends the history. Where the file cannot be read or written, the chat goes on without it."""

    def __init__(self, path: Path) -> None:
        self._file = LineFile(path, max_line_bytes=_MAX_LINE_BYTES, keep=MAX_LINES, max_read_bytes=_MAX_READ_BYTES)

    def lines(self) -> list[str]:
        """The lines, the oldest first."""
        with suppress(OSError):
            return list(_read(self._file.last(MAX_LINES)))
        return []

    def add(self, text: str) -> None:
        with suppress(OSError, LockBusy):
            self._file.append(json.dumps(text[:_MAX_CHARS]).encode() + b"\n")


def _read(lines: list[bytes]) -> Iterator[str]:
    for line in lines:
        with suppress(ValueError, RecursionError):
            if isinstance(text := json.loads(line), str):
                yield text
