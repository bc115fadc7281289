"""What is logged while a command runs, as a person sees it: like other messages, and nothing in it steers a terminal.

Tools raise errors with texts that a model wrote, and Python would print those as they are.
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
    """Warnings and worse go to stderr, each below the name of the command."""
    lines = _Lines(command)
    # Also for what a thread that is left behind has to say at the very end.
    logging.lastResort = lines
    # First, so that a module of tools that sets up its own log does not print all of it once more as it is.
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
            # Set in: a line of a text must not look like one of ours.
            text = visible(_bounded(self.format(record))).replace("\n", "\n    ")
            print(f"cortex {self._command}: {text}", file=sys.stderr, flush=True)
        except Exception:  # noqa: BLE001 - who logs something is not the one to be told that it cannot be shown
            self.handleError(record)


def _bounded(text: str) -> str:
    """The beginning and the end: the last line of a traceback says most."""
    left_out = len(text) - 2 * _SHOWN_OF_EACH_END
    if left_out <= 0:
        return text
    return f"{text[:_SHOWN_OF_EACH_END]}\n… ({left_out} more characters left out)\n{text[-_SHOWN_OF_EACH_END:]}"
