"""The contents of files in JSON. Encoding them takes milliseconds and a multiple of their size: made on a thread, in
pieces between which the event loop can run, and of large ones only a few at once.
"""

from __future__ import annotations

import binascii
import time

import anyio
from anyio.lowlevel import RunVar

from ..memory import MIB

LARGE_BYTES = 1 * MIB
LARGE_AT_ONCE = 2
PIECE_BYTES = 3 * 64 * 1024
"""Encoded in one go. A multiple of three, so that the pieces are one text without padding in the middle."""

_large: RunVar[anyio.CapacityLimiter] = RunVar("large answers")


def content_json(data: bytes | bytearray) -> bytes:
    pieces = [b'{"data":"']
    for start in range(0, len(data), PIECE_BYTES):
        if start:
            time.sleep(0)  # encoding holds the interpreter's lock: without this the loop waits for all of it
        pieces.append(binascii.b2a_base64(data[start : start + PIECE_BYTES], newline=False))
    pieces.append(b'"}')
    return b"".join(pieces)


def limiter_for(size: int) -> anyio.CapacityLimiter | None:
    """What a thread has to wait for that reads and encodes so much; None: nothing but a thread."""
    if size <= LARGE_BYTES:
        return None
    # A limiter belongs to its event loop, and a process may have several.
    limiter = _large.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(LARGE_AT_ONCE)
        _large.set(limiter)
    return limiter
