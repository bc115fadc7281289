"""Encodes the contents of files and folders as JSON, for the answers to the code.

Encoding takes milliseconds, and a multiple of the memory: large answers are made on a thread, in pieces between which
the event loop can run, and only a few files at once.
"""

from __future__ import annotations

import binascii
import time
from collections.abc import Mapping

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from ..contracts import MIB, encode
from .folder import Kind

LARGE_BYTES = 1 * MIB
LARGE_AT_ONCE = 2
PIECE_BYTES = 3 * 64 * 1024
"""Bytes encoded in one go. A multiple of three, so that the base64 pieces join without padding in the middle."""
LONG_LISTING = 500
"""At most this many names are encoded without a thread."""

_large: RunVar[anyio.CapacityLimiter] = RunVar("large answers")


def content_json(data: bytes | bytearray) -> bytes:
    pieces = [b'{"data":"']
    for start in range(0, len(data), PIECE_BYTES):
        if start:
            time.sleep(0)  # encoding holds the GIL: without this the event loop would wait for all of it
        pieces.append(binascii.b2a_base64(data[start : start + PIECE_BYTES], newline=False))
    pieces.append(b'"}')
    return b"".join(pieces)


async def listing_json(entries: Mapping[str, Kind]) -> bytes:
    if len(entries) <= LONG_LISTING:
        return _listing(entries)
    return await anyio.to_thread.run_sync(_listing, entries, abandon_on_cancel=True)


def _listing(entries: Mapping[str, Kind]) -> bytes:
    return encode([{"name": name, **flags(kind)} for name, kind in sorted(entries.items())])


def flags(kind: Kind) -> dict[str, bool]:
    return {"isFile": kind == "file", "isDirectory": kind == "folder", "isSymlink": kind == "link"}


def limiter_for(size: int) -> anyio.CapacityLimiter | None:
    """The limiter for a thread that reads and encodes `size` bytes; None for the default one."""
    if size <= LARGE_BYTES:
        return None
    # A limiter belongs to its event loop, and a process may have several.
    limiter = _large.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(LARGE_AT_ONCE)
        _large.set(limiter)
    return limiter
