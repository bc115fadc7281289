"""The width and the colours of the tables that several commands print."""

from __future__ import annotations

import sys
from collections.abc import Callable

from cortex.text import styled, terminal_columns

Paint = Callable[[str, str], str]
"""Takes a text and a style; returns the text styled for the terminal, or unchanged where there are no styles."""

POLICY_STYLES = {"allow": "green", "ask": "yellow", "deny": "red"}

LEAST_TEXT = 40
"""With fewer columns than this left for the text, each row of a table becomes a few lines."""

# The width of a table in a file or a pipe, which have no width of their own.
_PLAIN_WIDTH = 160


def width() -> int:
    return terminal_columns(sys.stdout) if sys.stdout.isatty() else _PLAIN_WIDTH


def paint(text: str, style: str) -> str:
    return styled(text, style, sys.stdout)
