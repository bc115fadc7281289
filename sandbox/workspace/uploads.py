"""Files that arrive in pieces. They are kept aside until the last one is here: half a file must not be committed."""

from __future__ import annotations

from dataclasses import dataclass

from ..contracts import ToolError
from .paths import Parts, quoted, shown

MAX_UPLOADS = 8
"""Under way at once. The code's own functions need one, and one more for each that it gave up in the middle."""


@dataclass(frozen=True, slots=True)
class Upload:
    """What all pieces of a file must agree on."""

    parts: Parts
    size: int
    """Of the whole file."""
    append: bool
    create: bool
    create_new: bool


class Uploads:
    def __init__(self) -> None:
        self._pending: dict[int, tuple[Upload, bytearray]] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._pending

    @property
    def size(self) -> int:
        """Bytes of all that is under way, whether or not they have arrived."""
        return sum(upload.size for upload, _ in self._pending.values())

    def add(self, number: int, upload: Upload, piece: bytes, *, last: bool) -> bytearray | None:
        """Take one piece; with the last one, return the whole. Raises ToolError, and forgets what came before."""
        # Taken out first: what does not fit is never completed later.
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
