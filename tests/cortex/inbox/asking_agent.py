"""An agent in a process of its own that needs consent: `python -m tests.cortex.inbox.asking_agent HOME [SECONDS]`.

Each line that it is given is a list of calls of `shop.order`, as JSON, made at the same time; it says what became of
them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import anyio.to_thread

from cortex import MotorCortex, Settings, Toolbox
from cortex.settings import InboxSettings, ToolSettings
from cortex.turn import Turn
from sandbox.testing import ScriptedRuntime


async def main(home: Path, seconds: float) -> None:
    toolbox = Toolbox()

    @toolbox.tool(name="shop.order", policy="ask")
    async def order(item: str, note: str = "") -> str:
        """Order something."""
        with (home / "ordered").open("a") as file:
            file.write(f"{item}\n")
        return f"ordered {item}"

    settings = Settings(home=home, inbox=InboxSettings(unattended=True), tools=ToolSettings(owner_timeout_s=seconds))
    async with MotorCortex(settings, toolbox=toolbox, runtime=ScriptedRuntime([])) as cortex:
        print("ready", flush=True)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            calls = json.loads(line)
            answers: dict[int, str] = {}

            async def call(turn: Turn, number: int, arguments: dict[str, str], answers: dict[int, str]) -> None:
                answers[number] = await turn.call("shop_order", arguments)

            async with cortex.turn() as turn, anyio.create_task_group() as tasks:
                for number, arguments in enumerate(calls):
                    tasks.start_soon(call, turn, number, arguments, answers)
            print(json.dumps([answers[number] for number in sorted(answers)]), flush=True)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 60.0)
