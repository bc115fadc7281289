"""The process in which code is parsed: a parse that takes too long ends this process and nothing else.

Started as a plain file, without the package around it, with a folder, a module of it and a function of that. It says
`ready`, and then answers each request (four bytes of length, then the code in UTF-8) with one line of JSON: what the
function makes of the code.
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
    # The one who started this may have SIGPROF ignored or blocked, and then no clock would end a parse.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
    # Hostile code can make the parser take memory as well as time.
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    look = _function(folder, module, function)
    look("0")  # loads the grammar, so that the first request does not pay for it
    # Between two requests, and only what the last one has left: nobody waits for it then.
    gc.freeze()
    gc.disable()
    _say("ready")
    while len(header := sys.stdin.buffer.read(4)) == 4:
        code = sys.stdin.buffer.read(int.from_bytes(header, "big"))
        _say(json.dumps(_answer(look, code.decode())))
        gc.collect()


def _function(folder: str, module: str, name: str) -> Callable[[str], Any]:
    """The module and its neighbours, as a package without the door of theirs, which would load much else. Not through
    the path: there a file of the folder could stand in for a module that the parser imports."""
    package = ModuleType("read_here")
    package.__path__ = [folder]
    sys.modules[package.__name__] = package
    found: Callable[[str], Any] = getattr(importlib.import_module(f"{package.__name__}.{module}"), name)
    return found


def _answer(look: Callable[[str], Any], code: str) -> Any:
    # By the kernel, not by the host: the host may be gone, and this process would spin for ever. It counts what the
    # parse takes of a processor: on a busy machine, harmless code must not be taken for code that cannot be read.
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
