"""`to_the_end` runs a function on a thread and waits for its end, even when the caller is cancelled meanwhile.

A module of its own because commits to a workspace and starts of processes share it; nothing else here uses anyio.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import anyio
import anyio.to_thread

_POLL_S = 0.01


async def to_the_end(work: Callable[[], None]) -> None:
    """Do the work on a thread, and return or raise only after it: a cancelled caller must know what has happened."""
    # Taken by the first of two: the thread when it begins, or the caller when it gives up.
    begun = threading.Lock()
    ended = threading.Event()

    def whole() -> None:
        if begun.acquire(blocking=False):
            try:
                work()
            finally:
                ended.set()

    cancelled = anyio.get_cancelled_exc_class()
    try:
        await anyio.to_thread.run_sync(whole)
    except cancelled:
        # anyio's cancel scopes wait for the thread. asyncio's own cancellations do not, and there can be several.
        has_begun = not begun.acquire(blocking=False)
        while has_begun and not ended.is_set():
            with anyio.CancelScope(shield=True), suppress(cancelled):
                await anyio.sleep(_POLL_S)
        raise
