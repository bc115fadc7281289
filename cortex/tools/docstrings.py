"""What a docstring says of a function and, in a section `Args:` as Google writes it, of its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

_SECTIONS = (
    "args|arguments|parameters|params|attributes|returns?|yields?|raises|examples?|notes?|warnings?|see also|todo"
)
_SECTION = re.compile(rf"({_SECTIONS}):\s*$", re.IGNORECASE)
_ARGUMENTS = re.compile(r"(args|arguments|parameters|params):\s*$", re.IGNORECASE)
_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+)\s*(\([^)]*\))?:\s*(?P<text>.*)")


class Docs(NamedTuple):
    description: str
    parameters: dict[str, str]


def docs_of(function: Callable[..., Any]) -> Docs:
    lines = (inspect.getdoc(function) or "").splitlines()
    end = next((number for number, line in enumerate(lines) if _SECTION.match(line)), len(lines))
    return Docs("\n".join(lines[:end]).strip(), _parameters(lines[end:]))


def _parameters(lines: list[str]) -> dict[str, str]:
    """Entries are indented, all alike; what is indented further goes on with the entry above."""
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
