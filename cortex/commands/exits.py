"""The exit codes of the commands, and CommandError, the exception that ends a command with one of them."""

from __future__ import annotations

SUCCESS = 0
CODE_FAILED = 1
USAGE = 2
REFUSED = 3
WAITING = 4
"""A workflow goes on later: it waits for an answer or for energy."""
INTERRUPTED = 130


class CommandError(Exception):
    """An error that is printed to the person at the shell without a traceback."""

    def __init__(self, message: str, exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.exit_code = exit_code
