"""The timeout clock of a run, or of one call in it. It can be paused (a hold) and then continues with the time left.

It pauses while a person decides: the time limit of code is too short to read a question in. CPU time that the code uses
during a hold is taken from the time left: otherwise code that asks a person could compute until the person answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from threading import get_ident
from types import TracebackType
from typing import Any

import anyio
import anyio.from_thread

# Free CPU time in all holds together, for what a process does by itself while its code waits: a few ms in an hour.
NOISE_S = 0.02
# How long a person may take to decide.
MOST_S = 600.0


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


@contextmanager
def person_decides(at_most_s: float = MOST_S) -> Iterator[None]:
    """Pause the clocks of the run that called this tool, until the block ends or for at most `at_most_s`.

    This pauses the run's time limit and the tool's, and those of all surrounding runs. Everything else that ends a run
    still ends it, and the block with it. Outside of a tool call from code it does nothing. It also works in threads
    that anyio has started.
    """
    call = _under_way.get()
    if call is None:
        yield
        return
    hold = object()
    call.tell(call.hold, hold, at_most_s)
    try:
        yield
    finally:
        call.tell(call.release, hold)


def time_is_up() -> bool:
    """Whether the current tool call has timed out: a cancellation that arrives now is due to that timeout."""
    call = _under_way.get()
    return call is not None and call.is_up


class CallUnderWay:
    """The timeout of one tool call. As a context manager it cancels the call at its limit; while it is open,
    `person_decides` in the tool finds and pauses it."""

    __slots__ = ("_holds", "_is_over", "_own", "_run", "_scope", "_thread", "_token")

    def __init__(self, run: RunClock, timeout_s: float) -> None:
        self._run = run
        self._own: RunClock | None = None  # made on the first hold: most calls have none, and a run makes a hundred
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + timeout_s)
        self._holds: tuple[object, ...] = ()
        self._is_over = False
        self._thread = get_ident()

    def __enter__(self) -> None:
        # The scope first: its timer keeps the context it was made in, and with `self` in it would make a cycle.
        self._scope.__enter__()
        self._token: Token[CallUnderWay | None] = _under_way.set(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        _under_way.reset(self._token)
        # A task that the tool left behind may still hold this clock, and would keep the run's clock paused.
        self._is_over = True
        for hold in self._holds:
            self.release(hold)
        return self._scope.__exit__(kind, error, traceback)

    @property
    def is_up(self) -> bool:
        return anyio.current_time() >= self._scope.deadline

    def hold(self, hold: object, at_most_s: float) -> None:
        if self._is_over:
            return
        if self._own is None:
            self._own = RunClock(self._scope.deadline)
        self._own.hold(hold, at_most_s)
        self._run.hold(hold, at_most_s)
        self._scope.deadline = self._own.deadline
        self._holds += (hold,)
        if self._surrounding is not None:
            self._surrounding.hold(hold, at_most_s)

    def release(self, hold: object) -> None:
        if hold not in self._holds or self._own is None:
            return
        self._holds = tuple(other for other in self._holds if other is not hold)
        self._own.release(hold)
        self._run.release(hold)
        self._scope.deadline = self._own.deadline
        if self._surrounding is not None:
            self._surrounding.release(hold)

    @property
    def _surrounding(self) -> CallUnderWay | None:
        """The outer tool call, when this call's run was started by a tool of another run."""
        before = self._token.old_value
        return before if isinstance(before, CallUnderWay) else None

    def tell(self, act: Callable[..., None], *arguments: Any) -> None:
        """Run `act` in the thread of the event loop, which owns the clocks."""
        if get_ident() == self._thread:
            act(*arguments)
            return
        with suppress(RuntimeError):  # a thread that anyio did not start cannot reach the event loop
            anyio.from_thread.run_sync(act, *arguments)


_under_way: ContextVar[CallUnderWay | None] = ContextVar("motor_cortex_call_under_way", default=None)
