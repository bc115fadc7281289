"""Benchmark of `cortex kill`: the time until the last process is dead. Five neurons and ten executions that wait or
spin, in a host that runs or is stopped (SIGSTOP), on a machine that is otherwise idle or has both cores busy.

Run as a program, this module is that host.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread

from neurons import KillSwitch
from sandbox import DenoRuntime, ExecutionRequest, ResidentProgram, Running, SandboxSettings, SandboxUnavailable

from .measure import Report, Row, descendants, p50
from .program import COMMAND, python

LIMIT_MS, WORST_MS = 250, 500
NEURONS, EXECUTIONS = 5, 10
COUNT = "state.n = (state.n ?? 0) + 1; emit('counted', state.n)"
WORK = {
    "wait": "for (;;) { for (let n = 0; n < 1e5; n++) Math.sqrt(n); await new Promise((go) => setTimeout(go, 10)); }",
    "spin": "while (true) {}",
}


class Case(NamedTuple):
    work: str
    is_stopped: bool = False
    is_busy: bool = False

    def __str__(self) -> str:
        host = ", host stopped" if self.is_stopped else ""
        return f"executions {self.work}{host}{', cores busy' if self.is_busy else ''}"


CASES = (Case("wait"), Case("wait", is_stopped=True), Case("spin"), Case("spin", True), Case("spin", is_busy=True))


async def kill(rounds: int, report: Report) -> None:
    for case in CASES:
        taken = [await anyio.to_thread.run_sync(killed_ms, case) for _ in range(max(3, rounds // 12))]
        report(Row(f"cortex kill; {case}", p50(taken), LIMIT_MS, "ms", 1.0, "limit"))
        report(Row("  the slowest of them", max(taken), WORST_MS, "ms", 1.0, "limit"))


def killed_ms(case: Case) -> float:
    with tempfile.TemporaryDirectory() as home, other_work() if case.is_busy else nullcontext():
        command = [sys.executable, "-m", "benchmarks.kill", home, case.work]
        host = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert host.stdout is not None
        try:
            pids = [int(pid) for pid in host.stdout.readline().split()]
            if case.is_stopped:
                host.send_signal(signal.SIGSTOP)
            return until_dead_ms([*python(COMMAND), "kill", "--home", home], pids)
        finally:
            host.kill()
            host.wait()
            host.stdout.close()


@contextmanager
def other_work() -> Iterator[None]:
    """Keep all cores busy: one program for each core, in a session of its own, as if from other terminals."""
    command = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(command, start_new_session=True) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for one in programs:
            one.kill()
            one.wait()


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


async def host(home: Path, work: str) -> None:
    """Start neurons and executions; print their process ids once all are at work."""
    switch = KillSwitch(home / "state")
    settings = SandboxSettings(pool_size=0)
    async with (
        DenoRuntime(settings, running=Running(switch.running, switch.refusal)) as runtime,
        anyio.create_task_group() as tasks,
    ):
        for n in range(NEURONS):
            tasks.start_soon(neuron, runtime, f"neuron-{n}")
        for _ in range(EXECUTIONS):
            tasks.start_soon(runtime.execute, ExecutionRequest(code=work, timeout_ms=300_000))
        while len(pids := descendants(os.getpid())) < 1 + NEURONS + EXECUTIONS:
            await anyio.sleep(0.05)
        await anyio.sleep(0.5)  # until the last process has its code
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
        pass  # killed, as intended


if __name__ == "__main__":
    anyio.run(host, Path(sys.argv[1]), WORK[sys.argv[2]])
