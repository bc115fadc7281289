"""Finds IP addresses, but not versions, times and names in code that look like them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spans import Span

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
    while (colons := _COLONS.search(text, begin)) is not None:
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
