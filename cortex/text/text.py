"""Text that every pipe, file and endpoint can carry: no half characters, and no more than was agreed."""

from __future__ import annotations

import re

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """The text without half characters: halves that belong together are joined, and others are replaced.

    JSON can carry one half of a character ("\\ud83d"), and whoever writes it out as UTF-8 later would fail.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        # By patterns: a codec asks what to do about each half, which for a megabyte of them takes most of a second.
        return _HALF.sub("\ufffd", _PAIR.sub(_joined, text))
    return text


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def bounded(text: str, max_chars: int) -> str:
    """The text, or its beginning and how much is missing."""
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}… ({len(text) - max_chars} more characters left out)"


def beginning(text: str, max_chars: int) -> str:
    """The text, or as much of it as there is room for with a mark at its end."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"


class WholePieces:
    """The same for a text that comes in pieces, which may end in the middle of a character."""

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
