"""Ctrl-C, where it is expected: at a prompt it is an exception, and everywhere else a message. Signals that end a
program are the same, so that what runs is stopped and written down, and nothing comes after."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """While this is open, Ctrl-C raises KeyboardInterrupt inside of `raised` and calls `tell` outside, which must be
    something that can be done between any two instructions. For the main thread only."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._raises = False
        self.is_ending = False
        """Somebody wants the program to end."""

    def __enter__(self) -> Self:
        self._previous = {number: signal.signal(number, self._interrupted) for number in (signal.SIGINT, *_ENDING)}
        return self

    def __exit__(self, *exc: object) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)

    @contextmanager
    def raised(self) -> Iterator[None]:
        """What is read in here can be given up in the middle."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

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
