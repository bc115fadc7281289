"""A clock that counts the processor's time of this process alone: however busy the machine is, it does not go faster."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def cpu_clock(seconds: float) -> Iterator[None]:
    """TimeoutError when what runs in it has had so much."""

    def ring(*_: object) -> None:
        raise TimeoutError("it takes too long")

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
