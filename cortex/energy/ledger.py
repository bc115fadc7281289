"""The energy ledger: a file with one line for each change of the level, only appended to, each line in one write.

A line is complete once its newline is there. What follows the last newline was being written when a process died: that
energy was never given out, so it can be cut off. The caller holds the lock for every write.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cortex.settings import Share
from sandbox import Tier, append_whole, end_of_file, flush_file, flush_folder, open_lines

from .terms import EnergyTerms

# After a crash the last newline is followed by a part of one line, and after a power cut perhaps by a hole.
_MOST_BYTES = 16 * 1024 * 1024
_FIRST_LINE = b'{"seq":1,'

Finite = Annotated[float, Field(allow_inf_nan=False)]
Moment = Annotated[float, Field(ge=0, lt=32_503_680_000)]
"""Seconds since 1970, before the year 3000: any other time means a broken clock."""


class Entry(BaseModel):
    """One change of the level. Unknown keys, added by a later version, are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    seq: Annotated[int, Field(ge=1)]
    at: Moment
    reason: str
    """`execution`, `settled`, `set`, `top-up`, `initial`, `recovered`, `clock`, or what a caller said."""
    amount: Finite
    """The amount added; negative if taken."""
    recharged: Finite = 0.0
    """What recharging had added since the previous entry: level = previous level + recharged + amount."""
    level: Share
    """The level after this change."""
    tier: Tier | None = None
    turn: str | None = None
    code_hash: str | None = None
    reserved: Finite | None = None
    settled: Finite | None = None
    """The measured cost of the run for which `reserved` had been taken."""
    of: Annotated[int, Field(ge=1)] | None = None
    """The number of the entry that had taken `reserved`: after a crash it tells whether that was settled."""
    by: str | None = None
    note: str | None = None
    terms: EnergyTerms | None = None
    """On what terms the program spends from here on; with the first entry of each program."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the end of the file holds."""

    inode: int
    size: int
    whole_size: int
    """The size up to the last newline."""
    newest: Entry | None
    is_damaged: bool
    """The last complete line is not an entry; `newest` is the last valid entry before it, if one is nearby."""

    @property
    def is_sound(self) -> bool:
        return self.newest is not None and self.whole_size == self.size and not self.is_damaged


class LedgerFile:
    """The ledger file of a home: reads its end, and appends entries."""

    _handle = -1

    def __init__(self, path: Path) -> None:
        self.path = path
        self._inode = 0
        self._is_new_name = False
        self._known: Reading | None = None

    def read(self) -> Reading | None:
        """The end of the file, from memory when it has not changed; None when there is no file.

        Without the lock, the last line may be one that another process is just writing.
        """
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return None
        known = self._known
        if known is not None and known.size == status.st_size and known.inode == status.st_ino:
            return known
        reading = _read_end(self.path)
        # Only a sound reading is remembered: a torn line may be cut off and another line grow to the same size.
        self._known = reading if reading is not None and reading.is_sound else None
        return reading

    def append(self, entry: Entry) -> None:
        """Append the entry as one line. Either all of it is written, or nothing and OSError is raised."""
        size = append_whole(self._open(), as_line(entry))
        self._known = Reading(self._inode, size, size, entry, is_damaged=False)

    def cut(self, size: int) -> None:
        os.ftruncate(self._open(), size)

    def flush(self) -> None:
        """Flush to disk; everything written is on disk when this returns. Needs no lock."""
        flush_file(self.path)
        if self._is_new_name:
            flush_folder(self.path.parent)
            self._is_new_name = False

    def entries(self, last: int) -> list[Entry]:
        """The newest `last` entries, oldest first. Lines that are not entries are left out."""
        if last <= 0:
            return []
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return []
        try:
            data = end_of_file(handle, os.fstat(handle).st_size, last).data
        finally:
            os.close(handle)
        found = (entry_of(line) for line in data.split(b"\n")[:-1])
        return [entry for entry in found if entry is not None][-last:]

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        self.close()

    def _open(self) -> int:
        """The open file handle, reopened when the path names another file."""
        try:
            inode = os.stat(self.path).st_ino
        except FileNotFoundError:
            inode = 0
            self._is_new_name = True
        if self._handle < 0 or inode != self._inode:
            self.close()
            self._handle = open_lines(self.path)
            self._inode = os.fstat(self._handle).st_ino
        return self._handle


def as_line(entry: Entry) -> bytes:
    return entry.model_dump_json(exclude_none=True).encode() + b"\n"


def entry_of(line: bytes) -> Entry | None:
    """The entry on a line without its line end; None for any other line."""
    try:
        return Entry.model_validate_json(line)
    except ValidationError:
        return None


def _read_end(path: Path) -> Reading | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(handle)
        start, data, _ = end_of_file(handle, status.st_size, 1, _MOST_BYTES)
    finally:
        os.close(handle)
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].split(b"\n")[:-1]
    newest = next(filter(None, map(entry_of, reversed(lines))), None)
    if lines:
        is_damaged = newest is None or entry_of(lines[-1]) is None
    else:
        # The very first line may be torn, too; any other content was not written by us.
        is_damaged = not (data.startswith(_FIRST_LINE) or _FIRST_LINE.startswith(data))
    return Reading(status.st_ino, start + len(data), start + whole, newest, is_damaged)
