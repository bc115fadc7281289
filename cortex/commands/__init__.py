"""The command line: `cortex chat`, `cortex run`, `cortex energy` and the others.

Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 the code failed, 2 usage, 3 refused, 4 a
workflow waits, 130 interrupted.
"""

from __future__ import annotations

import gc
import sys

# Not imported from `typing`, which takes 15 ms: `cortex kill` raises its priority before any slow import.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

COLLECTED_AFTER = 50_000
"""New objects after which garbage is collected, instead of Python's 700."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `cortex` console script. Exits the process with one of the documented codes."""
    # Imports make a hundred thousand objects that stay. Looking through them for garbage takes as long as many of them.
    gc.set_threshold(COLLECTED_AFTER)
    sys.exit(run_command(sys.argv[1:] if arguments is None else arguments))


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Not called `run`: that is the module of the command `cortex run`."""
    if arguments[:1] == ["kill"]:
        # Raise our priority before the other imports: on a busy machine they take longer than the kill itself.
        from sandbox import go_first

        go_first()
    from .command_line import run_command as run

    return run(arguments)
