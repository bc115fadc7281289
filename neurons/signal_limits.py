"""What keeps signals from multiplying: no signal twice, no chain without an end, no more than so many a minute."""

from __future__ import annotations

from collections import deque

MINUTE_S = 60.0
HOUR_S = 3600.0


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
