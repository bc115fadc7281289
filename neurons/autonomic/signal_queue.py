"""The queue of waiting signals, one line for each awake neuron. Pure: nothing here waits or reads a clock.

A line is ordered by priority, then by age. When it is full, less important signals make way for more important ones,
and among equals the oldest for the newest: a neuron that rested wakes up to what is new. Every dropped signal is
counted with its reason.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..contracts import HIGHEST, LOWEST


class Drop(StrEnum):
    """Why a signal did not arrive."""

    FULL = "full"
    EXPIRED = "expired"
    """It waited longer than its time to live."""
    DUPLICATE = "duplicate"
    DEPTH = "depth"
    """The chain of signals that answer signals was too long."""
    RATE = "rate"
    """Too many of this type from one neuron, or more in all than a neuron may emit within a minute."""
    UNDECLARED = "undeclared"
    """A neuron emitted a type that it had not declared."""
    TOO_LARGE = "too_large"
    NOT_JSON = "not_json"
    ASLEEP = "asleep"
    """The neuron was disabled while the signal waited, or could not be started."""
    KILLED = "killed"
    ELSEWHERE = "elsewhere"
    """The layer does not run in this process, but perhaps in another one on the same home."""
    NO_WAKE = "no_wake"
    """It would have started a turn of the agent, but the hourly limit was reached."""
    NO_ANSWER = "no_answer"
    """It would have been said in the chat, but the daily limit was reached."""
    WATCHER = "watcher"
    """A watcher was too slow for it."""


@dataclass(frozen=True, slots=True)
class QueuedSignal:
    """A signal in a line. One object is shared by the lines of all neurons that listen."""

    id: str
    correlation: str
    depth: int
    priority: int
    until: float
    """The signal is not delivered after this time."""
    given: Mapping[str, Any]
    """The signal as the neuron's code sees it. A private copy: later changes that the host makes to its data do not
    show here."""
    origin: str = ""


class _Line:
    """The signals that wait for one neuron, by priority."""

    __slots__ = ("by_priority", "count")

    def __init__(self) -> None:
        self.by_priority: list[deque[QueuedSignal]] = [deque() for _ in range(LOWEST, HIGHEST + 1)]
        self.count = 0

    def lowest(self) -> int:
        """The lowest priority among the waiting signals; above HIGHEST when the line is empty."""
        for priority, same in enumerate(self.by_priority):
            if same:
                return priority
        return HIGHEST + 1


class SignalQueue:
    """All waiting signals: at most `max_queued` together, and `max_per_neuron` in one line."""

    def __init__(self, max_queued: int, max_per_neuron: int) -> None:
        self._max_queued = max_queued
        self._max_per_neuron = max_per_neuron
        self._lines: dict[str, _Line] = {}
        self._count = 0
        self.dropped: Counter[Drop] = Counter()

    def __len__(self) -> int:
        return self._count

    def __contains__(self, neuron_id: object) -> bool:
        return neuron_id in self._lines

    def open(self, neuron_id: str) -> None:
        """Start a line for this neuron."""
        self._lines.setdefault(neuron_id, _Line())

    def close(self, neuron_id: str, why: Drop = Drop.ASLEEP) -> None:
        """Remove the neuron's line and drop what waits in it."""
        line = self._lines.pop(neuron_id, None)
        if line is not None:
            self._count -= line.count
            self.dropped[why] += line.count

    def waiting(self, neuron_id: str) -> int:
        line = self._lines.get(neuron_id)
        return line.count if line is not None else 0

    def put(self, neuron_id: str, waiting: QueuedSignal) -> bool:
        """Queue a signal. False when there is no room and nothing makes way for it, or when the neuron is not awake."""
        line = self._lines.get(neuron_id)
        if line is None:
            self.dropped[Drop.ASLEEP] += 1
            return False
        if line.count >= self._max_per_neuron:
            if not self._make_way(line, waiting.priority):
                return False
        elif self._count >= self._max_queued and not self._make_way(self._least_important(), waiting.priority):
            return False
        line.by_priority[waiting.priority].append(waiting)
        line.count += 1
        self._count += 1
        return True

    def take_batch(self, neuron_id: str, most: int, now: float) -> list[QueuedSignal]:
        """Take at most `most` signals, the most important first and the oldest first among equals. Expired signals are
        dropped on the way."""
        line = self._lines.get(neuron_id)
        batch: list[QueuedSignal] = []
        if line is None or not line.count:
            return batch
        for same in reversed(line.by_priority):
            while same and len(batch) < most:
                waiting = same.popleft()
                line.count -= 1
                self._count -= 1
                if now > waiting.until:
                    self.dropped[Drop.EXPIRED] += 1
                else:
                    batch.append(waiting)
        return batch

    def _make_way(self, line: _Line, priority: int) -> bool:
        """Drop the oldest of the least important signals; if the new one is even less important, refuse it instead."""
        self.dropped[Drop.FULL] += 1
        lowest = line.lowest()
        if lowest > priority:
            return False
        line.by_priority[lowest].popleft()
        line.count -= 1
        self._count -= 1
        return True

    def _least_important(self) -> _Line:
        # Among equals the longest line: one slow neuron must not push out what waits for the others.
        return min(self._lines.values(), key=lambda line: (line.lowest(), -line.count))
