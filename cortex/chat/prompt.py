"""Read a line from the person at the terminal, with editing and history where Python has readline."""

from __future__ import annotations

from typing import TextIO

from cortex.text import has_colour

from .line_history import LineHistory

try:
    import readline
except ImportError:  # pragma: no cover - a Python that was built without it
    readline = None  # type: ignore[assignment]

_WORDS = "you> "


class Prompt:
    def __init__(self, history: LineHistory, screen: TextIO) -> None:
        self._history = history
        self._is_reading = False
        # readline does not count what stands between \001 and \002 as columns.
        self._words = f"\001\x1b[1m\002{_WORDS}\001\x1b[0m\002" if readline and has_colour(screen) else _WORDS
        if readline is not None:
            readline.clear_history()
            for line in history.lines():
                readline.add_history(line)

    def read(self) -> str:
        """Read one line. Raises EOFError, KeyboardInterrupt, and UnicodeDecodeError."""
        self._is_reading = True
        try:
            line = input(self._words)
        finally:
            # Cleared at once: from here on a nudge must not discard the line.
            self._is_reading = False
        if line.strip():
            self._history.add(line)
        return line

    def is_idle(self) -> bool:
        """Whether the person has typed nothing yet, as far as readline can tell."""
        return self._is_reading and (readline is None or not readline.get_line_buffer())
