"""What keeps signals from multiplying: no signal twice, no chain without an end, no more than so many a minute."""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic_core import PydanticSerializationError, from_json, to_json

from ..contracts import HIGHEST, LOWEST, SIGNAL_PATTERN, as_given
from .signal_queue import Drop, Waiting

if TYPE_CHECKING:
    from ..contracts import AutonomicSettings, Signal

MINUTE_S = 60.0
HOUR_S = 3600.0
# A signal is sent with its data and little else.
MAX_NAME = 100


class Seen:
    """The ids of the newest signals. It forgets the oldest: it knows at least `remembered`, at most twice as many."""

    def __init__(self, remembered: int) -> None:
        self._remembered = remembered
        self._new: set[str] = set()
        self._old: set[str] = set()

    def is_new(self, signal_id: str) -> bool:
        """Whether it comes for the first time. It is known afterwards."""
        if signal_id in self._new or signal_id in self._old:
            return False
        if len(self._new) >= self._remembered:
            self._old, self._new = self._new, set()
        self._new.add(signal_id)
        return True


class Rate:
    """No more than so many within any span of time, wherever it begins."""

    def __init__(self, most: int, within_s: float) -> None:
        self._most = most
        self._within_s = within_s
        self._times: deque[float] = deque()

    def allows(self, now: float) -> bool:
        """Whether there is room for one more. It counts, if there is."""
        times = self._times
        # A clock that was set back must not close the door for as long as it was wrong.
        while times and not 0 <= now - times[0] < self._within_s:
            times.popleft()
        if len(times) >= self._most:
            return False
        times.append(now)
        return True

    def times(self) -> list[float]:
        """Of those that it counts: what `restore` of another one takes."""
        return list(self._times)

    def restore(self, times: object) -> None:
        """Go on from what an earlier process has counted. What is no time is left out."""
        found = [time for time in times if isinstance(time, int | float)] if isinstance(times, list) else []
        self._times = deque(sorted(found)[-self._most :])


class Rates:
    """A rate for each source and type. Those that were forgotten, when a neuron goes to sleep, begin anew."""

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
    """Decides which signals are let in."""

    def __init__(self, settings: AutonomicSettings) -> None:
        self._settings = settings
        # As many as can wait, so that none can wait twice.
        self._seen = Seen(settings.max_queued)
        self._rates = Rates(settings.max_per_minute)

    def admit(self, signal: Signal, now: float) -> Waiting | Drop:
        """The signal as it waits, or why it is dropped. One that is let in is remembered."""
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
        return Waiting(signal.id, signal.correlation, signal.depth, signal.priority, until, given)

    def forget_all_but(self, neuron_ids: frozenset[str]) -> None:
        self._rates.keep_only(frozenset(f"neuron:{neuron_id}" for neuron_id in neuron_ids))


_TYPE = re.compile(SIGNAL_PATTERN)


@lru_cache(maxsize=1024)
def is_type(type_: str) -> bool:
    return _TYPE.fullmatch(type_) is not None


def check(signal: Signal) -> None:
    """Raises ValueError for what is a mistake of the host's program, and not of what came from outside."""
    if not isinstance(signal.type, str) or not is_type(signal.type):
        raise ValueError(f"a type of signal is like price_change, not {signal.type!r}")
    if any(len(text) > MAX_NAME for text in (signal.source, signal.id, signal.correlation, signal.parent or "")):
        raise ValueError(f"source, id, correlation and parent have at most {MAX_NAME} characters")
    if not signal.ttl_s > 0:
        raise ValueError(f"a signal can wait for more than 0 seconds, not {signal.ttl_s!r}")
    if not isinstance(signal.priority, int) or not LOWEST <= signal.priority <= HIGHEST:
        raise ValueError(f"a priority is a whole number from {LOWEST} to {HIGHEST}, not {signal.priority!r}")
