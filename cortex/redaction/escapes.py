"""Hides JSON escapes (line ends, quotes, \\u) from the search for values. Pure."""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"\\u([0-9a-fA-F]{4})")


def smooth(text: str) -> str:
    """The text with escapes replaced, at the same length, for searching: in `\\nann@example.com` the name is ann.

    Done for every text, because a result is often JSON that contains JSON. A path like `C:\\new` is distorted, but only
    for the search.
    """
    if "\\" not in text:
        return text
    text = text.replace("\\n", "  ").replace('\\"', '""').replace("\\t", "  ").replace("\\r", "  ").replace("\\/", "//")
    return _NUMBERED.sub(_six, text) if "\\u" in text else text


def _six(match: re.Match[str]) -> str:
    """Six characters for an escape: a letter repeated; for a sign, blanks and then the sign, because a value may
    follow."""
    letter = chr(int(match[1], 16))
    return letter * 6 if letter.isalnum() else letter.rjust(6) if letter.isprintable() else " " * 6
