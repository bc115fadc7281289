"""Finds and remembers the end of the hash chain: in a writer's memory, in the files, and as recorded in `head.json`.

Without `head.json` it would go unnoticed if the newest lines were cut off: the rest is a valid chain, too.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sandbox import replace_file

from .days import day_names, lines_backwards
from .lines import GENESIS, NotARecord, is_hash, is_intact, parse

HEAD_FILE = "head.json"


class Known(NamedTuple):
    """The number and hash of a record that was written."""

    seq: int = 0
    hash: str = GENESIS


START = Known()
"""The state before the first record."""


@dataclass(frozen=True, slots=True)
class Head:
    """The last record, and its file at that time: while the file is unchanged, no other process has written."""

    name: str = ""
    inode: int = 0
    size: int = 0
    known: Known = START


@dataclass(frozen=True, slots=True)
class Found:
    """The end of the chain on disk, and what is wrong with it."""

    head: Head
    torn_bytes: int = 0
    """Bytes after the last line end: a writer died in the middle of a line."""
    damaged_lines: int = 0
    """Damaged lines after the last intact record."""


def find_head(folder: Path, newest: str | None = None) -> Found:
    """Search backwards for the last intact record; only in the newest file, if the caller names it."""
    names = [newest] if newest else day_names(folder)
    if not names:
        return Found(Head())
    status = os.stat(folder / names[-1])
    torn = damaged = 0
    for name in reversed(names):
        for line in lines_backwards(folder / name):
            if not line.is_whole and name == names[-1]:
                torn = line.end - line.start
                continue
            known = _intact(line.data)
            if known is not None:
                return Found(Head(names[-1], status.st_ino, status.st_size - torn, known), torn, damaged)
            damaged += 1
    return Found(Head(names[-1], status.st_ino, status.st_size - torn), torn, damaged)


def _intact(line: bytes) -> Known | None:
    try:
        record = parse(line)
    except NotARecord:
        return None
    return Known(record.seq, record.hash) if is_intact(line) else None


def read_known(folder: Path) -> Known | None:
    """What `head.json` says; None if it is missing or makes no sense."""
    try:
        with (folder / HEAD_FILE).open("rb") as file:
            fields = json.loads(file.read(1000).decode())
        seq, own = fields["seq"], fields["hash"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    if isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq < 2**63 or not is_hash(own):
        return None
    return Known(seq, own)


def write_known(folder: Path, known: Known) -> None:
    data = json.dumps({"format": 1, "seq": known.seq, "hash": known.hash}).encode()
    replace_file(folder / HEAD_FILE, data + b"\n", durable=True)


def has_changed(folder: str, head: Head) -> bool:
    """Whether the writer's file was replaced, or is not as this writer left it."""
    try:
        status = os.stat(f"{folder}/{head.name}")
    except FileNotFoundError:
        return True
    return status.st_size != head.size or status.st_ino != head.inode
