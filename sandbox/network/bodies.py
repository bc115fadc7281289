"""Bodies of answers: taken out of their encoding piece by piece, and never more than the limit of them."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Sequence

from .refusals import failed, over_limit

# The most that is made of a compressed piece before it is counted.
PIECE_BYTES = 64 * 1024
# A file of many members is legal, and one of nothing else is an attack.
MAX_MEMBERS = 100

_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"


class Body:
    """Collects one body. `take` yields after each piece, so that its reader can let others have their turn."""

    def __init__(self, encodings: Sequence[str], max_bytes: int) -> None:
        self._max_bytes = max_bytes
        # Not a list of pieces: a million of one byte each would take fifty times their size.
        self._kept = io.BytesIO()
        self._raw_size = 0
        self.size = 0
        self._inflate = _inflater(encodings)

    def expect(self, raw_size: int) -> None:
        """Raise at once for a body that will be too large."""
        # What unpacks to nothing would never come to an end.
        packing = 0 if self._inflate is None else self._max_bytes // 64 + 1024
        if raw_size > self._max_bytes + packing:
            raise self._too_large()

    def take(self, raw: bytes) -> Iterator[int]:
        """Take a piece as it came; yields the size of each piece that it became."""
        self._raw_size += len(raw)
        self.expect(self._raw_size)
        if self._inflate is None:
            yield self._keep(raw)
            return
        for piece in self._inflate.take(raw):
            yield self._keep(piece)

    def whole(self) -> bytes:
        """All of it, once the last piece was taken."""
        if self._inflate is not None and self._raw_size and not self._inflate.complete:
            raise failed("The answer's compressed body ended too early", retryable=True)
        # Not a copy.
        return self._kept.getvalue()

    def _keep(self, piece: bytes) -> int:
        if self.size + len(piece) > self._max_bytes:
            raise self._too_large()
        self.size += self._kept.write(piece)
        return len(piece)

    def _too_large(self) -> Exception:
        return over_limit(f"The answer has more than {self._max_bytes} bytes; ask for less, or for a part of it")


class _Inflater:
    def __init__(self, window: int) -> None:
        self._window = window
        self._state = zlib.decompressobj(window)
        self._begun = False
        self._members = 1

    @property
    def complete(self) -> bool:
        return self._state.eof

    def take(self, raw: bytes) -> Iterator[bytes]:
        try:
            yield from self._inflated(raw)
        except zlib.error as error:
            raise failed("The answer's compressed body is damaged") from error

    def _inflated(self, raw: bytes) -> Iterator[bytes]:
        if not self._begun and raw:
            self._begun = True
            # Some servers send deflate without its two bytes of introduction.
            if self._window == zlib.MAX_WBITS and raw[0] & 0x0F != 8:
                self._state = zlib.decompressobj(-zlib.MAX_WBITS)
        is_full = False
        # A full piece may have left some of itself behind, though all of the input is gone.
        while raw or is_full:
            if self._state.eof and not self._next_member(raw):
                return
            piece = self._state.decompress(raw, PIECE_BYTES)
            yield piece
            is_full = len(piece) == PIECE_BYTES
            raw = self._state.unused_data if self._state.eof else self._state.unconsumed_tail

    def _next_member(self, raw: bytes) -> bool:
        """Whether more follows; anything else after the end is ignored, as everybody does."""
        if not raw or self._window != _GZIP_WINDOW or not raw.startswith(_GZIP_MAGIC[: len(raw)]):
            return False
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise failed(f"The answer's compressed body has more than {MAX_MEMBERS} parts")
        self._state = zlib.decompressobj(_GZIP_WINDOW)
        return True


def _inflater(encodings: Sequence[str]) -> _Inflater | None:
    """For the content encodings of an answer, as its headers name them. Raises for those that were not asked for."""
    names = [name.strip().lower() for line in encodings for name in line.split(",")]
    match [name for name in names if name not in {"", "identity"}]:
        case []:
            return None
        case ["gzip" | "x-gzip"]:
            return _Inflater(_GZIP_WINDOW)
        case ["deflate"]:
            return _Inflater(zlib.MAX_WBITS)
        case [_]:
            raise failed("The answer has a content encoding that was not asked for; only gzip and deflate are read")
        case _:
            raise failed("The answer is encoded more than once")
