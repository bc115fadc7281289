"""The process that parses agent code for `CodeReader`: a parse that takes too long ends this process and nothing else.

Started as a plain file, without the package around it. Its arguments are a folder, a module in it and a function of
that module. It says `ready`, then answers each request (four bytes of length, then the code in UTF-8) with one line of
JSON: what the function returns for the code.
"""

from __future__ import annotations

import gc
import importlib
import json
import resource
import signal
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

MAX_PARSE_S = 0.25
MAX_MEMORY_BYTES = 512 * 1024 * 1024


def main(folder: str, module: str, function: str) -> None:
    # The parent may ignore or block SIGPROF, and this process inherits that: then no timer would end a parse.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
    # Hostile code can make the parser use up memory as well as time.
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    look = _function(folder, module, function)
    look("0")  # loads the grammar, so that the first request does not pay for it
    # Collect garbage only between two requests, when no caller waits, and only what the last request left.
    gc.freeze()
    gc.disable()
    _say("ready")
    while len(header := sys.stdin.buffer.read(4)) == 4:
        code = sys.stdin.buffer.read(int.from_bytes(header, "big"))
        _say(json.dumps(_answer(look, code.decode())))
        gc.collect()


def _function(folder: str, module: str, name: str) -> Callable[[str], Any]:
    """Import the function. The module and its neighbours become a package without their `__init__.py`, which would load
    much else. Not via `sys.path`: there a file of the folder could shadow a module that the parser imports."""
    package = ModuleType("read_here")
    package.__path__ = [folder]
    sys.modules[package.__name__] = package
    found: Callable[[str], Any] = getattr(importlib.import_module(f"{package.__name__}.{module}"), name)
    return found


def _answer(look: Callable[[str], Any], code: str) -> Any:
    # The kernel enforces the limit, not the host: if the host were gone, this process would spin for ever. It counts
    # CPU time: on a busy machine, harmless code must not be taken for code that cannot be parsed.
    signal.setitimer(signal.ITIMER_PROF, MAX_PARSE_S)
    try:
        return look(code)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
