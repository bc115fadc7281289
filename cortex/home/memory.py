"""The agent's memory between conversations: short texts, the newest last, at most about a thousand.

One line of JSON for each. A line that was torn by a power cut is skipped and reported; it never damages others.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex.text import beginning, whole

if TYPE_CHECKING:
    from neurons import Neuron

    from .ports import HomePorts

log = logging.getLogger("motor_cortex")

MAX_CHARACTERS = 2_000
MAX_ENTRIES = 1_000
# One character takes at most twelve bytes of JSON (a surrogate pair, each half written as \uXXXX); the rest is short.
_MAX_LINE_BYTES = 12 * MAX_CHARACTERS + 200
# The file may hold this many more than it keeps.
_SPARE_LINES = 100


@dataclass(frozen=True, slots=True)
class Recollection:
    """One remembered text and its time."""

    at: float
    text: str


class Memory:
    """The remembered texts of a home, shared by all its processes."""

    def __init__(self, home: HomePorts, *, now: Callable[[], float] = time.time) -> None:
        self._lines = home.lines("memory", keep=MAX_ENTRIES, max_line_bytes=_MAX_LINE_BYTES)
        self._now = now

    def remember(self, text: str) -> None:
        """Keep the text, cut if too long; the oldest texts make way. Raises ValueError for an empty text, and OSError
        or LockBusy when it cannot be kept."""
        # A lone surrogate cannot be sent to a model: this request would fail, and every later one.
        text = beginning(whole(text).strip(), MAX_CHARACTERS)
        if not text:
            raise ValueError("there is nothing to remember in an empty text")
        self._lines.append(json.dumps({"at": self._now(), "text": text}).encode() + b"\n")

    def recent(self, most: int = MAX_ENTRIES) -> list[Recollection]:
        """The newest `most` texts, oldest first. Unreadable lines are skipped and reported."""
        most = min(most, MAX_ENTRIES)
        found, damaged = _newest(self._lines.last(most), most)
        if damaged:
            # Others further back take the place of those that cannot be read.
            found, damaged = _newest(self._lines.last(MAX_ENTRIES + _SPARE_LINES), most)
            log.warning("Skipped %d unreadable lines of the agent's memory", damaged)
        return found

    def close(self) -> None:
        self._lines.close()


def _newest(lines: list[bytes], most: int) -> tuple[list[Recollection], int]:
    """The newest `most` texts in the lines, oldest first, and how many unreadable lines were among them."""
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
    return found[::-1], damaged


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
