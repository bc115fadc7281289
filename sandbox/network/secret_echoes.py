"""Blots secrets out of what a server says, also in the spellings in which servers repeat what they were sent.

It stops echoes, not conspiracies: a server that was given a secret can tell it in a cipher of its own.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable
from urllib.parse import quote_from_bytes, unquote_to_bytes

from .secrets import MIN_SECRET_LENGTH
from .spellings import MARK, Form, Plain, forms

__all__ = ["MARK", "Redactor"]

# A login that redirects to a login adds one with each; what has more was made to hide something.
_MAX_LAYERS = 8
_PRINTABLE = "".join(map(chr, range(32, 127)))


class Redactor:
    """`values` are whole header values: what is secret in them is found by itself, whatever its spelling."""

    def __init__(self, secrets: Iterable[str] = (), values: Collection[str] = ()) -> None:
        hidden = {*secrets, *(password for value in values for password in _basic_password(value))}
        # The longest first: when a part goes before the whole, the rest of the whole stays.
        self._forms: list[Form] = [Plain(value.encode()) for value in sorted(values, key=len, reverse=True)]
        for secret in sorted(hidden, key=len, reverse=True):
            self._forms += forms(secret)

    def data(self, data: bytes) -> bytes:
        """For what is short: a header, a URL, an error. Looked at as it is, and under each layer of percent signs."""
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
        """Whether there is a secret in the text, in whatever spelling."""
        return self.holds_any([text.encode(errors="surrogateescape")])

    def holds_any(self, parts: Iterable[bytes]) -> bool:
        """Whether there is a secret in one of them, or in one and the beginning of the next."""
        data = b"\n".join(parts)
        return self.data(data) != data

    async def body(self, data: bytes, turn: Callable[[], Awaitable[None]]) -> bytes:
        """For megabytes, as they are. `turn` is waited for after each step."""
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
    """The password in `Basic …`: servers take it out before they repeat it."""
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return []
    found = [pair, pair.partition(":")[2], encoded.strip()]
    return [text for text in found if len(text) >= MIN_SECRET_LENGTH]
