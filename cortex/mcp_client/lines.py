"""Messages out of what a process writes: one in each line. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

HEAD_BYTES = 512


class TooLong(NamedTuple):
    """A line that nobody keeps, but for where it begins and where it ends."""

    head: bytes
    tail: bytes


class Lines:
    """Lines out of chunks. Of one that is too long only the beginning is kept, however long it goes on."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._tail = b""
        self.size = 0
        """Of the line that has not ended yet."""

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            line = b"".join(self._parts)
            yield line if self.size <= self._max_bytes else TooLong(line[:HEAD_BYTES], self._tail)
            self._parts, self.size, self._tail = [], 0, b""
        self._add(rest)

    def _add(self, part: bytes) -> None:
        self.size += len(part)
        if self.size <= self._max_bytes:
            self._parts.append(part)
        elif self._parts or part:
            kept = b"".join(self._parts)
            self._tail = ((self._tail or kept[-HEAD_BYTES:]) + part)[-HEAD_BYTES:]
            self._parts = [(kept[:HEAD_BYTES] + part[:HEAD_BYTES])[:HEAD_BYTES]]
