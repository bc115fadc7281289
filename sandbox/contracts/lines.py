"""Splits bytes that arrive in chunks into lines of limited length. Pure: the caller reads the stream.

For every stream on which an untrusted process or peer sends lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeAlias, TypeVar, cast

Line: TypeAlias = bytes | bytearray
T = TypeVar("T")


class LineTooLong(ValueError):
    """A line exceeds its limit. The message says how: "more than 4096 bytes"."""


class LineSplitter(Generic[T]):
    """Splits chunks into lines of at most `max_bytes`. Raises LineTooLong as soon as a line is longer, even before its
    end has come; a subclass may override `_refuse` and go on, with something else than a Line in place of that line."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._unseen_bytes = max_bytes
        """A line of at most this length that comes whole in a chunk is passed on without `_add`."""
        self._begin()

    def feed(self, chunk: bytes) -> Iterator[Line | T]:
        """Yield the lines that the chunk completes, without their line ends."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            if self.size or end - start > self._unseen_bytes:
                self._add(chunk[start:end])
                yield self._taken()
            else:
                yield chunk[start:end]
            start = end + 1
        if start < len(chunk):
            self._add(chunk[start:])

    def _taken(self) -> T:
        """End the line, and begin the next one."""
        line = self._ended()
        self._begin()
        return line

    def _begin(self) -> None:
        self._kept: Line = b""
        self.size = 0
        """Bytes of the line that has not ended yet."""

    def _add(self, part: bytes) -> None:
        self.size += len(part)
        # Not a list of parts: a line that comes two bytes at a time would take twenty times its size in memory.
        if isinstance(self._kept, bytearray):
            self._kept += part
        else:
            self._kept = bytearray().join((self._kept, part)) if self._kept else part
        if self.size > self._max_bytes:
            self._refuse(f"more than {self._max_bytes} bytes")

    def _refuse(self, reason: str) -> None:
        raise LineTooLong(reason)

    def _ended(self) -> T:
        # Not copied: a copy of megabytes would double the memory.
        return cast("T", self._kept)
