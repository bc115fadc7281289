"""Reads the description of a function and, from an `Args:` section in Google style, of its parameters.

NumPy and Sphinx sections are not read, and are not part of the description either.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

_SECTIONS = (
    "args|arguments|parameters|params|attributes|returns?|yields?|raises|examples?|notes?|warnings?|see also|todo"
)
_SECTION = re.compile(rf"({_SECTIONS}):\s*$", re.IGNORECASE)
_UNREAD = re.compile(
    r"[ \w]+\n-{3,}\s*$|:(param|parameter|arg|argument|key|type|returns?|rtype|yields?|raises?)\b[^:]*:"
)
_ARGUMENTS = re.compile(r"(args|arguments|parameters|params):\s*$", re.IGNORECASE)
_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+)\s*(\([^)]*\))?:\s*(?P<text>.*)")


class Docs(NamedTuple):
    description: str
    parameters: dict[str, str]


def docs_of(function: Callable[..., Any]) -> Docs:
    lines = (inspect.getdoc(function) or "").splitlines()
    end = next((number for number in range(len(lines)) if _ends_description(lines, number)), len(lines))
    return Docs("\n".join(lines[:end]).strip(), _parameters(lines[end:]))


def _ends_description(lines: list[str], number: int) -> bool:
    return bool(_SECTION.match(lines[number]) or _UNREAD.match("\n".join(lines[number : number + 2])))


def _parameters(lines: list[str]) -> dict[str, str]:
    """The entries of the `Args:` section. All have the same indent; deeper lines continue the entry above."""
    found: dict[str, str] = {}
    is_inside, indent, last = False, 0, ""
    for line in lines:
        if _SECTION.match(line):
            is_inside, indent, last = _ARGUMENTS.match(line) is not None, 0, ""
            continue
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        if not is_inside or not text:
            continue
        if depth == 0:
            is_inside = False
            continue
        indent = indent or depth
        entry = _ENTRY.match(text) if depth <= indent else None
        if entry is not None:
            last = entry["name"]
            found[last] = entry["text"]
        elif last:
            found[last] = f"{found[last]} {text}".strip()
    return found
