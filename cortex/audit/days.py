"""The daily files of the audit log: names them, and reads their lines forwards or backwards with bounded memory.

The files in order of their names are in the order of the hash chain.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from .lines import MAX_LINE_BYTES, NotARecord, Record, parse

LATEST = "latest"
"""A link to the newest file. It is moved under the lock, before the first line of a new file is written: while it is
unchanged, no process writes to a newer file."""

_NAME = re.compile(r"\d{4}-\d\d-\d\d\.jsonl\Z")
_BLOCK_BYTES = 65_536
_FIRST_BLOCK_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file, with its offsets."""

    data: bytes
    """Without its line end. Of a line longer than any record, only the beginning."""
    start: int
    end: int
    """The offset of the next line."""
    is_whole: bool = True
    """Whether the line has its line end."""


def day_name(at: str) -> str:
    """The name of the file for a record of that time; the time in ISO format, UTC."""
    return f"{at[:10]}.jsonl"


def day_names(folder: Path) -> list[str]:
    """The names of all files, oldest first; empty if there is no such folder."""
    try:
        return sorted(name for name in os.listdir(folder) if _NAME.match(name))
    except FileNotFoundError:
        return []


def latest_name(folder: str) -> str | None:
    try:
        return os.readlink(f"{folder}/{LATEST}")
    except OSError:
        return None


def point_latest(folder: Path, name: str) -> None:
    """Move the link to the newest file. Only under the lock: the link is first made under one fixed name."""
    new = folder / f".{LATEST}"
    with suppress(FileNotFoundError):
        new.unlink()
    new.symlink_to(name)
    new.replace(folder / LATEST)


def lines(path: Path, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """The lines of a file in order, and then what follows the last line end."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        end = size if end is None else min(end, size)
        file.seek(start)
        while start < end:
            data = file.readline(min(MAX_LINE_BYTES + 1, end - start))
            last, position = data, start + len(data)
            while last and not last.endswith(b"\n") and position < end:
                last = file.readline(min(_BLOCK_BYTES, end - position))
                position += len(last)
            if not last:  # shorter than it was a moment ago
                return
            yield Line(data.removesuffix(b"\n"), start, position, last.endswith(b"\n"))
            start = position


def lines_backwards(path: Path, end: int | None = None) -> Iterator[Line]:
    """The lines of a file in reverse order, or those before the offset `end`. Begins with what follows the last line
    end, if anything."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        stop = position = size if end is None else min(end, size)
        tail, is_whole, block = b"", False, _FIRST_BLOCK_BYTES
        while position:
            size = min(block, position)
            data = os.pread(file.fileno(), size, position - size)
            if len(data) < size:  # shorter than it was a moment ago
                return
            tail, position, block = data + tail, position - size, _BLOCK_BYTES
            while (cut := tail.rfind(b"\n")) >= 0:
                start = position + cut + 1
                if is_whole or start < stop:
                    yield Line(tail[cut + 1 :], start, stop + is_whole, is_whole)
                tail, stop, is_whole = tail[:cut], start - 1, True
            tail = tail[: MAX_LINE_BYTES + 1]
        if is_whole or stop:
            yield Line(tail, 0, stop + is_whole, is_whole)


def records(folder: Path, *, last: int | None = None) -> Iterator[Record]:
    """The readable records, oldest first; the last `last`, or all."""
    if last is None:
        return Tail(folder).news()
    return islice(Tail.before(folder, last).news(), last)


def newest(folder: Path, since: str) -> Iterator[Record]:
    """The readable records, newest first, of the files from this name on."""
    for name in reversed(day_names(folder)):
        if name < since:
            return
        yield from _readable(lines_backwards(folder / name))


def find(folder: Path, seq: int) -> Record | None:
    """The record with this number."""
    for record in before(folder, seq + 1):
        return record if record.seq == seq else None
    return None


def before(folder: Path, seq: int | None = None) -> Iterator[Record]:
    """The readable records with a lower number than this, newest first; all without one. What comes behind that record
    is not read: the place is found by halving."""
    for name in reversed(day_names(folder)):
        path = folder / name
        end = None if seq is None else _end_before(path, seq)
        for record in _readable(lines_backwards(path, end)):
            if seq is None or record.seq < seq:
                yield record


def after(folder: Path, seq: int) -> Iterator[Record]:
    """The readable records with a higher number than this, oldest first."""
    for name in day_names(folder):
        path = folder / name
        newest_of = next(_readable(lines_backwards(path)), None)
        if newest_of is not None and newest_of.seq > seq:
            yield from (one for one in _readable(lines(path, _end_before(path, seq + 1))) if one.seq > seq)


def _end_before(path: Path, seq: int) -> int:
    """The offset of the first line whose number is at least this; the size of the file when there is none. In a file
    whose lines were changed it is some offset at which a line begins."""
    low, high = 0, os.stat(path).st_size
    while high - low > _BLOCK_BYTES:
        middle = (low + high) // 2
        line = next(islice(lines(path, middle), 1, None), None)  # the first one is the rest of a line
        record = None if line is None else next(_readable(iter([line])), None)
        if line is None or record is None or record.seq >= seq:
            high = middle
        else:
            low = line.end
    for line in lines(path, low):
        record = next(_readable(iter([line])), None)
        if record is not None and record.seq >= seq:
            return line.start
    return os.stat(path).st_size


class Tail:
    """A position in the log, and the records after it."""

    def __init__(self, folder: Path, name: str = "", offset: int = 0) -> None:
        self._folder = folder
        self._name = name
        self._offset = offset

    @classmethod
    def before(cls, folder: Path, last: int) -> Tail:
        """The position before the last `last` records."""
        return cls(folder, *_start_of(folder, last))

    def news(self) -> Iterator[Record]:
        """The readable records since the last call; an incomplete line waits for the next call."""
        # The files are listed before they are read: once there is a newer file, no process writes to this one any more.
        for name in [name for name in day_names(self._folder) if name >= self._name]:
            if name != self._name:
                self._name, self._offset = name, 0
            self._offset = min(self._offset, os.stat(self._folder / name).st_size)
            for line in lines(self._folder / name, self._offset):
                if not line.is_whole:
                    break
                self._offset = line.end
                with suppress(NotARecord):
                    yield parse(line.data)


def _start_of(folder: Path, last: int) -> tuple[str, int]:
    """The file and offset after which there are at most `last` records."""
    for name in reversed(day_names(folder)):
        for line in lines_backwards(folder / name):
            if line.is_whole and last <= 0:
                return name, line.end
            last -= sum(1 for _ in _readable(iter([line])))
    return "", 0


def _readable(found: Iterator[Line]) -> Iterator[Record]:
    for line in found:
        with suppress(NotARecord):
            if line.is_whole:
                yield parse(line.data)
