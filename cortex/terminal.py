"""What people see. Colour only where a terminal will show it, and nothing that a script printed may steer it."""

from __future__ import annotations

import os
import unicodedata
from typing import TextIO

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def styled(text: str, style: str, stream: TextIO) -> str:
    """The text in a style, if the stream is a terminal and nobody asked for none."""
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def visible(text: str) -> str:
    """The text with every character that could steer a terminal, or turn the reading direction, spelled out."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf"}
        else f"\\u{ord(character):04x}"
        for character in text
    )
