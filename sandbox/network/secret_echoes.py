"""Redacts secrets in what a server sends, also in the escaped and encoded forms in which servers echo a request.

It stops echoes, not a conspiring server: a server that was given a secret can pass it on in a cipher of its own.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable
from urllib.parse import quote_from_bytes, unquote_to_bytes

from .secrets import MIN_SECRET_LENGTH
from .spellings import MARK, Form, Plain, forms

__all__ = ["MARK", "Redactor"]

# Layers of percent-encoding. Each login that redirects to a login adds one; more were made to hide something.
_MAX_LAYERS = 8
_PRINTABLE = "".join(map(chr, range(32, 127)))


class Redactor:
    """Replaces secrets by MARK. `secrets` are found in every spelling; `values`, whole header values that contain a
    secret, only as they are."""

    def __init__(self, secrets: Iterable[str] = (), values: Collection[str] = ()) -> None:
        hidden = {*secrets, *(password for value in values for password in _basic_password(value))}
        # The longest first: if a part were redacted before the whole, the rest of the whole would stay.
        self._forms: list[Form] = [Plain(value.encode()) for value in sorted(values, key=len, reverse=True)]
        for secret in sorted(hidden, key=len, reverse=True):
            self._forms += forms(secret)

    def data(self, data: bytes) -> bytes:
        """Redact something short: a header, a URL, an error. Searched as it is, and under each layer of
        percent-encoding."""
        shown = layer = data
        for depth in range(_MAX_LAYERS if self._forms else 0):
            clean = _at_once(self._blotted(layer))
            if clean != layer:
                layer = clean
                shown = quote_from_bytes(clean, _PRINTABLE).encode() if depth else clean
            below = unquote_to_bytes(layer)
            if below == layer:
                return shown
            layer = below
        return MARK.encode() if self._forms else data

    def text(self, text: str) -> str:
        return self.data(text.encode(errors="surrogateescape")).decode(errors="surrogateescape")

    def holds(self, text: str) -> bool:
        """Whether the text contains a secret, in any spelling."""
        return self.holds_any([text.encode(errors="surrogateescape")])

    def holds_any(self, parts: Iterable[bytes]) -> bool:
        """Whether one of the parts contains a secret, or one and the beginning of the next together."""
        data = b"\n".join(parts)
        return self.data(data) != data

    async def body(self, data: bytes, turn: Callable[[], Awaitable[None]]) -> bytes:
        """Redact megabytes, without looking under percent-encoding. Awaits `turn` after each step."""
        steps = self._blotted(data)
        while True:
            try:
                next(steps)
            except StopIteration as done:
                return bytes(done.value)
            await turn()

    def _blotted(self, data: bytes) -> Generator[None, None, bytes]:
        for form in self._forms:
            data = yield from form.blot(data)
        return data


def _at_once(steps: Generator[None, None, bytes]) -> bytes:
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return bytes(done.value)


def _basic_password(value: str) -> list[str]:
    """The password in `Basic …`, and the pair around it: servers decode it before they echo it."""
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return []
    found = [pair, pair.partition(":")[2], encoded.strip()]
    return [text for text in found if len(text) >= MIN_SECRET_LENGTH]
