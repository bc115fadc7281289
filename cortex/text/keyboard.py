"""What a person types at a terminal in answer to a question, and nothing that was typed before it."""

from __future__ import annotations

import os
import select
import termios
from typing import TextIO

from .terminal import styled

READING_S = 0.7
"""So long a question is there before it can be answered: shorter than anybody reads one."""
_MAX_LINE_BYTES = 1_024


def is_somebody_there(keyboard: TextIO, screen: TextIO) -> bool:
    return keyboard.isatty() and screen.isatty()


def typed(words: str, keyboard: TextIO, screen: TextIO, reading_s: float = READING_S) -> str | None:
    """The line that is typed after the words were there; None at Ctrl-D."""
    # What was typed before anybody could have read the question cannot be its answer.
    select.select([], [], [], reading_s)
    termios.tcflush(keyboard, termios.TCIFLUSH)
    screen.write(styled(words, "bold", screen))
    screen.flush()
    data = os.read(keyboard.fileno(), _MAX_LINE_BYTES)
    if not data.endswith(b"\n"):
        screen.write("\n")
        screen.flush()
    return data.decode(errors="replace").strip() if data else None
