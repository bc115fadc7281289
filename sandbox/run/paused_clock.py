"""Pauses the timeouts of a run while a person decides: the time limit of code is too short to read a question in."""

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
