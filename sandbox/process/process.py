"""Starts and kills the Deno processes of the runs. (`children.py` starts the host's own Python processes.)

A `Spawner` gives `WorkerProcess`es: three pipes and an exit. `ForkServer` starts them through the launcher, where the
system supports it; `PlainSpawner` starts them directly and can promise less.
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

from ..contracts import SandboxUnavailable, to_the_end
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
    """Set when `pid` is known, or never will be."""
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
    """Starts the processes of one runtime, and makes sure that they end."""

    harness: bytes
    """The caller must send this to each process first."""

    async def wall(self) -> Wall:
        """The layers that its processes run behind. Raises SandboxUnavailable when it cannot start any."""
        ...

    async def start(self) -> WorkerProcess: ...

    def kill(self, process: WorkerProcess) -> None:
        """Kill the process and all that it started. Returns at once; `exited` tells when it is gone."""
        ...

    def kill_all(self) -> None:
        """Kill every process it has started, with all their descendants. Works without the event loop."""
        ...

    async def limit_memory(self, process: WorkerProcess, max_bytes: int) -> bool:
        """Limit the process to at most `max_bytes` more memory than it has now; False where the system cannot."""
        ...

    async def aclose(self) -> None:
        """Kill all remaining processes and wait until they are gone."""
        ...


class PlainSpawner:
    """Starts Deno as a child of the host. It has no exact memory limit, and when the host is killed by force, code in a
    busy loop runs on until it is done. `cortex doctor` reports both."""

    def __init__(self, command: Command, tasks: anyio.abc.TaskGroup, running: Running = NOT_NOTED) -> None:
        self.harness = command.harness
        self._command = command
        self._tasks = tasks
        self._running = running
        self._last_id = 0
        self._is_closed = False
        # One thread waits for each process; under anyio's shared limit, forty of them would starve all other threads.
        self._waiters = anyio.CapacityLimiter(math.inf)
        self._alive: dict[int, tuple[WorkerProcess, subprocess.Popen[bytes]]] = {}

    async def wall(self) -> Wall:
        absent = dict.fromkeys(Layer, "this system cannot run the launcher, which builds it")
        del absent[Layer.SESSION]
        return Wall((Layer.SESSION,), absent)

    async def start(self) -> WorkerProcess:
        if self._is_closed:  # nothing would kill the process any more
            raise SandboxUnavailable("Cannot start Deno: the runtime is closed")
        self._last_id += 1
        own_id = self._last_id  # another start may come while this one waits
        children: list[subprocess.Popen[bytes]] = []
        with open_pipes() as (ours, theirs):
            try:
                # Wait for the thread even if cancelled: left alone, it would start a process that is not noted, on
                # pipes that are closed by then.
                await to_the_end(lambda: children.append(self._popen(theirs)))
                (child,) = children
                self._running.note(child.pid)
            except BaseException:
                for child in children:
                    _kill_group(child.pid)
                    child.wait()  # without an await, which may be cancelled again: a killed process is gone in a moment
                    self._running.forget(child.pid)
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
