"""Limits the size of HTTP responses: of one body, of all bodies of a run, and of all fetches in an event loop.

`Body` decompresses piece by piece and never keeps more than its limit; `Allowance` counts the bytes of a run;
`FetchPace` says when a fetch must yield, and lets only a few hold a large body at once.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Sequence
from time import monotonic

import anyio
import anyio.lowlevel

from .refusals import failed, over_limit

# At most this much is decompressed before it is counted.
PIECE_BYTES = 64 * 1024
# A gzip file of many members is legal, but a body of nothing but members is an attack.
MAX_MEMBERS = 100
# Other tasks on the event loop get their turn at least this often.
TURN_S = 0.01
LARGE_BYTES = 256 * 1024
# At most this many large bodies are read, decompressed and encoded at once; the others wait before they grow.
MAX_LARGE = 2
# A slow server holds its place for long: no other fetch waits longer than this.
MAX_WAIT_S = 2.0

_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"


class Body:
    """Collects one body. `take` yields after each piece, so that the caller can let other tasks run."""

    def __init__(self, encodings: Sequence[str], max_bytes: int) -> None:
        self._max_bytes = max_bytes
        # Not a list of pieces: a million pieces of one byte would take fifty times their size in memory.
        self._kept = io.BytesIO()
        self._raw_size = 0
        self.size = 0
        self._inflate = _inflater(encodings)

    def expect(self, raw_size: int) -> None:
        """Raise at once for a body that will be too large."""
        # Also limit the compressed size: a body that decompresses to nothing would never end.
        packing = 0 if self._inflate is None else self._max_bytes // 64 + 1024
        if raw_size > self._max_bytes + packing:
            raise self._too_large()

    def take(self, raw: bytes) -> Iterator[int]:
        """Take a piece as it was received; yield the size of each decompressed piece."""
        self._raw_size += len(raw)
        self.expect(self._raw_size)
        if self._inflate is None:
            yield self._keep(raw)
            return
        for piece in self._inflate.take(raw):
            yield self._keep(piece)

    def whole(self) -> bytes:
        """The whole body, after the last piece."""
        if self._inflate is not None and self._raw_size and not self._inflate.complete:
            raise failed("The answer's compressed body ended too early", retryable=True)
        # This does not copy.
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
            # Some servers send deflate without its two-byte header.
            if self._window == zlib.MAX_WBITS and raw[0] & 0x0F != 8:
                self._state = zlib.decompressobj(-zlib.MAX_WBITS)
        is_full = False
        # After a full piece there may be more output, even when all input is consumed.
        while raw or is_full:
            if self._state.eof and not self._next_member(raw):
                return
            piece = self._state.decompress(raw, PIECE_BYTES)
            yield piece
            is_full = len(piece) == PIECE_BYTES
            raw = self._state.unused_data if self._state.eof else self._state.unconsumed_tail

    def _next_member(self, raw: bytes) -> bool:
        """Begin the next gzip member, if one follows. Other bytes after the end are ignored, as is usual."""
        if not raw or self._window != _GZIP_WINDOW or not raw.startswith(_GZIP_MAGIC[: len(raw)]):
            return False
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise failed(f"The answer's compressed body has more than {MAX_MEMBERS} parts")
        self._state = zlib.decompressobj(_GZIP_WINDOW)
        return True


def _inflater(encodings: Sequence[str]) -> _Inflater | None:
    """The decompressor for the content encodings in the headers; None for none. Raises for unrequested encodings."""
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


class Allowance:
    """Counts the bytes of bodies against a limit. The announced length of an answer is reserved before it is read: so
    of many answers at once, the ones that fit arrive whole. Otherwise each would get a part, and all would fail.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.received_bytes = 0
        self.set_aside_bytes = 0

    def check(self, more_bytes: int = 0) -> None:
        if self.received_bytes + self.set_aside_bytes + more_bytes > self.max_bytes:
            raise over_limit(f"A run may receive at most {self.max_bytes} bytes in all")


class Share:
    """One answer's share of the allowance. A context manager: leaving it returns reserved bytes that did not arrive."""

    def __init__(self, allowance: Allowance, expected_bytes: int) -> None:
        self._allowance = allowance
        self._left = expected_bytes

    def __enter__(self) -> Share:
        self._allowance.check(self._left)
        self._allowance.set_aside_bytes += self._left
        return self

    def __exit__(self, *exc: object) -> None:
        self._allowance.set_aside_bytes -= self._left

    def count(self, size: int) -> None:
        expected = min(size, self._left)
        self._left -= expected
        self._allowance.set_aside_bytes -= expected
        self._allowance.received_bytes += size
        self._allowance.check()


class _Loop:
    """State that all fetches of one event loop share."""

    def __init__(self) -> None:
        self.turns = anyio.Lock(fast_acquire=True)
        self.turn_ends_at = 0.0
        self.places = anyio.Semaphore(MAX_LARGE, fast_acquire=True)


_loop = anyio.lowlevel.RunVar[_Loop]("motor_cortex_fetches")


class FetchPace:
    """One fetch's share of the event loop. A context manager: leaving it releases the place for a large body."""

    def __init__(self) -> None:
        try:
            self._loop = _loop.get()
        except LookupError:
            self._loop = _Loop()
            _loop.set(self._loop)
        self._has_asked = self._has_place = False

    def __enter__(self) -> FetchPace:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._has_place:
            self._has_place = False
            self._loop.places.release()

    async def turn(self) -> None:
        """Call this between small pieces of work. All fetches share one turn: many of them hold the loop no longer than
        one would."""
        if monotonic() < self._loop.turn_ends_at:
            return
        async with self._loop.turns:
            await anyio.lowlevel.checkpoint()
            self._loop.turn_ends_at = monotonic() + TURN_S

    async def grow(self, size: int) -> None:
        """Call this before a body grows to `size` bytes."""
        if size <= LARGE_BYTES or self._has_asked:
            return
        self._has_asked = True
        with anyio.move_on_after(MAX_WAIT_S):
            await self._loop.places.acquire()
            self._has_place = True
