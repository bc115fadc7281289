"""The history of the prompt: the last lines that the person typed, in a private file of one JSON string per line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sandbox import FILE_MODE, replace_file

MAX_LINES = 1_000
_MAX_CHARS = 10_000
# Read at most this much of the file's end. Twice the kept lines, all of them long, are the file of another program.
_MAX_BYTES = 4 * 1_048_576


class LineHistory:
    """Reads and appends the history. Where the file cannot be read or written, the chat goes on without it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def lines(self) -> list[str]:
        """The lines, the oldest first. Shortens the file when it has grown too long."""
        try:
            with self._path.open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _MAX_BYTES))
                found = list(_read(file.read(_MAX_BYTES)))
        except OSError:
            return []
        if len(found) >= 2 * MAX_LINES:
            with suppress(OSError):
                replace_file(self._path, b"".join(map(_line, found[-MAX_LINES:])))
        return found[-MAX_LINES:]

    def add(self, text: str) -> None:
        with suppress(OSError):
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
            try:
                os.write(handle, _line(text[:_MAX_CHARS]))
            finally:
                os.close(handle)


def _line(text: str) -> bytes:
    return json.dumps(text).encode() + b"\n"


def _read(data: bytes) -> Iterator[str]:
    for line in data.split(b"\n"):
        with suppress(ValueError, RecursionError):
            if isinstance(text := json.loads(line), str):
                yield text
