"""Counts the values of a JSON text before it is parsed. Pure.

Parsing takes time and memory by the number of values, not by the number of bytes: two megabytes of `[],` become fifty
of lists. A parser holds the interpreter until it is done, so no clock could end it. What is too much is therefore
refused first, from the text alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# Counted piece by piece: the copies that counting makes stay small.
_PIECE_BYTES = 64 * 1024


class JsonLimits(NamedTuple):
    """The most that a text may hold."""

    containers: int
    """Objects and arrays."""
    values: int
    """What commas separate: members of objects, items of arrays."""
    digits: int = 2_000_000
    """Of all numbers together. One alone has a limit in the parser itself, 4,300, because to read it takes the square
    of its length."""


class TooComplex(ValueError):
    """The text holds more objects, arrays or values than is parsed here. The message says how many:
    "more than 50000 values"."""


class JsonMeter:
    """Counts one text that arrives in pieces. Brackets and commas inside strings do not count.

    A text that is not JSON may be counted as more than it holds, never as less: the parser ends at the first character
    that is not JSON.
    """

    __slots__ = ("_commas", "_containers", "_digits", "_in_string", "_is_escaped", "_limits")

    def __init__(self, limits: JsonLimits) -> None:
        self._limits = limits
        self.begin()

    def begin(self) -> None:
        """Begin the next text."""
        self._containers = self._commas = self._digits = 0
        self.end_string()

    def end_string(self) -> None:
        """What follows is outside of strings, whatever came before."""
        self._in_string = self._is_escaped = False

    @property
    def is_over(self) -> bool:
        containers, values, digits = self._limits
        return self._containers > containers or self._commas > values or self._digits > digits

    def feed(self, piece: bytes) -> None:
        """Count one piece. Once the text is over a limit, more of it is not looked at."""
        if not piece or self.is_over:
            return
        outside = self.outside(piece)
        self._containers += outside.count(b"[") + outside.count(b"{")
        self._commas += outside.count(b",")
        self._digits += len(outside) - len(outside.translate(None, b"0123456789"))

    def check(self) -> None:
        """Raises TooComplex when the text is over a limit."""
        if self._containers > self._limits.containers:
            raise TooComplex(f"more than {self._limits.containers} objects and arrays")
        if self._commas > self._limits.values:
            raise TooComplex(f"more than {self._limits.values} values")
        if self._digits > self._limits.digits:
            raise TooComplex(f"more than {self._limits.digits} digits")

    def outside(self, piece: bytes) -> bytes:
        """The piece without what is inside strings. A string may begin in one piece and end in another."""
        if self._is_escaped:
            piece, self._is_escaped = piece[1:], False
        if b"\\" in piece:
            # Escaped backslashes first: then each backslash that is left escapes what follows it.
            piece = piece.replace(b"\\\\", b"")
            self._is_escaped = piece.endswith(b"\\")
            piece = piece.replace(b'\\"', b"")
        if b'"' not in piece:
            return b"" if self._in_string else piece
        parts = piece.split(b'"')
        outside = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        return outside


def check_json(text: bytes | str, limits: JsonLimits) -> None:
    """Raises TooComplex for a text that is too much to parse."""
    if len(text) <= min(limits):  # each value takes a character at least
        return
    meter = JsonMeter(limits)
    for start in range(0, len(text), _PIECE_BYTES):
        piece = text[start : start + _PIECE_BYTES]
        meter.feed(piece if isinstance(piece, bytes) else piece.encode(errors="replace"))
    meter.check()


def bounded_json(text: bytes | str, limits: JsonLimits) -> Any:
    """The value of the text. Raises TooComplex, and ValueError for what is not JSON."""
    from pydantic_core import from_json  # noqa: PLC0415 - who only counts need not load it

    check_json(text, limits)
    return from_json(text, allow_inf_nan=False)


def says_outside_strings(text: bytes, *words: bytes) -> bool:
    """Whether one of the words stands in a JSON text outside of its strings."""
    if not any(word in text for word in words):
        return False
    outside = JsonMeter(JsonLimits(0, 0)).outside(text)
    return any(word in outside for word in words)
