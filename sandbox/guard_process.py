"""The process in which the guard parses: a parse that takes too long ends this process and nothing else.

Started as a plain file, without the package around it. It says `ready`, and then answers each request (four bytes
of length, then the code in UTF-8) with one line of JSON: the name, line and column of each finding.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .guard_patterns import inspect
else:
    # At the end of the path: a file of this folder must not stand in for a module that the parser imports.
    sys.path.append(str(Path(__file__).resolve().parent))
    from guard_patterns import inspect

MAX_PARSE_S = 0.25
MAX_MEMORY_BYTES = 512 * 1024 * 1024


def main() -> None:
    # The one who started this may have SIGALRM ignored or blocked, and then no clock would end a parse.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    # Hostile code can make the parser take memory as well as time.
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    inspect("0")  # loads the grammar, so that the first request does not pay for it
    _say("ready")
    while len(header := sys.stdin.buffer.read(4)) == 4:
        code = sys.stdin.buffer.read(int.from_bytes(header, "big"))
        _say(json.dumps(_answer(code.decode())))


def _answer(code: str) -> list[tuple[str, int, int]]:
    # By the kernel, not by the host: the host may be gone, and this process would spin for ever.
    signal.setitimer(signal.ITIMER_REAL, MAX_PARSE_S)
    try:
        return [(finding.pattern, finding.line, finding.column) for finding in inspect(code)]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
