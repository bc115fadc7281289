"""How far a call travels through the code: files of this project, and changes from one file to another.

    python -m benchmarks.way

A newcomer who follows one `core.execute` opens this many files and jumps this often. Counted with `sys.setprofile` in
the thread of the event loop, once everything is warm; printed, and judged by nobody.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import anyio

from cortex import MotorCortex, Settings, Toolbox

ROOT = str(Path(__file__).resolve().parent.parent)
PACKAGES = tuple(f"{ROOT}/{name}/" for name in ("sandbox", "neurons", "cortex"))
WARM_UP = 2


class Way:
    """The files that a piece of work passes through, in order."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.changes = 0
        self._last = ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(PACKAGES):
            return
        file = frame.f_code.co_filename
        self.changes += file != self._last
        self.files.add(file)
        self._last = file


async def walked(work: Callable[[], Awaitable[Any]]) -> Way:
    for _ in range(WARM_UP):
        await work()
    way = Way()
    sys.setprofile(way)
    try:
        await work()
    finally:
        sys.setprofile(None)
    return way


async def main() -> None:
    toolbox = Toolbox()

    @toolbox.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    with tempfile.TemporaryDirectory() as home:
        async with MotorCortex(Settings(home=Path(home)), toolbox=toolbox) as cortex:
            await anyio.sleep(0.5)  # the pool is filled, and nothing else is under way

            async def execute(code: str) -> None:
                async with cortex.turn() as turn:
                    await turn.call("core.execute", {"purpose": "way", "code": code})

            print(f"{'one warm call':40}{'files':>8}{'changes of file':>18}")
            for name, code in (
                ("core.execute: return 1 + 1", "return 1 + 1"),
                ("core.execute: one tool called from code", "return await tools.add({ a: 1, b: 1 })"),
            ):
                cortex.energy.set(1.0)
                way = await walked(lambda code=code: execute(code))
                print(f"{name:40}{len(way.files):8}{way.changes:18}")


if __name__ == "__main__":
    anyio.run(main)
