"""Commits to a store again and again, each time in a child that is killed one line of Python later than the one before.

`python -m tests.cortex.home.dying_writer HOME` prints for each child the values that are on disk after it, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from cortex.home import Home, HomeFiles, Stores
from cortex.settings import StoreSettings

KEYS = 50


def opened(home: Path) -> Stores:
    return Stores(HomeFiles(Home(home)).storage(), StoreSettings())


def die_at(line: int) -> None:
    """Kill this process when it comes to the given line, counted over all modules."""
    left = line

    def trace(*_: object) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def main(home: Path) -> None:
    line = 0
    while True:
        child = os.fork()
        if not child:
            stores = opened(home)
            die_at(line)
            stores.apply("a", {f"k{number}": str(line).encode() for number in range(KEYS)})
            sys.settrace(None)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        stores = opened(home)
        found = stores.find("a")
        stores.close()
        values = [] if found is None else sorted({int(value) for value in found.values.values()})
        print(json.dumps([line, values, 0 if found is None else len(found.values)]), flush=True)
        if status == 0:
            return
        line += 1 if line < 40 else 7


if __name__ == "__main__":
    main(Path(sys.argv[1]))
