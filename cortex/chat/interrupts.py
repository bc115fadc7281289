"""Ctrl-C in a chat: at a prompt it raises an exception, everywhere else it sends a message to the main thread. SIGTERM
and SIGHUP do the same, so that the running turn is stopped and recorded before the program ends. A nudge (SIGUSR1) lets
the agent's thread interrupt a prompt at which the person types nothing."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_NUDGE = signal.SIGUSR1


class Nudged(Exception):
    """Raised at the prompt when something waits for the person and the line is empty."""


class Interrupts:
    """While this is open, Ctrl-C raises KeyboardInterrupt inside `raised` and calls `tell` elsewhere. `tell` runs in a
    signal handler, so it must be safe between any two instructions. For the main thread only."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._raises = False
        self._may_nudge: Callable[[], bool] | None = None
        self._was_nudged = False
        self._thread: int | None = None
        self.is_ending = False
        """Whether SIGTERM or SIGHUP came."""

    def __enter__(self) -> Self:
        self._previous = {number: signal.signal(number, self._interrupted) for number in (signal.SIGINT, *_ENDING)}
        self._previous[_NUDGE] = signal.signal(_NUDGE, self._nudged)
        self._thread = threading.get_ident()
        return self

    def __exit__(self, *exc: object) -> None:
        self._thread = None
        for number, previous in self._previous.items():
            signal.signal(number, previous)

    @contextmanager
    def raised(self, may_nudge: Callable[[], bool] | None = None) -> Iterator[None]:
        """Ctrl-C interrupts what is read in this block. If `may_nudge` allows it, a nudge raises Nudged, also a nudge
        that came just before."""
        self._may_nudge = may_nudge
        self._raises = True
        try:
            if may_nudge is not None and self._was_nudged:
                raise Nudged
            yield
        finally:
            self._raises = False

    def forget_nudges(self) -> None:
        """Clear earlier nudges. Call it just before checking for waiting proposals and signals."""
        self._was_nudged = False

    def nudge(self) -> None:
        """Interrupt an idle prompt, from any thread. A nudge at another moment is not lost: the dialogue checks for
        waiting proposals and signals before each prompt."""
        if self._thread is not None:
            signal.pthread_kill(self._thread, _NUDGE)

    def _nudged(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._was_nudged = True
        if self._raises and self._may_nudge is not None and self._may_nudge():
            self._raises = False
            raise Nudged

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        del frame
        if number in _ENDING:
            self.is_ending = True
            # A second signal ends the process at once.
            signal.signal(number, signal.SIG_DFL)
        if not self._raises:
            self._tell()
            return
        # Cleared here, before the exception: a second Ctrl-C may come before the `finally` of `raised` does it.
        self._raises = False
        raise KeyboardInterrupt
