"""What code calls below `tools`, by its text alone. Pure."""

from __future__ import annotations

import re

MAX_MENTIONS = 50

# `tools.github.listCommits` and `tools["git-hub"]["list.commits"]`.
_NAME = r"([A-Za-z_$][\w$]{0,127})"
_QUOTED = r"""\[\s{0,9}(?:"([^"\\\n]{1,128})"|'([^'\\\n]{1,128})')\s{0,9}\]"""
_PART = rf"""\s{{0,99}}(?:\??\.\s{{0,99}}{_NAME}|(?:\?\.)?{_QUOTED})"""
_MENTION = re.compile(rf"\btools{_PART}(?:{_PART})?", re.ASCII)


def mentions(code: str) -> list[tuple[str, str | None]]:
    """Each `tools.<group>.<name>` of the code, in its order. A name that is put together while the code runs is not
    seen, and what it leads to is not lent."""
    found: dict[tuple[str, str | None], None] = {}
    for match in _MENTION.finditer(code):
        first, second = match[1] or match[2] or match[3], match[4] or match[5] or match[6]
        found[first, second] = None
        if len(found) >= MAX_MENTIONS:
            break
    return list(found)
