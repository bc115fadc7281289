"""Ctrl-C, where it is expected: at a prompt it is an exception, and everywhere else a message. Signals that end a
program are the same, so that what runs is stopped and written down, and nothing comes after. And a way for the agent's
thread to have a prompt left at which nobody types."""

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
    """Something waits for the person, who is typing nothing."""


class Interrupts:
    """While this is open, Ctrl-C raises KeyboardInterrupt inside of `raised` and calls `tell` outside, which must be
    something that can be done between any two instructions. For the main thread only."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._raises = False
        self._may_nudge: Callable[[], bool] | None = None
        self._was_nudged = False
        self._thread: int | None = None
        self.is_ending = False
        """Somebody wants the program to end."""

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
        """What is read in here can be given up in the middle. Where `may_nudge` says so, a nudge raises Nudged, also
        one that came just before."""
        self._may_nudge = may_nudge
        self._raises = True
        try:
            if may_nudge is not None and self._was_nudged:
                raise Nudged
            yield
        finally:
            self._raises = False

    def forget_nudges(self) -> None:
        """For whoever is about to look at what there is."""
        self._was_nudged = False

    def nudge(self) -> None:
        """From any thread. Nothing is lost by it: where nobody can be nudged, whoever reads next looks first."""
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
            # Whoever asks twice means at once.
            signal.signal(number, signal.SIG_DFL)
        if not self._raises:
            self._tell()
            return
        # First: it may hit the very line that would do this.
        self._raises = False
        raise KeyboardInterrupt
