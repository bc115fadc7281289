"""Collects files that the code writes in pieces. A file is kept aside until its last piece arrives: half a file must
not be committed."""

from __future__ import annotations

from dataclasses import dataclass

from ..contracts import ToolError
from .paths import Parts, quoted, shown

MAX_UPLOADS = 8
"""At most this many uploads at once. The harness needs one, and one more for each that the code gave up midway."""


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
