"""The door's own class: texts and JSON values in, the same without what must not be seen out.

All strings of a value are joined to one text, which is scanned once. A result of two thousand rows has 18,000 short
strings, and each scan has its price before it reads the first letter: one by one they take three times as long. It
also shows a name beside its value, so that {"password": "…"} is found by the rule for `password=…`. Two signs that
hardly any text has (and where one does, it is a blank) keep the strings apart: BETWEEN ends a string, and no rule but
that for private keys reaches across it; NAMED stands between a name and its value. What is found in the joined text is
dealt out to the strings again, by where each begins.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from cortex.settings import RedactionSettings

from .json_strings import pieces_of, rebuilt
from .spans import BETWEEN, NAMED, Span
from .tokens import TOKEN, Tokens

if TYPE_CHECKING:
    from .scan import Scan

# What a model hands back is small. A token for a long key, written a thousand times, must not fill the memory.
MAX_RESTORED_CHARACTERS = 4_194_304
_BLANKS = {ord(BETWEEN): " ", ord(NAMED): " "}


class Redactor:
    """What must not go to the model, replaced by tokens that stay the same through one conversation.

    It stops what would be told by accident. Code that wants to can spell a value in a way that nobody recognises.
    Redact before a text is cut: of half a value it may not be seen what it was.
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
        """A copy, with the names of members and long numbers looked at too."""
        if not self._is_on:
            return value
        if isinstance(value, str):
            return self.text(value)
        parts = pieces_of(value)
        if not parts:
            return rebuilt(value, iter(()))
        joined, pieces = "".join(parts), parts[::2]
        if joined.count(BETWEEN) + joined.count(NAMED) != len(pieces):
            # One of the strings has such signs itself, and would pass for several.
            parts[::2] = [piece.translate(_BLANKS) for piece in pieces]
            joined = "".join(parts)
        self._tokens.leave_alone(joined)
        for at, spans in _by_piece(pieces, self._scan.found(joined)).items():
            pieces[at] = self._replaced(pieces[at], spans)
        self._tokens.keep()
        return rebuilt(value, iter(pieces))

    def restored(self, value: Any, written: str | None = None) -> Any:
        """Values for the tokens in it that were given out; nothing else, and only if the settings want it. With a text,
        only those that are in that text."""
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
        """For what is kept beyond this conversation, where the numbers stand for something else."""
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
    """The spans of all pieces joined, each with one sign behind it, as spans of each piece."""
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
