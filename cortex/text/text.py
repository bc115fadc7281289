"""Cleans and shortens texts, finds similar names, formats times. Cleaned texts fit every pipe and file.

Pure, and fast for long texts and thousands of names: both come from strangers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")
_MAX_COMPARED_CHARACTERS = 64


def whole(text: str) -> str:
    """The text without lone surrogates: pairs are joined, and lone ones are replaced.

    JSON can carry a lone surrogate ("\\ud83d"), and writing it as UTF-8 later would fail.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        # By regular expressions: a codec error handler is called for each half, which takes most of a second for a
        # megabyte.
        return _HALF.sub("\ufffd", _PAIR.sub(_joined, text))
    return text


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def bounded(text: str, max_chars: int) -> str:
    """The text, or its beginning and the number of missing characters."""
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}… ({len(text) - max_chars} more characters left out)"


def beginning(text: str, max_chars: int) -> str:
    """The text, or as much of it as fits with a mark at the end."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"


def local_time(seconds: float, form: str = "%Y-%m-%d %H:%M") -> str:
    """A timestamp in local time. A document or a setting may hold any number, even a number that is no valid time."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).astimezone():{form}}"
    except (ValueError, OverflowError, OSError):
        return "an unknown time"


class WholePieces:
    """Like `whole`, for a text that comes in pieces, which may end in the middle of a character."""

    def __init__(self) -> None:
        self._held = ""

    def add(self, piece: str) -> str:
        text, self._held = self._held + piece, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return whole(text)

    def end(self) -> str:
        text, self._held = self._held, ""
        return whole(text)


class NearNames:
    """An index of names by pairs of letters, to suggest similar ones for a name that does not exist."""

    def __init__(self, names: Iterable[str]) -> None:
        self._pairs = {name: _pairs(name) for name in names}

    def __call__(self, name: str, most: int) -> list[str]:
        """At most `most` similar names, the best first; names with nothing in common are left out."""
        asked = _pairs(name)
        shares = ((2 * len(asked & own) / (len(asked) + len(own) or 1), known) for known, own in self._pairs.items())
        found = sorted((share for share in shares if share[0] > 0), key=lambda found: (-found[0], found[1]))
        return [known for _, known in found[:most]]

    def __len__(self) -> int:
        return len(self._pairs)

    def some(self, most: int) -> list[str]:
        return list(self._pairs)[:most]


def _pairs(name: str) -> frozenset[str]:
    """Pairs of neighbouring letters, ignoring case and separators."""
    letters = "".join(filter(str.isalnum, name[:_MAX_COMPARED_CHARACTERS].casefold()))
    return frozenset(letters[at : at + 2] for at in range(len(letters) - 1)) or frozenset({letters})
