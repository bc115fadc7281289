"""Ctrl-C, where it is expected: at a prompt it is an exception, and everywhere else a message."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self


class Interrupts:
    """While this is open, Ctrl-C raises KeyboardInterrupt inside of `raised` and calls `tell` outside, which must be
    something that can be done between any two instructions. For the main thread only."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._raises = False

    def __enter__(self) -> Self:
        self._previous = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *exc: object) -> None:
        signal.signal(signal.SIGINT, self._previous)

    @contextmanager
    def raised(self) -> Iterator[None]:
        """What is read in here can be given up in the middle."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if not self._raises:
            self._tell()
            return
        # First: it may hit the very line that would do this.
        self._raises = False
        raise KeyboardInterrupt
