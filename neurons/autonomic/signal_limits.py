"""Limits that keep signals from multiplying: no duplicates, no endless chains, and a maximum rate per minute."""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic_core import PydanticSerializationError, from_json, to_json

from ..contracts import HIGHEST, LOWEST, MINUTE_S, SIGNAL_PATTERN, as_given
from .signal_queue import Drop, QueuedSignal

if TYPE_CHECKING:
    from ..contracts import AutonomicSettings, Signal

# Identifiers are sent along with the data, and must stay short.
MAX_NAME = 100


class RecentIds:
    """The ids of the newest signals. It remembers at least `remembered` and at most twice as many, and forgets the
    oldest."""

    def __init__(self, remembered: int) -> None:
        self._remembered = remembered
        self._new: set[str] = set()
        self._old: set[str] = set()

    def is_new(self, signal_id: str) -> bool:
        """Whether this id comes for the first time. It is known afterwards."""
        if signal_id in self._new or signal_id in self._old:
            return False
        if len(self._new) >= self._remembered:
            self._old, self._new = self._new, set()
        self._new.add(signal_id)
        return True


class Rate:
    """A sliding window: at most `most` events within any `within_s` seconds."""

    def __init__(self, most: int, within_s: float) -> None:
        self._most = most
        self._within_s = within_s
        self._times: deque[float] = deque()

    def allows(self, now: float) -> bool:
        """Whether one more event is allowed now. If so, it is counted."""
        times = self._times
        # A clock that was set back must not block for as long as it had been wrong.
        while times and not 0 <= now - times[0] < self._within_s:
            times.popleft()
        if len(times) >= self._most:
            return False
        times.append(now)
        return True

    def times(self) -> list[float]:
        """The times of the counted events, to be given to `restore` of another object."""
        return list(self._times)

    def restore(self, times: object) -> None:
        """Continue from what an earlier process has counted. Values that are not times are left out."""
        found = [time for time in times if isinstance(time, int | float)] if isinstance(times, list) else []
        self._times = deque(sorted(found)[-self._most :])


class Rates:
    """A rate for each source and type. The rates of a neuron that goes to sleep are forgotten, and begin anew."""

    def __init__(self, most_per_minute: int) -> None:
        self._most = most_per_minute
        self._rates: dict[tuple[str, str], Rate] = {}

    def allows(self, source: str, type_: str, now: float) -> bool:
        rate = self._rates.get((source, type_))
        if rate is None:
            rate = self._rates[source, type_] = Rate(self._most, MINUTE_S)
        return rate.allows(now)

    def keep_only(self, sources: frozenset[str]) -> None:
        self._rates = {key: rate for key, rate in self._rates.items() if key[0] in sources}


class Admission:
    """Decides which signals are let in: checks depth, rate, size and duplicates."""

    def __init__(self, settings: AutonomicSettings) -> None:
        self._settings = settings
        # As many ids as signals can wait, so that none can wait twice.
        self._seen = RecentIds(settings.max_queued)
        self._rates = Rates(settings.max_per_minute)

    def admit(self, signal: Signal, now: float) -> QueuedSignal | Drop:
        """The signal in its queued form, or the reason why it is dropped. The id of an admitted one is remembered."""
        if signal.depth > self._settings.max_depth:
            return Drop.DEPTH
        if signal.source.startswith("neuron:") and not self._rates.allows(signal.source, signal.type, now):
            return Drop.RATE
        try:
            data = to_json(signal.data, inf_nan_mode="null")
            if len(data) > self._settings.max_signal_bytes:
                return Drop.TOO_LARGE
            given = {**as_given(signal), "data": from_json(data)}
        except (PydanticSerializationError, ValueError, RecursionError):
            return Drop.NOT_JSON
        if not self._seen.is_new(signal.id):
            return Drop.DUPLICATE
        until = signal.at + signal.ttl_s
        return QueuedSignal(signal.id, signal.correlation, signal.depth, signal.priority, until, given, signal.origin)

    def forget_all_but(self, neuron_ids: frozenset[str]) -> None:
        self._rates.keep_only(frozenset(f"neuron:{neuron_id}" for neuron_id in neuron_ids))


_TYPE = re.compile(SIGNAL_PATTERN)


@lru_cache(maxsize=1024)
def is_type(type_: str) -> bool:
    return _TYPE.fullmatch(type_) is not None


def check(signal: Signal) -> None:
    """Raise ValueError for a signal that is a mistake in the host's program, rather than bad data from outside."""
    if not isinstance(signal.type, str) or not is_type(signal.type):
        raise ValueError(f"a type of signal is like price_change, not {signal.type!r}")
    if any(
        len(text) > MAX_NAME
        for text in (signal.source, signal.id, signal.correlation, signal.parent or "", signal.origin)
    ):
        raise ValueError(f"source, id, correlation, parent and origin have at most {MAX_NAME} characters")
    if not signal.ttl_s > 0:
        raise ValueError(f"a signal can wait for more than 0 seconds, not {signal.ttl_s!r}")
    if not isinstance(signal.priority, int) or not LOWEST <= signal.priority <= HIGHEST:
        raise ValueError(f"a priority is a whole number from {LOWEST} to {HIGHEST}, not {signal.priority!r}")
