"""Finds e-mail addresses wherever an "@" stands: in prose, in URLs and in JSON inside JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spans import Span
from .strength import is_random

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


def emails(text: str, lowered: str) -> Iterator[Span]:
    begin = 0
    for at in _AT.finditer(text):
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
