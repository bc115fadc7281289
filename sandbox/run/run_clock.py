"""The timeout clock of a run, or of one call in it. A hold pauses it; on release it continues where it stood.

It pauses for code that waits. CPU time that the code uses during a hold is taken from the time left: otherwise code
that asks a person could compute for as long as the person does not answer.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio

# Free CPU time in all holds together, for what a process does by itself while its code waits: a few ms in an hour.
NOISE_S = 0.02


class RunClock:
    """A deadline that can be put off by holds. Overlapping holds count once; each lasts at most its given time."""

    __slots__ = ("_computed_s", "_counted_at", "_counted_computed_s", "_deadline", "_ends", "_noise_s", "_now", "_own")

    def __init__(
        self,
        deadline: float,
        now: Callable[[], float] = anyio.current_time,
        computed_s: Callable[[], float | None] = lambda: None,
    ) -> None:
        """`computed_s` returns the CPU time that the process has used so far, or None where it is not known."""
        self._now = now
        self._computed_s = computed_s
        self._own = self._deadline = deadline
        self._counted_at = 0.0
        self._counted_computed_s: float | None = None
        self._noise_s = NOISE_S
        self._ends: dict[object, float] = {}

    @property
    def deadline(self) -> float:
        """When the time is up, as things stand. A hold puts it off; a release, or CPU time used during a hold, brings
        it nearer again. Read it anew each time."""
        if self._ends:
            self._count()
            self._foresee()
        return self._deadline

    def hold(self, hold: object, at_most_s: float) -> None:
        """Pause until `release` is called with the same object, for at most `at_most_s`."""
        self._count()
        self._ends[hold] = self._counted_at + max(0.0, at_most_s)
        self._foresee()

    def release(self, hold: object) -> None:
        """End this hold; the clock continues unless another hold lasts. Idempotent."""
        self._count()
        self._ends.pop(hold, None)
        self._foresee()

    def _count(self) -> None:
        """Add the time paused since the last count to the deadline, less the CPU time used meanwhile."""
        now, computed_s = self._now(), self._computed_s()
        if self._ends:
            stood_s = max(0.0, min(now, max(self._ends.values())) - self._counted_at)
            # Charge at most the paused time: a hold must never leave less time than none, with however many threads.
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
        """Set the deadline: the own one, put off until the end of the last hold. Time that is up stays up."""
        last_end = max(self._ends.values(), default=self._counted_at)
        is_up = self._own <= self._counted_at
        self._deadline = self._own if is_up else self._own + max(0.0, last_end - self._counted_at)
