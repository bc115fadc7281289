"""The spellings in which servers repeat what they were sent. Pure.

Letters and digits are spelled as they are, or all of them in the same way; every other character may have its own
escape, for a text that went through a template, a form and a log has one of each.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cache
from html.entities import html5

MARK = "[redacted]"

# What is searched in one go: a hostile text takes a hundred nanoseconds for each of its bytes.
_STEP_BYTES = 64 * 1024
# The longest spelling of one character, with a break of the line after it.
_WIDEST = 60

# Where base64, and where quoted-printable, breaks its lines. A set of characters is fast; beside an equals sign it
# could be taken apart in too many ways.
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
class Plain:
    """Bytes that are always the same."""

    data: bytes
    mark: bytes = MARK.encode()

    def blot(self, data: bytes) -> Generator[None, None, bytes]:
        yield
        return data.replace(self.data, self.mark) if self.data in data else data


@dataclass(frozen=True, slots=True)
class Pattern:
    """Bytes that are escaped here and there."""

    pattern: re.Pattern[bytes]
    max_bytes: int

    def blot(self, data: bytes) -> Generator[None, None, bytes]:
        """The data without what the pattern finds. Yields after each step of the search."""
        cleaned = bytearray()
        kept = at = 0
        step = max(_STEP_BYTES, self.max_bytes)
        while at < len(data):
            end = at + step
            # Longer than the step, so that nothing is cut in two where two steps meet.
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


Form = Plain | Pattern


def forms(secret: str) -> Iterator[Form]:
    raw = secret.encode()
    yield _pattern(_SOFT_BREAK, re.findall(r"\\+|[^\\]", secret))
    for between, form in _WHOLLY_ESCAPED:
        yield Plain(between.join(form.format(byte) for byte in raw).encode())
    for text in _base64_forms(raw):
        yield _pattern(_LINE_BREAK, list(text), _URL_SAFE)
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        yield Plain(secret.encode(encoding), MARK.encode(encoding))


def _pattern(line_break: str, units: list[str], others: dict[str, str] | None = None) -> Pattern:
    spelled = ""
    for before, unit in zip(["", *units], units, strict=False):
        if before:
            spelled += _SOFT_BREAK_AT_EQUALS if "=" in (before, unit) else line_break
        spelled += unit if unit.isalnum() else _escaped(unit, (others or {}).get(unit))
    return Pattern(re.compile(spelled.encode()), _WIDEST * sum(map(len, units)))


@cache
def _escaped(unit: str, other: str | None = None) -> str:
    """One character, or a row of backslashes, in all its escapes. Each begins with a byte of its own: that is fast."""
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
    # A row of backslashes is one unit, spelled in one way: one by one, it could be taken apart in too many ways.
    ways.append(rf"\\{{{count},{16 * count}}}" if char == "\\" else rf"\\\\{{0,7}}{re.escape(char)}")
    ways += [re.escape(plain) for plain in (char, other, "+" if char == " " else None) if plain and char != "\\"]
    return f"(?:{'|'.join(ways)})"


def _base64_forms(raw: bytes) -> Iterator[str]:
    """What is the same of the secret in base64 wherever it begins, as in `user:secret`."""
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode()
        first = -(-before * 8 // 6)
        # The last characters depend on what follows, or are padding.
        sure = (before + len(raw)) * 8 // 6
        yield whole[first:sure]
