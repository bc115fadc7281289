"""Finds tool names like `tools.github.listCommits` in source code with regular expressions; nothing is run."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_MENTIONS = 50
MAX_WORDS = 5_000

# `tools.github.listCommits` and `tools["git-hub"]["list.commits"]`.
_NAME = r"([A-Za-z_$][\w$]{0,127})"
_QUOTED = r"""\[\s{0,9}(?:"([^"\\\n]{1,128})"|'([^'\\\n]{1,128})')\s{0,9}\]"""
_PART = rf"""\s{{0,99}}(?:\??\.\s{{0,99}}{_NAME}|(?:\?\.)?{_QUOTED})"""
_MENTION = re.compile(rf"\btools\b(?:{_PART}(?:{_PART})?)?", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9_$-]{1,128}", re.ASCII)


class Mentions(NamedTuple):
    paths: tuple[tuple[str, str | None], ...]
    """Each `tools.<group>.<name>`, in the order of the code. The name is None when code takes the whole group, as in
    `const { listCommits } = tools.github`."""
    takes_all: bool
    """Whether code takes `tools` itself, as in `const { github } = tools`."""


NOTHING = Mentions((), takes_all=False)


def mentions(code: str) -> Mentions:
    """The mentions in the code. A name that code puts together at run time is not found: in
    `tools.github[name]` the code takes the whole group."""
    found: dict[tuple[str, str | None], None] = {}
    takes_all = False
    for match in _MENTION.finditer(code):
        first, second = match[1] or match[2] or match[3], match[4] or match[5] or match[6]
        if first is None:
            takes_all = True
        elif len(found) < MAX_MENTIONS:
            found[first, second] = None
    return Mentions(tuple(found), takes_all)


def words_of(code: str) -> frozenset[str]:
    """All words in the code that could be the name of a tool."""
    words: set[str] = set()
    for match in _WORD.finditer(code):
        words.add(match[0])
        if len(words) >= MAX_WORDS:
            break
    return frozenset(words)
