"""Finds IP addresses and e-mail addresses, but not versions, times, packages and names in code that look like them.

An e-mail address is found wherever an "@" stands: in prose, in URLs and in JSON inside JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spans import Span, searched
from .strength import is_random

# Words before four dotted numbers that make them a version; the second list only as whole words.
_VERSIONS = ("version", "versions", "version number", "version_number", "version-number", "firmware", "identifier")
_SHORT = ("v", "ver", "rev", "oid", "release", "revision", "section", "chapter", "clause", "build", "build number", "§")
_WORD = re.compile(r"(?:\A|[^a-z])(?:" + "|".join(_SHORT) + r")\Z")
_OID = re.compile(r"(?<![a-z])oid(?![a-z])")
_BETWEEN = " \t\"'\\:=.#(\x1f"
_PINS = ("==", ">=", "<=", "~=", "!=")
_PRODUCT_BEFORE = re.compile(r"(?:\A|[^\w.-])[a-z][\w-]{0,40}/\Z")
# "::" or three colons near each other: a time of day has two.
_COLONS = re.compile(r":(?::[0-9a-fA-F]|[0-9a-fA-F]{1,4}:(?::|[0-9a-fA-F]{1,4}:))")
_V6 = re.compile(r"[0-9a-fA-F:]{2,45}+(?:(?:\.[0-9]{1,3}){3})?")
# Prefixes in use: global, unique local, link-local, multicast, and IPv4 in IPv6. `add::dead` in a program is not one.
_V6_BEGINNING = re.compile(r"[23][0-9a-f]{3}:|f[cd][0-9a-f]{2}:|fe[89ab][0-9a-f]:|ff[0-9a-f]{2}:|64:ff9b:|::ffff:")
_HEX = "0123456789abcdefABCDEF"

# "@" itself and as in URLs. The text around it is checked by hand: a pattern that begins with the name would try every
# word.
_AT = re.compile(r"@(?<=[\w+'-]@)(?=\w)|%40(?<=[\w+'-]%40)(?=\w)")
_NAME_BACKWARDS = re.compile(r"[\w.+'-]{1,64}+")
_DOMAIN = re.compile(r"[\w-]{1,63}+(?:\.[\w-]{1,63}+){1,8}+")
# Endings of files with a scale in their names (logo@2x.png), and of package versions that look like a file.
_NOT_DOMAINS = (
    ".png .jpg .jpeg .gif .svg .webp .avif .ico .pdf .css .js .mjs .cjs .ts .tsx .jsx .json .html .lock .tgz .gz "
    ".zip .yaml .yml .toml .txt .xml .whl .jar"
)
_FILES = tuple(_NOT_DOMAINS.split())
_MAX_NAME = 64
_MAX_CREDENTIALS = 400
_NOT_IN_CREDENTIALS = re.compile(r"[\s/?#@\"'<>\\]")


def is_ipv4(lowered: str, start: int, end: int) -> bool:
    """Whether the four numbers are the address of a machine other than this one."""
    parts = lowered[start:end].split(".")
    if any(int(part) > 255 or (part[0] == "0" and part != "0") for part in parts):
        return False
    first, second = int(parts[0]), int(parts[1])
    # Loopback, "any address", masks and whole networks identify no person.
    if first in {0, 127, 255} or parts[1:] == ["0", "0", "0"]:
        return False
    is_private = first == 10 or (first == 172 and 16 <= second <= 31) or (first == 192 and second == 168)
    before = lowered[max(0, start - 44) : start]
    return not _is_version(before) and (is_private or not _is_numbering(before))


def _is_numbering(before: str) -> bool:
    """Whether the numbers follow a comment sign, a file name or a product: a section of a standard,
    `Chrome/120.0.0.0`."""
    if before.endswith("-"):
        return before[-2:-1].isalpha()
    return before.endswith("// ") or (before.endswith("/") and _PRODUCT_BEFORE.search(before) is not None)


def _is_version(before: str) -> bool:
    if before.endswith(_PINS) or ("oid" in before and _OID.search(before)):
        return True
    said = before.rstrip(_BETWEEN)
    return said.endswith(_VERSIONS) or (said.endswith(_SHORT) and _WORD.search(said) is not None)


def ipv6(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    begin = 0
    while (colons := next(searched(_COLONS, text, begin), None)) is not None:
        start = colons.start()
        while start > begin and colons.start() - start < 5 and text[start - 1] in _HEX:
            start -= 1
        run = _V6.match(text, start)
        assert run is not None
        begin = run.end()
        if start and (text[start - 1].isalnum() or text[start - 1] in "_:."):
            continue
        found = run[0].rstrip(":") if not run[0].endswith("::") else run[0]
        if _V6_BEGINNING.match(found.lower()) and _is_ipv6(found) and not _goes_on(text, start + len(found)):
            yield Span(start, start + len(found), "ip")


def _goes_on(text: str, end: int) -> bool:
    return end < len(text) and (text[end].isalnum() or text[end] == "_")


def _is_ipv6(found: str) -> bool:
    import ipaddress  # noqa: PLC0415 - few texts need it, and each command would pay for it

    try:
        ipaddress.IPv6Address(found)
    except ValueError:
        return False
    return True


def emails(text: str, lowered: str) -> Iterator[Span]:
    begin = 0
    for at in searched(_AT, text):
        domain = _DOMAIN.match(text, at.end())
        if domain is None:
            continue
        end = _end_of_domain(lowered, domain)
        if end is None:
            continue
        start = _start_of_name(text, at.start(), begin)
        if start is None or _is_no_person(text, start, at.start(), end):
            continue
        yield Span(start, end, "email")
        begin = end


def _end_of_domain(lowered: str, domain: re.Match[str]) -> int | None:
    found = lowered[domain.start() : domain.end()].rstrip("-_")
    # "ann@example.com.2024" is an address followed by a number; "lodash@4.17.21" is a package.
    while found:
        above, _, last = found.rpartition(".")
        # "ann@example.com2" is an address with something stuck to it, unless it is a version like "2.0.rc1".
        if above.strip(".0123456789"):
            glued = last.rstrip("0123456789")
            found, last = found[: len(found) - len(last) + len(glued)], glued
        if above and ((last.isalpha() and 2 <= len(last) <= 24) or last.startswith("xn--")):
            return None if found.endswith(_FILES) else domain.start() + len(found)
        found = above.rstrip("-_")
    return None


def _start_of_name(text: str, at: int, floor: int) -> int | None:
    run = _NAME_BACKWARDS.match(text[max(floor, at - _MAX_NAME) : at][::-1])
    name = run[0][::-1].lstrip(".'+-") if run else ""
    return at - len(name) if name else None


def _is_no_person(text: str, start: int, at: int, end: int) -> bool:
    if text[start:at] == "git" and text[end : end + 1] == ":":
        return True
    # In "https://ann:secret@example.com" the part before "@" is a password, not the name of a person.
    before = text[max(0, at - _MAX_CREDENTIALS) : at]
    _, scheme, credentials = before.rpartition("://")
    credentials = credentials.lstrip("/")
    if not scheme or _NOT_IN_CREDENTIALS.search(credentials):
        return False
    return ":" in credentials or is_random(credentials)
