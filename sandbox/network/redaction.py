"""Blots secrets out of what a server says, also in the spellings in which servers repeat what they were sent.

It stops echoes, not conspiracies: a server that was given a secret can tell it in a cipher of its own.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
from collections.abc import Collection, Iterable, Iterator
from urllib.parse import quote, quote_plus

import anyio.lowlevel

from .secrets import MIN_SECRET_LENGTH

MARK = "[redacted]"

# A copy is searched in one go only while that cannot be felt by others on the event loop.
_AT_ONCE_BYTES = 256 * 1024


class Redactor:
    """`values` are whole header values: what is secret in them is found by itself, whatever its spelling."""

    def __init__(self, secrets: Iterable[str] = (), values: Collection[str] = ()) -> None:
        marks: dict[bytes, bytes] = {value.encode(): MARK.encode() for value in values}
        hidden = {*secrets, *(password for value in values for password in _basic_password(value))}
        for secret in hidden:
            for form in _spellings(secret):
                marks.setdefault(form, MARK.encode())
            for encoding in ("utf-16-le", "utf-16-be"):
                marks.setdefault(secret.encode(encoding), MARK.encode(encoding))
        # The longest first: when a part goes before the whole, the rest of the whole stays.
        self._marks = sorted(marks.items(), key=lambda pair: len(pair[0]), reverse=True)

    def data(self, data: bytes) -> bytes:
        for form, mark in self._marks:
            if form in data:
                data = data.replace(form, mark)
        return data

    def text(self, text: str) -> str:
        if not self._marks:
            return text
        return self.data(text.encode(errors="surrogateescape")).decode(errors="surrogateescape")

    def holds(self, text: str) -> bool:
        """Whether there is a secret in the text, in whatever spelling."""
        data = text.encode(errors="surrogateescape")
        return any(form in data for form, _ in self._marks)

    async def body(self, data: bytes) -> bytes:
        """As `data`, for megabytes: others have their turn between the spellings."""
        if len(data) <= _AT_ONCE_BYTES:
            return self.data(data)
        for form, mark in self._marks:
            if form in data:
                data = data.replace(form, mark)
            await anyio.lowlevel.checkpoint()
        return data


def _spellings(secret: str) -> Iterator[bytes]:
    raw = secret.encode()
    yield raw
    for text in (
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        quote(secret, safe="!*'()~"),
        json.dumps(secret)[1:-1],
        json.dumps(secret)[1:-1].replace("/", "\\/"),
        html.escape(secret),
        html.escape(secret).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        json.dumps(secret)[1:-1].replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"),
    ):
        yield text.encode()
        yield _lower_escapes(text).encode()
    yield "".join(f"%{byte:02x}" for byte in raw).encode()
    yield "".join(f"%{byte:02X}" for byte in raw).encode()
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield from _base64_forms(raw)


def _lower_escapes(quoted: str) -> str:
    parts = quoted.split("%")
    return parts[0] + "".join(f"%{part[:2].lower()}{part[2:]}" for part in parts[1:])


def _base64_forms(raw: bytes) -> Iterator[bytes]:
    """What is the same of the secret in base64 wherever it begins, as in `user:secret`."""
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw)
        first = -(-before * 8 // 6)
        # The last characters depend on what follows, or are padding.
        sure = (before + len(raw)) * 8 // 6
        form = whole[first:sure]
        yield form
        yield form.translate(bytes.maketrans(b"+/", b"-_"))


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
