"""Transfers file contents between host and code: encodes them as JSON, and collects uploaded pieces.

Encoding takes milliseconds, and a multiple of the memory: large answers are made on a thread, in pieces between which
the event loop can run, and only a few files at once. An uploaded file is kept aside until its last piece arrives: half
a file must not be committed.
"""

from __future__ import annotations

import binascii
import time
from collections.abc import Mapping
from dataclasses import dataclass

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from ..contracts import MIB, ToolError, encode
from .folder import Kind
from .paths import Parts, quoted, shown

LARGE_BYTES = 1 * MIB
LARGE_AT_ONCE = 2
PIECE_BYTES = 3 * 64 * 1024
"""Bytes encoded in one go. A multiple of three, so that the base64 pieces join without padding in the middle."""
LONG_LISTING = 500
"""At most this many names are encoded without a thread."""
MAX_UPLOADS = 8
"""At most this many uploads at once. The harness needs one, and one more for each that the code gave up midway."""

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


@dataclass(frozen=True, slots=True)
class Upload:
    """The facts that all pieces of one file must agree on."""

    parts: Parts
    size: int
    """Bytes of the whole file."""
    append: bool
    create: bool
    create_new: bool


class Uploads:
    """The files of one run that are still arriving in pieces."""

    def __init__(self) -> None:
        self._pending: dict[int, tuple[Upload, bytearray]] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._pending

    @property
    def size(self) -> int:
        """Bytes of all pending files, whether or not they have arrived."""
        return sum(upload.size for upload, _ in self._pending.values())

    def add(self, number: int, upload: Upload, piece: bytes, *, last: bool) -> bytearray | None:
        """Add one piece; return the whole file with the last one, else None. On ToolError the upload is discarded."""
        # Removed first, so that an upload with a wrong piece can never be completed later.
        begun, data = self._pending.pop(number, (upload, bytearray()))
        if begun != upload:
            raise _unfit(begun, "its pieces differ in path, size or options")
        data += piece
        if len(data) > upload.size or (last and len(data) < upload.size):
            raise _unfit(upload, f"its pieces are {len(data)} bytes instead of {upload.size}")
        if last:
            return data
        if len(self._pending) >= MAX_UPLOADS:
            raise ToolError(f"More than {MAX_UPLOADS} files are being written at once", code="LimitError")
        self._pending[number] = (upload, data)
        return None

    def forget(self, number: int) -> None:
        self._pending.pop(number, None)


def _unfit(upload: Upload, why: str) -> ToolError:
    return ToolError(f"Cannot write {quoted(shown(upload.parts))}: {why}", code="InvalidData")
