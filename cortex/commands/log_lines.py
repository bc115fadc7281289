"""Print log records to stderr while a command runs, with control characters made visible.

Tools raise errors with texts that a model wrote, and Python's own logging would print those unescaped.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cortex.text import visible

_SHOWN_OF_EACH_END = 5_000


@contextmanager
def log_lines(command: str) -> Iterator[None]:
    """Print warnings and errors to stderr, each behind the name of the command."""
    lines = _Lines(command)
    # Also used by a thread that outlives the command and logs at the very end.
    logging.lastResort = lines
    # Added first, so a basicConfig() call in a tool module has no effect and cannot print records unescaped.
    logging.getLogger().addHandler(lines)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(lines)


class _Lines(logging.Handler):
    def __init__(self, command: str) -> None:
        super().__init__(logging.WARNING)
        self._command = command

    def emit(self, record: logging.LogRecord) -> None:
        try:
            # Indented: a line of the text must not look like a line of ours.
            text = visible(_bounded(self.format(record))).replace("\n", "\n    ")
            print(f"cortex {self._command}: {text}", file=sys.stderr, flush=True)
        except Exception:  # noqa: BLE001 - a failure to print must not reach the code that logs
            self.handleError(record)


def _bounded(text: str) -> str:
    """Keep the beginning and the end: the last line of a traceback says most."""
    left_out = len(text) - 2 * _SHOWN_OF_EACH_END
    if left_out <= 0:
        return text
    return f"{text[:_SHOWN_OF_EACH_END]}\n… ({left_out} more characters left out)\n{text[-_SHOWN_OF_EACH_END:]}"
