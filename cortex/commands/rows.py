"""What tables of several commands have in common: how wide they are, and in which colours."""

from __future__ import annotations

import sys
from collections.abc import Callable

from cortex.text import styled, terminal_columns

Paint = Callable[[str, str], str]
"""A text in a style of the terminal, or as it is where there are no styles."""

POLICY_STYLES = {"allow": "green", "ask": "yellow", "deny": "red"}

# A file or a pipe has no edge, but a line has.
_PLAIN_WIDTH = 160


def width() -> int:
    return terminal_columns(sys.stdout) if sys.stdout.isatty() else _PLAIN_WIDTH


def paint(text: str, style: str) -> str:
    return styled(text, style, sys.stdout)
