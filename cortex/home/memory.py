"""The agent's memory between conversations: short texts, the newest last, at most about a thousand.

One line of JSON for each. A line that was torn by a power cut is skipped and reported; it never damages others.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cortex.text import beginning, whole
from sandbox import FILE_MODE, FileLock, Flusher, flush_file, private_folder, replace_file

from .json_lines import append_line, last_lines

if TYPE_CHECKING:
    from neurons import Neuron

log = logging.getLogger("motor_cortex")

MAX_CHARACTERS = 2_000
MAX_ENTRIES = 1_000
# One character takes at most twelve bytes of JSON (two escaped halves), and the rest of the line is short.
_MAX_LINE_BYTES = 12 * MAX_CHARACTERS + 200
# The oldest are dropped this many at a time: the rest has to be rewritten, and that may be megabytes.
_SURPLUS = 100
_MAX_FILE_BYTES = (MAX_ENTRIES + _SURPLUS) * _MAX_LINE_BYTES
_BLOCK_BYTES = 1_048_576


@dataclass(frozen=True, slots=True)
class Recollection:
    """One remembered text and its time."""

    at: float
    text: str


class Memory:
    """The file of remembered texts, shared by all processes of a home."""

    def __init__(self, folder: Path, *, now: Callable[[], float] = time.time, flusher: Flusher | None = None) -> None:
        self._path = folder / "memory.jsonl"
        self._lock = FileLock(folder / "memory.lock")
        self._now = now
        self._flusher = flusher
        self._inode = self._counted_bytes = self._counted_lines = 0

    def remember(self, text: str) -> None:
        """Keep the text, cut if too long; the oldest texts make way. Raises ValueError for an empty text, and OSError
        or LockBusy when it cannot be kept."""
        # A lone surrogate cannot be sent to a model: this request would fail, and every later one.
        text = beginning(whole(text).strip(), MAX_CHARACTERS)
        if not text:
            raise ValueError("there is nothing to remember in an empty text")
        line = json.dumps({"at": self._now(), "text": text}).encode() + b"\n"
        private_folder(self._path.parent)
        with self._lock.held():
            self._keep(line)

    def recent(self, most: int = MAX_ENTRIES) -> list[Recollection]:
        """The newest `most` texts, oldest first. Unreadable lines are skipped and reported."""
        most = min(most, MAX_ENTRIES)
        lines = last_lines(self._path, most * _MAX_LINE_BYTES)
        found: list[Recollection] = []
        damaged = 0
        for line in reversed(lines):
            if len(found) >= most:
                break
            entry = _entry(line)
            if entry is None:
                damaged += 1
            else:
                found.append(entry)
        if damaged:
            log.warning('Passed over %d lines of "%s" that cannot be read', damaged, self._path)
        return found[::-1]

    def close(self) -> None:
        self._lock.close()

    def _keep(self, line: bytes) -> None:
        handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            if self._is_full(handle):
                kept = last_lines(self._path, MAX_ENTRIES * _MAX_LINE_BYTES)[1 - MAX_ENTRIES :]
                replace_file(self._path, b"".join(old + b"\n" for old in kept) + line, durable=True)
                return
            append_line(handle, line)
        finally:
            os.close(handle)
        if self._flusher is not None:
            self._flusher.want(self._path, partial(flush_file, self._path))

    def _is_full(self, handle: int) -> bool:
        """Whether the oldest must make way. Reads only what was added since the last call."""
        status = os.fstat(handle)
        if status.st_size > _MAX_FILE_BYTES:
            return True
        if status.st_ino != self._inode or status.st_size < self._counted_bytes:
            self._inode, self._counted_bytes, self._counted_lines = status.st_ino, 0, 0
        while block := os.pread(handle, _BLOCK_BYTES, self._counted_bytes):
            self._counted_bytes += len(block)
            self._counted_lines += block.count(b"\n")
        return self._counted_lines >= MAX_ENTRIES + _SURPLUS


def _entry(line: bytes) -> Recollection | None:
    try:
        entry = json.loads(line)
        at, text = float(entry["at"]), entry["text"]
    except (ValueError, RecursionError, KeyError, TypeError, OverflowError):
        return None
    return Recollection(at, whole(text)[:MAX_CHARACTERS]) if isinstance(text, str) else None


class LearnedSkills:
    """Remembers neurons that have passed their trial."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def learned(self, neuron: Neuron) -> None:
        signals = f"It answers {', '.join(neuron.input_signals)}"
        emits = f" and emits {', '.join(neuron.output_signals)}" if neuron.output_signals else ""
        self._memory.remember(f"Learned skill: {neuron.name}: {neuron.metadata.purpose}. {signals}{emits} without me.")
