"""From `cortex kill` to the death of the last process: five neurons and ten executions, in a host that lives and in one
that is stopped.

Run as a program it is that host.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from neurons import KillSwitch
from sandbox import DenoRuntime, ExecutionRequest, ResidentProgram, Running, SandboxSettings, SandboxUnavailable

from .measure import Row, p50
from .program import COMMAND, python

LIMIT_MS = 250
NEURONS, EXECUTIONS = 5, 10
COUNT = "state.n = (state.n ?? 0) + 1; emit('counted', state.n)"
WORK = "while (true) { for (let n = 0; n < 1e5; n++) Math.sqrt(n); await new Promise((go) => setTimeout(go, 10)); }"
TYPED_WHILE = {"the host lives": False, "the host is stopped": True}


async def kill(rounds: int, report: Callable[[Row], None]) -> None:
    for what, is_stopped in TYPED_WHILE.items():
        taken = [await anyio.to_thread.run_sync(killed_ms, is_stopped) for _ in range(max(3, rounds // 12))]
        report(Row(f"cortex kill, all dead; {what}", p50(taken), LIMIT_MS, "ms", 1.0, "limit"))


def killed_ms(is_stopped: bool) -> float:
    with tempfile.TemporaryDirectory() as home:
        host = subprocess.Popen([sys.executable, "-m", "benchmarks.kill", home], stdout=subprocess.PIPE, text=True)
        assert host.stdout is not None
        try:
            pids = [int(pid) for pid in host.stdout.readline().split()]
            if is_stopped:
                host.send_signal(signal.SIGSTOP)
            return until_dead_ms([*python(COMMAND), "kill", "--home", home], pids)
        finally:
            host.kill()
            host.wait()
            host.stdout.close()


def until_dead_ms(command: Sequence[str], pids: Sequence[int]) -> float:
    poll = select.poll()
    alive = {os.pidfd_open(pid) for pid in pids}
    for handle in alive:
        poll.register(handle, select.POLLIN)
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL):
        while alive:
            for handle, _ in poll.poll():
                poll.unregister(handle)
                alive.discard(handle)
                os.close(handle)
        return (time.perf_counter() - began) * 1000


async def host(home: Path) -> None:
    """Tells the numbers of its processes once all are at work."""
    switch = KillSwitch(home / "state")
    settings = SandboxSettings(pool_size=0)
    async with (
        DenoRuntime(settings, running=Running(switch.running, switch.refusal)) as runtime,
        anyio.create_task_group() as tasks,
    ):
        for n in range(NEURONS):
            tasks.start_soon(neuron, runtime, f"neuron-{n}")
        for _ in range(EXECUTIONS):
            tasks.start_soon(runtime.execute, ExecutionRequest(code=WORK, timeout_ms=300_000))
        while len(pids := below(os.getpid())) < 1 + NEURONS + EXECUTIONS:
            await anyio.sleep(0.05)
        await anyio.sleep(0.5)  # until the last of them has its code, too
        print(*pids, flush=True)
        await anyio.sleep_forever()


async def neuron(runtime: DenoRuntime, name: str) -> None:
    state: dict[str, object] = {}
    try:
        async with runtime.resident(ResidentProgram(code=COUNT, name=name)) as resident:
            while True:
                state = (await resident.handle([{}] * 16, state)).state
                await anyio.sleep(0.02)
    except SandboxUnavailable:
        pass  # which is what is measured


def below(pid: int) -> list[int]:
    found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found + [one for child in found for one in below(child)]


if __name__ == "__main__":
    anyio.run(host, Path(sys.argv[1]))
