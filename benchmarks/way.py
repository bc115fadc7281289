"""How far a call travels through the code: files of this project, and changes from one file to another.

    python -m benchmarks.way

A newcomer who follows one call opens this many files and jumps this often. Counted with `sys.setprofile`, once
everything is warm: in the thread of the event loop, and for a consolidation, whose work is on disk, in its worker
threads too. Printed, and judged by nobody. The first `core.execute` is answered from the cache by then; the second is
run each time.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import anyio

from cortex import MotorCortex, Settings, Toolbox

ROOT = str(Path(__file__).resolve().parent.parent)
PACKAGES = tuple(f"{ROOT}/{name}/" for name in ("sandbox", "neurons", "cortex"))
SERVER = {"command": sys.executable, "args": ["-m", "examples.servers.ticket_desk"], "cwd": ROOT}
WARM_UP = 2
QUIET_S = 0.5
"""Until the pool is filled again, and nothing else is under way."""
BOUND_S = 60


class Way:
    """The files that a piece of work passes through, in order, in each thread."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.files: set[str] = set()
        self.changes = 0
        self._last: dict[int, str] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(PACKAGES):
            return
        thread = threading.get_ident()
        self.changes += file != self._last.get(thread)
        self.files.add(file)
        self._last[thread] = file


async def walked(name: str, work: Callable[[], Awaitable[Any]], *, in_threads: bool = False) -> None:
    way = Way()
    if in_threads:
        threading.setprofile(way)  # for the worker threads, which the warm-up starts
    for _ in range(WARM_UP):
        await work()
    await anyio.sleep(QUIET_S)
    way.begin()
    sys.setprofile(way)
    try:
        await work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    print(f"{name:44}{len(way.files):8}{way.changes:18}")


@asynccontextmanager
async def opened(toolbox: Toolbox | None = None, **settings: Any) -> AsyncIterator[MotorCortex]:
    with tempfile.TemporaryDirectory(prefix="motor-cortex-way-", dir=Path.cwd()) as home:
        async with MotorCortex(Settings(home=Path(home), **settings), toolbox=toolbox, channels=()) as cortex:
            yield cortex


async def called(cortex: MotorCortex, tool: str, /, **arguments: Any) -> None:
    async with cortex.turn() as turn:
        text = await turn.call(tool, {"purpose": "way", **arguments})
    assert not text.startswith("EXECUTION_"), text


async def executions() -> None:
    toolbox, numbers = Toolbox(), count()

    @toolbox.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    async with opened(toolbox) as cortex:
        for name, code in (
            ("core.execute: return 1 + 1", lambda: "return 1 + 1"),
            ("core.execute: code that is not in the cache", lambda: f"return 1 + {next(numbers)}"),
            ("core.execute: one tool called from code", lambda: "return await tools.add({ a: 1, b: 1 })"),
        ):
            cortex.energy.set(1.0)
            await walked(name, lambda code=code: called(cortex, "core.execute", code=code()))


async def mcp_call() -> None:
    async with opened(mcpServers={"desk": SERVER}) as cortex:
        code = 'return (await tools.desk.get_ticket({ id: "T-017" })).id'
        await walked("core.execute: one MCP tool called from code", lambda: called(cortex, "core.execute", code=code))


async def consolidation() -> None:
    """A script that came back becomes a neuron that waits for its owner: proposed, tried in quarantine, asked about."""
    numbers = count(1)
    async with opened() as cortex:
        for name in ("a", "b", "c"):
            await called(cortex, "core.execute", code=f"const {name} = [3, 1, 2]; return {name}.sort().join();")
        with anyio.fail_after(BOUND_S):
            while not (habits := cortex.learning.habits.all()):
                await anyio.sleep(0.05)

        async def consolidate() -> None:
            number = next(numbers)
            await called(
                cortex,
                "core.consolidate",
                name=f"Sorter{number}",
                code=f"emit('sorted', {{ by: {number}, text: [3, 1, {number}].sort().join() }});",
                inputSignals=["door_opened"],
                outputSignals=["sorted"],
                energyBudget=0.05,
                habit=habits[0].id,
            )
            with anyio.fail_after(BOUND_S):
                while cortex.learning.pipeline.quarantined():
                    await anyio.sleep(0.5)
            assert len(cortex.learning.pipeline.pending()) == number

        await walked("core.consolidate, to the owner's question", consolidate, in_threads=True)


def main() -> None:
    print(f"{'one warm call':44}{'files':>8}{'changes of file':>18}")
    for part in (executions, mcp_call, consolidation):
        anyio.run(part)


if __name__ == "__main__":
    main()
