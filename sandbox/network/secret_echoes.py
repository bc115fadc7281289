"""Redacts secrets in what a server sends, also in the escaped and encoded forms in which servers echo a request.

Of a secret's letters and digits, none or all are escaped, in the same way; every other character may have an escape of
its own, because a text that went through a template, a form and a log has one of each. It stops echoes, not a
conspiring server: a server that was given a secret can pass it on in a cipher of its own.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from html.entities import html5
from urllib.parse import quote_from_bytes, unquote_to_bytes

from .secrets import MIN_SECRET_LENGTH

MARK = "[redacted]"

# Layers of percent-encoding. Each login that redirects to a login adds one; more were made to hide something.
_MAX_LAYERS = 8
_PRINTABLE = "".join(map(chr, range(32, 127)))

# Searched in one go: a hostile text takes a hundred nanoseconds per byte.
_STEP_BYTES = 64 * 1024
# The longest spelling of one character, including a line break after it.
_WIDEST = 60

# The line breaks of base64, and of quoted-printable. A set of characters is fast to match, but beside an equals sign it
# would match in too many ways (backtracking).
_LINE_BREAK = r"[\r\n\t ]{0,4}"
_SOFT_BREAK = r"[=\r\n]{0,3}"
_SOFT_BREAK_AT_EQUALS = r"(?:=\r?\n)?"

_WHOLLY_ESCAPED = (
    *(("", form) for form in ("%{:02x}", "%{:02X}", "\\x{:02x}", "\\x{:02X}", "\\u{:04x}", "\\u{:04X}", "={:02X}")),
    *(("", form) for form in ("&#{:d};", "&#x{:02x};", "&#x{:02X};")),
    *((between, form) for between in ("", " ", ":") for form in ("{:02x}", "{:02X}")),
    *((between, "{:d}") for between in (",", ", ")),
)
_URL_SAFE = {"+": "-", "/": "_"}


@dataclass(frozen=True, slots=True)
class FixedSpelling:
    """A spelling that is one fixed string of bytes."""

    data: bytes
    mark: bytes = MARK.encode()

    def blot(self, data: bytes) -> Generator[None, None, bytes]:
        yield
        return data.replace(self.data, self.mark) if self.data in data else data


@dataclass(frozen=True, slots=True)
class EscapedSpelling:
    """A spelling in which some characters may be escaped."""

    pattern: re.Pattern[bytes]
    max_bytes: int

    def blot(self, data: bytes) -> Generator[None, None, bytes]:
        """The data with each match of the pattern replaced by MARK. Yields after each step of the search."""
        cleaned = bytearray()
        kept = at = 0
        step = max(_STEP_BYTES, self.max_bytes)
        while at < len(data):
            end = at + step
            # Search beyond the step, so that no match is cut in two where two steps meet.
            found = self.pattern.search(data, at, end + self.max_bytes)
            if found is None:
                at = end
            else:
                cleaned += data[kept : found.start()]
                cleaned += MARK.encode()
                kept = at = found.end()
            yield
        if kept == 0:
            return data
        cleaned += data[kept:]
        return bytes(cleaned)


Spelling = FixedSpelling | EscapedSpelling


def spellings(secret: str) -> Iterator[Spelling]:
    raw = secret.encode()
    yield _pattern(_SOFT_BREAK, re.findall(r"\\+|[^\\]", secret))
    for between, form in _WHOLLY_ESCAPED:
        yield FixedSpelling(between.join(form.format(byte) for byte in raw).encode())
    for text in _base64_forms(raw):
        yield _pattern(_LINE_BREAK, list(text), _URL_SAFE)
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        yield FixedSpelling(secret.encode(encoding), MARK.encode(encoding))


def _pattern(line_break: str, units: list[str], others: dict[str, str] | None = None) -> EscapedSpelling:
    spelled = ""
    for before, unit in zip(["", *units], units, strict=False):
        if before:
            spelled += _SOFT_BREAK_AT_EQUALS if "=" in (before, unit) else line_break
        spelled += unit if unit.isalnum() else _escaped(unit, (others or {}).get(unit))
    return EscapedSpelling(re.compile(spelled.encode()), _WIDEST * sum(map(len, units)))


@cache
def _escaped(unit: str, other: str | None = None) -> str:
    """A regex for one character, or a row of backslashes, in all its escapes. Each escape begins with a different byte,
    which makes matching fast."""
    char, count = unit[0], len(unit)
    code = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{ord(char):02x}")
    names = [re.escape(name) for name, value in html5.items() if value == char and name.endswith(";")]
    entity = f"(?:amp;){{0,4}}(?:{'|'.join((f'#0{{0,6}}{ord(char)};', f'#[xX]0{{0,6}}{code};', *names))})"
    ways = [
        rf"%(?:25){{0,8}}{code}",
        rf"={code}",
        rf"&{entity}",
        rf"\\\\{{0,7}}(?:u00{code}|x{code}|u0026{entity})",
    ]
    if count > 1:
        ways = [f"(?:{way}){{{count}}}" for way in ways]
    # A row of backslashes is one unit: matched one by one, it would match in too many ways (backtracking).
    ways.append(rf"\\{{{count},{16 * count}}}" if char == "\\" else rf"\\\\{{0,7}}{re.escape(char)}")
    ways += [re.escape(plain) for plain in (char, other, "+" if char == " " else None) if plain and char != "\\"]
    return f"(?:{'|'.join(ways)})"


def _base64_forms(raw: bytes) -> Iterator[str]:
    """The part of the secret's base64 that does not depend on the text around it, as in `user:secret`, for each of the
    three possible offsets."""
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode()
        first = -(-before * 8 // 6)
        # The last characters depend on the text after the secret, or are padding.
        sure = (before + len(raw)) * 8 // 6
        yield whole[first:sure]


class Redactor:
    """Replaces secrets by MARK. `secrets` are found in every spelling; `values`, whole header values that contain a
    secret, only as they are."""

    def __init__(self, secrets: Iterable[str] = (), values: Collection[str] = ()) -> None:
        hidden = {*secrets, *(password for value in values for password in _basic_password(value))}
        # The longest first: if a part were redacted before the whole, the rest of the whole would stay.
        self._spellings: list[Spelling] = [
            FixedSpelling(value.encode()) for value in sorted(values, key=len, reverse=True)
        ]
        for secret in sorted(hidden, key=len, reverse=True):
            self._spellings += spellings(secret)

    def data(self, data: bytes) -> bytes:
        """Redact something short: a header, a URL, an error. Searched as it is, and under each layer of
        percent-encoding."""
        shown = layer = data
        for depth in range(_MAX_LAYERS if self._spellings else 0):
            clean = _at_once(self._blotted(layer))
            if clean != layer:
                layer = clean
                shown = quote_from_bytes(clean, _PRINTABLE).encode() if depth else clean
            below = unquote_to_bytes(layer)
            if below == layer:
                return shown
            layer = below
        return MARK.encode() if self._spellings else data

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
        for spelling in self._spellings:
            data = yield from spelling.blot(data)
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
