"""Texts inside of JSON have signs for line ends, quotes and other letters. Pure."""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"\\u([0-9a-fA-F]{4})")


def smooth(text: str) -> str:
    """The text of the same length without them, to look for values in: in `\\nann@example.com` the name is ann.

    Done for every text, because a result is often JSON that holds JSON. A path like `C:\\new` suffers, and only here.
    """
    if "\\" not in text:
        return text
    text = text.replace("\\n", "  ").replace('\\"', '""').replace("\\t", "  ").replace("\\r", "  ").replace("\\/", "//")
    return _NUMBERED.sub(_six, text) if "\\u" in text else text


def _six(match: re.Match[str]) -> str:
    """Six of the letter, for a letter; for a sign, the sign and blanks on its inner side, where a value may begin."""
    letter = chr(int(match[1], 16))
    return letter * 6 if letter.isalnum() else letter.rjust(6) if letter.isprintable() else " " * 6
