"""The redactor: takes texts and JSON values, and returns them with secrets and personal data replaced.

All strings of a value are joined to one text, which is scanned once. A result of two thousand rows has 18,000 short
strings, and each scan has a fixed cost: one by one they take three times as long. Joined, a name also stands beside its
value, so that {"password": "…"} is found by the rule for `password=…`. Two characters that hardly any text contains
(where one does, it becomes a blank) separate the strings: BETWEEN ends a string, and only the rule for private keys
reaches across it; NAMED stands between a name and its value. What is found in the joined text is mapped back to the
strings by their offsets.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from copy import copy
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from cortex.settings import RedactionSettings

from .spans import BETWEEN, NAMED, Span
from .tokens import TOKEN, Tokens

if TYPE_CHECKING:
    from .scan import Scan

# What a model returns is small. A token for a long key, repeated a thousand times, must not fill the memory.
MAX_RESTORED_CHARACTERS = 4_194_304
_BLANKS = {ord(BETWEEN): " ", ord(NAMED): " "}
MAX_DEPTH = 200
TOO_DEEP = "[TOO_DEEP]"
# Smaller numbers cannot be phone, card or account numbers.
_MIN_NUMBER = 1_000_000


class Redactor:
    """Replaces what the model must not see by tokens that stay the same through one conversation.

    It stops accidental leaks. Code that wants to leak a value can encode it beyond recognition. Redact before a text is
    cut: half a value may not be recognised.
    """

    def __init__(self, settings: RedactionSettings, tokens: Tokens | None = None) -> None:
        self._tokens = tokens if tokens is not None else Tokens()
        self._is_on = settings.enabled and bool(settings.kinds)
        self._restores = settings.enabled and settings.restore
        self._kinds = settings.kinds

    @cached_property
    def _scan(self) -> Scan:
        from .scan import Scan  # noqa: PLC0415 - its patterns take milliseconds, and many commands show nothing to a model

        return Scan(self._kinds)

    def apart(self) -> Redactor:
        """A redactor that gives the values seen so far the same tokens. Values that only it sees get tokens that this
        one never gives back: for texts that are kept for the owner, and that the model has not read."""
        made = copy(self)
        made._tokens = self._tokens.apart()
        return made

    def text(self, text: str) -> str:
        if not self._is_on or not text:
            return text
        self._tokens.leave_alone(text)
        spans = self._scan.found(text)
        if not spans:
            return text
        redacted = self._replaced(text, spans)
        self._tokens.keep()
        return redacted

    def value(self, value: Any) -> Any:
        """A redacted copy; member names and long numbers are checked, too."""
        if not self._is_on:
            return value
        if isinstance(value, str):
            return self.text(value)
        parts = pieces_of(value)
        if not parts:
            return rebuilt(value, iter(()))
        joined, pieces = "".join(parts), parts[::2]
        if joined.count(BETWEEN) + joined.count(NAMED) != len(pieces):
            # One of the strings contains such a character, and would be split.
            parts[::2] = [piece.translate(_BLANKS) for piece in pieces]
            joined = "".join(parts)
        self._tokens.leave_alone(joined)
        for at, spans in _by_piece(pieces, self._scan.found(joined)).items():
            pieces[at] = self._replaced(pieces[at], spans)
        self._tokens.keep()
        return rebuilt(value, iter(pieces))

    def restored(self, value: Any, written: str | None = None) -> Any:
        """The value with known tokens replaced by what they stand for, if the settings allow it. With `written`, only
        tokens that occur in that text."""
        if not self._restores:
            return value
        only = None if written is None else frozenset(TOKEN.findall(written))
        room = MAX_RESTORED_CHARACTERS

        def fits(more: int) -> bool:
            nonlocal room
            room -= more
            return room >= 0

        return rebuilt(value, iter([self._tokens.restored(piece, fits, only) for piece in pieces_of(value)[::2]]))

    def without_numbers(self, text: str) -> str:
        """The text with the numbers of its tokens removed, for storage beyond this conversation, where they would mean
        something else."""
        return TOKEN.sub(lambda token: f"[{token[1]}]", text) if self._is_on else text

    def _replaced(self, text: str, spans: list[Span]) -> str:
        parts: list[str] = []
        done = 0
        for start, end, kind in spans:
            parts += (text[done:start], self._tokens.token(kind, text[start:end]))
            done = end
        parts.append(text[done:])
        return "".join(parts)


def _by_piece(pieces: list[str], spans: list[Span]) -> dict[int, list[Span]]:
    """Map spans of the joined text, in which one separator follows each piece, to spans of the pieces."""
    starts = list(accumulate((len(piece) + 1 for piece in pieces), initial=0)) if spans else []
    found: dict[int, list[Span]] = {}
    for start, end, kind in spans:
        at = bisect_right(starts, start) - 1
        while at < len(pieces) and starts[at] < end:
            first, last = max(start - starts[at], 0), min(end - starts[at], len(pieces[at]))
            if first < last:
                found.setdefault(at, []).append(Span(first, last, kind))
            at += 1
    return found


def pieces_of(value: Any) -> list[str]:
    """The strings, and long integers as strings, in order, each followed by a separator."""
    pieces: list[str] = []
    _collect(value, pieces, 0)
    return pieces


def rebuilt(value: Any, pieces: Iterator[str]) -> Any:
    """A copy of the value with other strings in the same order. Data nested too deep to be searched is left out."""
    return _rebuild(value, pieces, 0)


def _collect(value: Any, pieces: list[str], depth: int) -> None:
    if isinstance(value, str):
        pieces += (value, BETWEEN)
    elif _is_long_number(value):
        pieces += (str(value), BETWEEN)
    elif depth >= MAX_DEPTH:
        return
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(name, str):
                pieces += (name, NAMED)
            _collect(item, pieces, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, pieces, depth + 1)


def _rebuild(value: Any, pieces: Iterator[str], depth: int) -> Any:
    if isinstance(value, str):
        return next(pieces)
    if _is_long_number(value):
        piece = next(pieces)
        return value if piece == str(value) else piece
    if isinstance(value, Mapping):
        return _object(value, pieces, depth) if depth < MAX_DEPTH else TOO_DEEP
    if isinstance(value, list | tuple):
        return [_rebuild(item, pieces, depth + 1) for item in value] if depth < MAX_DEPTH else TOO_DEEP
    return value


def _object(value: Mapping[Any, Any], pieces: Iterator[str], depth: int) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for old, item in value.items():
        name = next(pieces) if isinstance(old, str) else old
        # Tokens without a number look alike, and no member may overwrite another.
        if name in made:
            name = f"{name} ({len(made) + 1})"
        made[name] = _rebuild(item, pieces, depth + 1)
    return made


def _is_long_number(value: Any) -> bool:
    return type(value) is int and (value >= _MIN_NUMBER) and value < 10**40
