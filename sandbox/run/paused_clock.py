"""While a person decides, the clocks of the run stand still: the time that code is given is not enough to read a
question in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from threading import get_ident
from types import TracebackType
from typing import Any

import anyio
import anyio.from_thread

from .run_clock import RunClock

MOST_S = 600.0


@contextmanager
def person_decides(at_most_s: float = MOST_S) -> Iterator[None]:
    """Hold the clocks of the run whose tool this is called in, until the block ends or that time is over.

    The run's own time limit and the tool's stand still, of runs around it too. Whatever else ends a run still ends
    it, and the block with it. Outside of a tool that code called it does nothing. It may be used in threads that anyio
    has started.
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
    """Whether the call of a tool that this is in has had its time: a cancellation that arrives now is for that."""
    call = _under_way.get()
    return call is not None and call.is_up


class CallUnderWay:
    """The time that one call of a tool has. As a context it ends the call at its limit; the tool finds it there."""

    __slots__ = ("_holds", "_is_over", "_own", "_run", "_scope", "_thread", "_token")

    def __init__(self, run: RunClock, timeout_s: float) -> None:
        self._run = run
        self._own: RunClock | None = None  # most calls are never held, and this is made a hundred times a run
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + timeout_s)
        self._holds: tuple[object, ...] = ()
        self._is_over = False
        self._thread = get_ident()

    def __enter__(self) -> None:
        # The scope first: its timer keeps the context that it is made in, and would keep this alive in a circle.
        self._scope.__enter__()
        self._token: Token[CallUnderWay | None] = _under_way.set(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        _under_way.reset(self._token)
        # A task that the tool has left behind may still hold it, and would go on to hold the run.
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
        """The call whose tool made the run that this call is of."""
        before = self._token.old_value
        return before if isinstance(before, CallUnderWay) else None

    def tell(self, act: Callable[..., None], *arguments: Any) -> None:
        """In the thread of the event loop, whose clocks they are."""
        if get_ident() == self._thread:
            act(*arguments)
            return
        with suppress(RuntimeError):  # a thread that the event loop does not know: it cannot be asked from there
            anyio.from_thread.run_sync(act, *arguments)


_under_way: ContextVar[CallUnderWay | None] = ContextVar("motor_cortex_call_under_way", default=None)
