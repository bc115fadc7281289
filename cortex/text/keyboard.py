"""Reads a person's answer to a question at a terminal, ignoring what was typed before the question."""

from __future__ import annotations

import os
import select
import termios
from typing import TextIO

from .terminal import styled

READING_S = 0.7
"""A question is shown this long before it can be answered: shorter than any person needs to read it."""
_MAX_LINE_BYTES = 1_024


def is_person_there(keyboard: TextIO, screen: TextIO) -> bool:
    return keyboard.isatty() and screen.isatty()


def typed(words: str, keyboard: TextIO, screen: TextIO, reading_s: float = READING_S) -> str | None:
    """The line typed after the question was shown; None at Ctrl-D."""
    # Text typed before the question could be read cannot be its answer.
    select.select([], [], [], reading_s)
    termios.tcflush(keyboard, termios.TCIFLUSH)
    screen.write(styled(words, "bold", screen))
    screen.flush()
    data = os.read(keyboard.fileno(), _MAX_LINE_BYTES)
    if not data.endswith(b"\n"):
        screen.write("\n")
        screen.flush()
    return data.decode(errors="replace").strip() if data else None
