"""What each neuron did in each five minutes of the last week: signals, emissions, errors. For plots; decides nothing.

The process that runs the neurons keeps it in memory and writes it now and then: a crash costs at most the last minute
of it. Off the path of signals: it is called where documents are written, in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ..contracts import Json, Storage
    from ..pipeline import Delivered

FOLDER = "activity"
STEP_S = 300
MAX_STEPS = 7 * 24 * 3600 // STEP_S
"""A week: a document of at most 57 KB."""
MAX_COUNT = 999_999
WRITE_S = 60.0
_MAX_NEURONS = 200
_MAX_STEP = 10**9

Counts3: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ActivityStep:
    """Five minutes in which a neuron did something."""

    at: float
    """When they began, in seconds since 1970."""
    signals: int
    emitted: int
    errors: int


class ActivityLog:
    """The activity of all neurons of a home, by the process that runs them."""

    def __init__(self, storage: Storage | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._storage = storage
        self._clock = clock
        self._rings: dict[str, dict[int, Counts3]] = {}
        self._changed: set[str] = set()
        self._written_at = clock()

    def add(self, neuron_id: str, delivered: Iterable[Delivered]) -> None:
        for one in delivered:
            if self._storage is None or not (one.signals or one.emitted or one.errors) or one.at < 0:
                continue
            ring = self._ring(neuron_id, self._storage)
            step = int(one.at // STEP_S)
            if step not in ring:
                # What is newer was counted by a clock that has been set back since.
                for other in [other for other in ring if not step - MAX_STEPS < other <= step]:
                    del ring[other]
            signals, emitted, errors = ring.get(step, (0, 0, 0))
            ring[step] = (signals + one.signals, emitted + one.emitted, errors + one.errors)
            self._changed.add(neuron_id)

    def write(self, *, now: bool = False) -> None:
        """Write what has changed, if the last time was a minute ago or `now`. Raises StorageError."""
        if self._storage is None or not self._changed or (not now and self._clock() - self._written_at < WRITE_S):
            return
        self._written_at = self._clock()
        while self._changed:
            neuron_id = next(iter(self._changed))
            self._storage.write(_key(neuron_id), _packed(self._rings[neuron_id]))
            self._changed.discard(neuron_id)

    def begin(self, now: float) -> None:
        """Forget what is in memory, because another process may have led since; delete what is older than a week."""
        self._rings.clear()
        self._changed.clear()
        if self._storage is None:
            return
        oldest = int(now // STEP_S) - MAX_STEPS
        for document in self._storage.read_all(f"{FOLDER}/"):
            if max(_unpacked(document.data), default=0) < oldest:
                self._storage.delete(document.key)

    def _ring(self, neuron_id: str, storage: Storage) -> dict[int, Counts3]:
        ring = self._rings.get(neuron_id)
        if ring is None:
            if len(self._rings) >= _MAX_NEURONS:
                self.write(now=True)
                self._rings.clear()
            document = storage.read(_key(neuron_id))
            ring = self._rings[neuron_id] = {} if document is None else _unpacked(document.data)
        return ring


def activity_of(storage: Storage, neuron_id: str) -> tuple[ActivityStep, ...]:
    """The steps in which the neuron did something, oldest first. Raises StorageError."""
    document = storage.read(_key(neuron_id))
    if document is None:
        return ()
    ring = _unpacked(document.data)
    return tuple(ActivityStep(float(step * STEP_S), *ring[step]) for step in sorted(ring))


def _key(neuron_id: str) -> str:
    return f"{FOLDER}/{neuron_id}"


def _packed(ring: dict[int, Counts3]) -> Json:
    steps = sorted(ring)
    first = steps[0] if steps else 0
    return {
        "step_s": STEP_S,
        "from": first,
        "steps": [[step - first, *(min(MAX_COUNT, count) for count in ring[step])] for step in steps],
    }


def _unpacked(data: Json) -> dict[int, Counts3]:
    """The steps in a document that anyone may have written; empty for one that is damaged."""
    first, rows = data.get("from"), data.get("steps")
    if data.get("step_s") != STEP_S or not isinstance(first, int) or not isinstance(rows, list):
        return {}
    if not 0 <= first <= _MAX_STEP:
        return {}
    found: dict[int, Counts3] = {}
    for row in rows[:MAX_STEPS]:
        if not isinstance(row, list) or len(row) != 4 or not all(_is_count(count, MAX_COUNT) for count in row):
            continue
        step, signals, emitted, errors = row
        if step < MAX_STEPS:
            found[first + step] = (signals, emitted, errors)
    return found


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
