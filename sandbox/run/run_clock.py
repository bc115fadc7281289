"""The time of a run, or of one call in it: it stands still while it is held, and then goes on from where it stood.

It stands still for code that waits. What is computed during a hold is taken from the time that is left: otherwise
whoever asks a person has the processor for as long as nobody answers.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio

# What a process does of its own accord while its code waits, in all holds together: a few milliseconds in an hour.
NOISE_S = 0.02


class RunClock:
    """Holds that overlap count once, for as long as one of them lasts, and none lasts longer than it was said to."""

    __slots__ = ("_computed_s", "_counted_at", "_counted_computed_s", "_deadline", "_ends", "_noise_s", "_now", "_own")

    def __init__(
        self,
        deadline: float,
        now: Callable[[], float] = anyio.current_time,
        computed_s: Callable[[], float | None] = lambda: None,
    ) -> None:
        """`computed_s` tells what those whose time it is have computed so far, or None where nobody knows."""
        self._now = now
        self._computed_s = computed_s
        self._own = self._deadline = deadline
        self._counted_at = 0.0
        self._counted_computed_s: float | None = None
        self._noise_s = NOISE_S
        self._ends: dict[object, float] = {}

    @property
    def deadline(self) -> float:
        """When the time is up, as things stand: a hold puts it off, and a release brings it nearer again, as does
        computing during a hold. To be read anew at every look."""
        if self._ends:
            self._count()
            self._foresee()
        return self._deadline

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
        """Take down how long it has stood still by now, and what was computed meanwhile."""
        now, computed_s = self._now(), self._computed_s()
        if self._ends:
            stood_s = max(0.0, min(now, max(self._ends.values())) - self._counted_at)
            # At most: to be held is never worse than not to be, however many threads there are.
            self._own += stood_s - min(stood_s, self._charge(computed_s))
        self._counted_at, self._counted_computed_s = now, computed_s

    def _charge(self, computed_s: float | None) -> float:
        if computed_s is None or self._counted_computed_s is None:
            return 0.0
        more_s = max(0.0, computed_s - self._counted_computed_s)
        excused_s = min(more_s, self._noise_s)
        self._noise_s -= excused_s
        return more_s - excused_s

    def _foresee(self) -> None:
        """The deadline without the holds, and as much later as the last of them would end. Time that is up stays up."""
        last_end = max(self._ends.values(), default=self._counted_at)
        is_up = self._own <= self._counted_at
        self._deadline = self._own if is_up else self._own + max(0.0, last_end - self._counted_at)
