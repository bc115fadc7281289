"""Finds JWTs and private keys in PEM."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .api_keys import begins
from .spans import BETWEEN, MAX_VALUE_CHARACTERS, NAMED, Span

_JWT = re.compile(r"eyJ[\w-]{0,4096}+(?:\.[\w-]{0,16384}+){0,4}+")
_BEGIN = "-----BEGIN "
_PEM_LABEL = re.compile(r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# Including the END line.
_MIN_PEM = 72


def jwts(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    begin = 0
    while (at := text.find("eyJ", begin)) >= 0:
        match = _JWT.match(text, at)
        assert match is not None
        # Skip all of it: a megabyte of "eyJeyJ…" is searched once.
        begin = match.end()
        parts = match[0].rstrip(".").split(".")
        # A page cursor is base64, too, but has no dots.
        if len(parts) < 2 or not begins(text, at):
            continue
        if parts[1].startswith("eyJ") or (len(parts) >= 3 and _says_how(parts[0])):
            yield Span(at, at + len(match[0].rstrip(".")), "jwt")


def _says_how(header: str) -> bool:
    import base64  # noqa: PLC0415 - few texts need it

    try:
        return b'"alg"' in base64.urlsafe_b64decode(header + "=" * (-len(header) % 4))
    except ValueError:
        return False


def private_keys(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    """The whole block; without an END line, as in a cut text, everything up to the end of the text."""
    begin, end = 0, None
    while (at := text.find(_BEGIN, begin)) >= 0:
        begin = at + len(_BEGIN)
        label = _PEM_LABEL.match(text, begin)
        if label is None:
            continue
        # Searched once: a thousand BEGIN lines without an END must not search the text a thousand times.
        if end is None or end < label.end():
            found = _PEM_END.search(text, label.end())
            end = found.end() if found else len(text) + MAX_VALUE_CHARACTERS
        is_whole = end - at <= MAX_VALUE_CHARACTERS
        begin = end if is_whole else _end_of_string(text, at)
        # Programs that read keys contain both lines, with no key between them.
        if not is_whole or begin - label.end() >= _MIN_PEM:
            # A key given as a list of lines spans several strings, and each is replaced.
            yield Span(at, begin, "private_key")


def _end_of_string(text: str, at: int) -> int:
    end = text.find(BETWEEN, at)
    end = len(text) if end < 0 else end
    named = text.find(NAMED, at, end)
    return end if named < 0 else named
