"""The time of a run, or of one call in it: it stands still while it is held, and then goes on from where it stood."""

from __future__ import annotations

from collections.abc import Callable

import anyio


class RunClock:
    """Holds that overlap count once, for as long as one of them lasts, and none lasts longer than it was said to."""

    __slots__ = ("_counted_at", "_ends", "_now", "_without_holds", "deadline")

    def __init__(self, deadline: float, now: Callable[[], float] = anyio.current_time) -> None:
        self.deadline = deadline
        """When the time is up, as things stand: a hold puts it off, and a release brings it nearer again. To be read
        anew at every look."""
        self._now = now
        self._without_holds = deadline
        self._counted_at = 0.0
        self._ends: dict[object, float] = {}

    def hold(self, hold: object, at_most_s: float) -> None:
        """Stand still until `release` is called with the same object, or that time is over."""
        self._count()
        self._ends[hold] = self._counted_at + max(0.0, at_most_s)
        self._foresee()

    def release(self, hold: object) -> None:
        """Go on, unless another hold lasts. Twice is no more than once."""
        self._count()
        self._ends.pop(hold, None)
        self._foresee()

    def _count(self) -> None:
        """Take down how long it has stood still by now."""
        now = self._now()
        if self._ends:
            self._without_holds += max(0.0, min(now, max(self._ends.values())) - self._counted_at)
        self._counted_at = now

    def _foresee(self) -> None:
        last_end = max(self._ends.values(), default=self._counted_at)
        self.deadline = self._without_holds + max(0.0, last_end - self._counted_at)
