"""Starts and kills the processes of the runs. What is the host's own is in `children.py`.

A `Spawner` gives `WorkerProcess`es: three pipes and an exit. `ForkServer` does it through the launcher, where the
system has what that needs; `PlainSpawner` does it directly and can promise less.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import anyio
import anyio.abc
import anyio.to_thread

from ..contracts import SandboxUnavailable
from ..jail import Layer, Wall
from .children import CLOSING_TIMEOUT_S, Three, open_pipes
from .command import Command
from .process_notes import NOT_NOTED, Running


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process ended: its exit code, or the negative number of the signal that killed it."""

    status: int
    peak_memory_mb: float = 0.0
    cpu_s: float = 0.0


@dataclass(eq=False, slots=True)
class WorkerProcess:
    """One Deno process and this side of its pipes."""

    id: int
    stdin: int
    stdout: int
    stderr: int
    pid: int | None = None
    started: anyio.Event = field(default_factory=anyio.Event)
    """That `pid` is known, or never will be."""
    exit: ProcessExit | None = None
    exited: anyio.Event = field(default_factory=anyio.Event)
    memory_limited: bool | None = None
    limited: anyio.Event = field(default_factory=anyio.Event)
    on_exit: Callable[[], None] = lambda: None

    def close_pipes(self) -> None:
        for name in ("stdin", "stdout", "stderr"):
            descriptor = getattr(self, name)
            if descriptor >= 0:
                setattr(self, name, -1)
                os.close(descriptor)

    def note_exit(self, exit_: ProcessExit) -> None:
        if self.exit is None:
            self.exit = exit_
            self.started.set()
            self.limited.set()
            self.exited.set()
            self.on_exit()


class Spawner(Protocol):
    """Starts the processes of one runtime, and answers for their end."""

    harness: bytes
    """What each of its processes has to be sent first."""

    async def wall(self) -> Wall:
        """The layers that its processes are behind. Raises SandboxUnavailable when none can be started."""
        ...

    async def start(self) -> WorkerProcess: ...

    def kill(self, process: WorkerProcess) -> None:
        """Kill the process and all that it started. Returns at once; `exited` tells when it is gone."""
        ...

    def kill_all(self) -> None:
        """Kill all that it has started, and all that those have. Waits for no event loop."""
        ...

    async def limit_memory(self, process: WorkerProcess, max_bytes: int) -> bool:
        """Hold the process to so much more memory than it has now; False where the system cannot."""
        ...

    async def aclose(self) -> None:
        """Kill whatever is left and wait until it is gone."""
        ...


class PlainSpawner:
    """Starts Deno as a child of the host. No exact memory limit, and a host that is killed by force leaves a
    process that spins to go on until it is done: both are reported by `cortex doctor`."""

    def __init__(self, command: Command, tasks: anyio.abc.TaskGroup, running: Running = NOT_NOTED) -> None:
        self.harness = command.harness
        self._command = command
        self._tasks = tasks
        self._running = running
        self._last_id = 0
        self._is_closed = False
        # A thread waits for each process; the shared limit would let forty of them starve all other thread work.
        self._waiters = anyio.CapacityLimiter(math.inf)
        self._alive: dict[int, tuple[WorkerProcess, subprocess.Popen[bytes]]] = {}

    async def wall(self) -> Wall:
        absent = dict.fromkeys(Layer, "this system cannot run the launcher, which builds it")
        del absent[Layer.SESSION]
        return Wall((Layer.SESSION,), absent)

    async def start(self) -> WorkerProcess:
        if self._is_closed:  # nobody would kill it
            raise SandboxUnavailable("Cannot start Deno: the runtime is closed")
        self._last_id += 1
        own_id = self._last_id  # another start may come while this one waits
        with open_pipes() as (ours, theirs):
            child = await anyio.to_thread.run_sync(self._popen, theirs)
            try:
                self._running.note(child.pid)
            except SandboxUnavailable:
                _kill_group(child.pid)
                await anyio.to_thread.run_sync(child.wait)
                raise
            process = WorkerProcess(own_id, *ours, pid=child.pid)
        self._alive[process.id] = (process, child)
        self._tasks.start_soon(self._watch, process, child)
        return process

    def kill(self, process: WorkerProcess) -> None:
        entry = self._alive.get(process.id)
        if entry is not None and entry[1].returncode is None:
            _kill_group(entry[1].pid)

    def kill_all(self) -> None:
        for process, _ in list(self._alive.values()):
            self.kill(process)

    async def limit_memory(self, process: WorkerProcess, max_bytes: int) -> bool:  # noqa: ARG002 - it cannot
        return False

    async def aclose(self) -> None:
        self._is_closed = True
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_TIMEOUT_S):
            for process, _ in list(self._alive.values()):
                self.kill(process)
            for process, _ in list(self._alive.values()):
                await process.exited.wait()

    def _popen(self, theirs: Three) -> subprocess.Popen[bytes]:
        self._running.check()
        try:
            return subprocess.Popen(
                self._command.argv,
                executable=self._command.binary,
                env=dict(self._command.environment),
                stdin=theirs[0],
                stdout=theirs[1],
                stderr=theirs[2],
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxUnavailable(f"Cannot start Deno: {error}") from error

    async def _watch(self, process: WorkerProcess, child: subprocess.Popen[bytes]) -> None:
        with anyio.CancelScope(shield=True):
            status = await anyio.to_thread.run_sync(child.wait, limiter=self._waiters)
        del self._alive[process.id]
        self._running.forget(child.pid)
        process.note_exit(ProcessExit(status))


def _kill_group(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
