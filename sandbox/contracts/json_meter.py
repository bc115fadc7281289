"""Counts the values of a JSON text before it is parsed, to refuse a text that is too complex. Pure.

The time and memory of parsing depend on the number of values, not of bytes: two megabytes of `[],` become fifty
megabytes of lists. A parser holds the GIL until it is done, so no timeout can stop it. A text with too many values must
therefore be refused before parsing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .lines import Line

# Counting copies its input: piece by piece, the copies stay small.
_PIECE_BYTES = 64 * 1024
_AS_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)


class JsonLimits(NamedTuple):
    """The maximum of each kind that a JSON text may hold."""

    containers: int
    """Objects and arrays."""
    values: int
    """Members of objects and items of arrays, counted by commas."""
    digits: int = 2_000_000
    """Digits of all numbers together. The parser itself limits a single number to 4,300 digits, because reading a
    number takes time quadratic in its length."""
    number: int = 0
    """Digits in a row; 0 leaves that to the parser. Together with `digits` it bounds that time: 460 numbers of 4,300
    digits take 130 ms."""


class TooComplex(ValueError):
    """The text exceeds one of the limits for objects and arrays, values, digits or a number. The message names it:
    "more than 50000 values"."""


class JsonMeter:
    """Counts the values of one text that arrives in pieces. Brackets and commas inside strings do not count.

    For a text that is not JSON the count may be too high, never too low: the parser stops at the first character that
    is not JSON.
    """

    __slots__ = (
        "_commas",
        "_containers",
        "_digits",
        "_end",
        "_has_long_number",
        "_in_string",
        "_is_escaped",
        "_limits",
    )

    def __init__(self, limits: JsonLimits) -> None:
        self._limits = limits
        self.begin()

    def begin(self) -> None:
        """Reset all counts for the next text."""
        self._containers = self._commas = self._digits = 0
        self._has_long_number = False
        self._end = b""  # of the last piece: a number may go on in the next
        self.end_string()

    def end_string(self) -> None:
        """Treat what follows as outside of strings, whatever came before."""
        self._in_string = self._is_escaped = False

    @property
    def is_over(self) -> bool:
        containers, values, digits, _ = self._limits
        is_over = self._containers > containers or self._commas > values or self._digits > digits
        return is_over or self._has_long_number

    def feed(self, piece: Line) -> None:
        """Count one piece. Once the text is over a limit, further pieces are ignored."""
        if not piece or self.is_over:
            return
        outside = self.outside(piece)
        self._containers += outside.count(b"[") + outside.count(b"{")
        self._commas += outside.count(b",")
        self._digits += len(outside) - len(outside.translate(None, b"0123456789"))
        longest = self._limits.number
        if longest > 0:
            zeros = self._end + outside.translate(_AS_ZEROS)
            self._has_long_number = b"0" * (longest + 1) in zeros
            self._end = zeros[-longest:]

    def check(self) -> None:
        """Raises TooComplex when the text is over a limit."""
        if self._containers > self._limits.containers:
            raise TooComplex(f"more than {self._limits.containers} objects and arrays")
        if self._commas > self._limits.values:
            raise TooComplex(f"more than {self._limits.values} values")
        if self._digits > self._limits.digits:
            raise TooComplex(f"more than {self._limits.digits} digits")
        if self._has_long_number:
            raise TooComplex(f"a number of more than {self._limits.number} digits")

    def outside(self, piece: Line) -> Line:
        """The piece without the contents of its strings. A string may begin in one piece and end in another."""
        if self._is_escaped:
            piece, self._is_escaped = piece[1:], False
        if b"\\" in piece:
            # Remove escaped backslashes first: each remaining backslash then escapes the character after it.
            piece = piece.replace(b"\\\\", b"")
            self._is_escaped = piece.endswith(b"\\")
            piece = piece.replace(b'\\"', b"")
        if b'"' not in piece:
            return b"" if self._in_string else piece
        parts = piece.split(b'"')
        outside = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        return outside


def check_json(text: Line | str, limits: JsonLimits) -> None:
    """Raises TooComplex when parsing the text would exceed a limit."""
    if len(text) <= min(limits[:3]):  # each value takes at least one character; so few digits take no time
        return
    meter = JsonMeter(limits)
    for start in range(0, len(text), _PIECE_BYTES):
        piece = text[start : start + _PIECE_BYTES]
        meter.feed(piece.encode(errors="replace") if isinstance(piece, str) else piece)
    meter.check()


def bounded_json(text: Line | str, limits: JsonLimits) -> Any:
    """Parse the text. Raises TooComplex when it exceeds a limit, ValueError when it is not JSON."""
    from pydantic_core import from_json  # noqa: PLC0415 - a caller who only counts need not load it

    check_json(text, limits)
    return from_json(text, allow_inf_nan=False)


def says_outside_strings(text: bytes, *words: bytes) -> bool:
    """Whether a JSON text contains one of the words outside of its strings."""
    if not any(word in text for word in words):
        return False
    outside = JsonMeter(JsonLimits(0, 0)).outside(text)
    return any(word in outside for word in words)
