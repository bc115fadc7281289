"""An agent in a process of its own, to be killed: `python -m tests.cortex.commands.kill_agent HOME MODE`.

It says `running` once its executions are under way, what became of them when they are over, and then, for each line that
it is given, what becomes of one more of everything.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

from cortex import MotorCortex, Settings, Toolbox
from cortex.settings.sections import ExecuteSettings
from neurons import KillSwitch
from sandbox import DenoRuntime, ExecutionRequest, ResidentProgram, Running, SandboxSettings, SandboxUnavailable

SANDBOX = SandboxSettings(pool_size=1)
WAIT = "await tools.started({}); await new Promise(() => setInterval(() => 0, 1000))"
COUNT = "state.n = (state.n ?? 0) + 1; emit('counted', state.n)"


def say(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


async def next_line() -> str:
    return await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)


async def agent(home: Path, mode: str) -> None:
    toolbox = Toolbox()
    started: list[int] = []
    count = 2

    @toolbox.tool(name="started", for_model=False)
    async def note_start() -> None:
        """A run has begun."""
        started.append(1)
        if len(started) == count:
            say(event="running")
            while mode == "spinning" and not (home / "go").exists():
                pass

    @toolbox.tool(name="act")
    async def act() -> str:
        """Do something in the world."""
        return "acted"

    settings = Settings(home=home, sandbox=SANDBOX, execute=ExecuteSettings(max_timeout_isolated_ms=60_000))
    async with MotorCortex(settings, toolbox=toolbox) as cortex:

        async def call(name: str, arguments: dict[str, object], answers: list[str]) -> None:
            async with cortex.turn() as turn:
                answers.append(await turn.call(name, arguments))

        answers: list[str] = []
        if mode == "idle":
            say(event="running")
        else:
            async with anyio.create_task_group() as tasks:
                arguments = {"purpose": "x", "code": WAIT, "timeout": 60_000}
                for _ in range(count):
                    tasks.start_soon(call, "core.execute", arguments, answers)
            say(event="ended", answers=answers)
        while await next_line():
            answers = []
            await call("core.execute", {"purpose": "x", "code": "return 1"}, answers)
            await call("act", {}, answers)
            await call("core.consolidate", {}, answers)
            await call("core.say", {"text": "hello"}, answers)
            say(event="tried", answers=answers)


async def residents(home: Path) -> None:
    switch = KillSwitch(home / "state")
    async with (
        DenoRuntime(SANDBOX, running=Running(switch.running, switch.refusal)) as runtime,
        runtime.resident(ResidentProgram(code=COUNT, name="price-1")) as one,
        runtime.resident(ResidentProgram(code=COUNT, name="price-2")) as two,
    ):
        say(event="running")
        while await next_line():
            answers = []
            for resident in (one, two):
                try:
                    answers.append(str((await resident.handle([{}], {})).answers[0].ok))
                except SandboxUnavailable as error:
                    answers.append(str(error))
            say(event="tried", answers=answers)


async def busy(home: Path) -> None:
    """Runs something all the time, and keeps starting launchers."""
    switch = KillSwitch(home / "state")

    async def life() -> None:
        while True:
            with suppress(SandboxUnavailable):  # its launcher was killed while it opened
                await one_runtime()

    async def one_runtime() -> None:
        running = Running(switch.running, switch.refusal)
        async with DenoRuntime(SANDBOX, running=running) as runtime:
            with anyio.move_on_after(0.3), suppress(SandboxUnavailable):
                async with runtime.resident(ResidentProgram(code=COUNT, name="price-1")) as one:
                    while True:
                        await one.handle([{}], {})
                        await runtime.execute(ExecutionRequest(code="return 1"))

    say(event="running")
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(life)
        await next_line()
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    place, how = Path(sys.argv[1]), sys.argv[2]
    if how in {"residents", "busy"}:
        anyio.run(residents if how == "residents" else busy, place)
    else:
        anyio.run(agent, place, how)
