"""Starts and kills processes: no other file does.

`ForkServer` does it through `launcher.py`, where the system has what that needs; `PlainSpawner` does it directly
and can promise less. Both give a `WorkerProcess`: three pipes and an exit.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import anyio
import anyio.abc
import anyio.to_thread

from .command import Command
from .errors import SandboxUnavailable

# As large as an unprivileged process may ask for: a megabyte of context in one write instead of sixteen.
PIPE_BYTES = 1024 * 1024
CLOSING_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process ended: its exit code, or the negative number of the signal that killed it."""

    status: int
    peak_memory_mb: float = 0.0
    cpu_ms: float = 0.0


@dataclass(eq=False, slots=True)
class WorkerProcess:
    """One Deno process and this side of its pipes."""

    id: int
    stdin: int
    stdout: int
    stderr: int
    pid: int | None = None
    exit: ProcessExit | None = None
    exited: anyio.Event = field(default_factory=anyio.Event)
    memory_limited: bool | None = None
    _limited: anyio.Event = field(default_factory=anyio.Event)
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
            self._limited.set()
            self.exited.set()
            self.on_exit()


class Spawner(Protocol):
    """Starts the processes of one runtime, and answers for their end."""

    harness: bytes
    """What each of its processes has to be sent first."""

    async def start(self) -> WorkerProcess: ...

    def kill(self, process: WorkerProcess) -> None:
        """Kill the process and all that it started. Returns at once; `exited` tells when it is gone."""
        ...

    async def limit_memory(self, process: WorkerProcess, max_bytes: int) -> bool:
        """Hold the process to so much more memory than it has now; False where the system cannot."""
        ...

    async def aclose(self) -> None:
        """Kill whatever is left and wait until it is gone."""
        ...


def make_spawner(command: Command, tasks: anyio.abc.TaskGroup) -> Spawner:
    """The best spawner that this system can carry."""
    return ForkServer(command, tasks) if can_fork_serve() else PlainSpawner(command, tasks)


def can_fork_serve() -> bool:
    has_calls = hasattr(os, "pidfd_open") and hasattr(socket, "SOCK_SEQPACKET")
    return has_calls and bool(sys.executable) and Path("/proc/self/status").exists()


@contextlib.contextmanager
def _pipes(number: int) -> Iterator[tuple[WorkerProcess, tuple[int, int, int]]]:
    """Three pipes: this side in a WorkerProcess, that side as descriptors which are closed at the end."""
    opened: list[int] = []
    try:
        for _ in range(3):
            opened.extend(os.pipe())
        their_in, our_in, our_out, their_out, our_err, their_err = opened
        for descriptor in (our_in, our_out, our_err):
            os.set_blocking(descriptor, False)
        for descriptor in (our_in, our_out):
            with contextlib.suppress(OSError, AttributeError):  # smaller pipes work too, only slower
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        yield WorkerProcess(number, our_in, our_out, our_err), (their_in, their_out, their_err)
    except BaseException:
        for descriptor in opened:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        raise
    for descriptor in (their_in, their_out, their_err):
        os.close(descriptor)


class ForkServer:
    """Asks `launcher.py` for each process; starts another launcher should that one die."""

    def __init__(self, command: Command, tasks: anyio.abc.TaskGroup) -> None:
        self.harness = command.harness
        self._command = command
        self._tasks = tasks
        self._launcher: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._last_id = 0
        self._alive: dict[int, WorkerProcess] = {}

    async def start(self) -> WorkerProcess:
        server = self._socket or self._start_launcher()
        try:
            return await self._start(server)
        except SandboxUnavailable:
            # It died, and nobody had noticed yet. Once: a launcher that cannot live is not started for ever.
            if server is self._socket:
                self._lose_launcher()
            return await self._start(self._socket or self._start_launcher())

    async def _start(self, server: socket.socket) -> WorkerProcess:
        self._last_id += 1
        with _pipes(self._last_id) as (process, theirs):
            # Registered first: the answer may come before this function goes on.
            self._alive[process.id] = process
            try:
                await self._send(server, {"do": "start", "id": process.id}, theirs)
            except BaseException:
                self._alive.pop(process.id, None)
                raise
        return process

    def kill(self, process: WorkerProcess) -> None:
        if process.exit is not None or self._socket is None:
            return
        request = json.dumps({"do": "kill", "id": process.id}).encode()
        try:
            self._socket.send(request)
        except BlockingIOError:
            self._tasks.start_soon(self._send, self._socket, {"do": "kill", "id": process.id})
        except OSError:
            pass  # the launcher is gone, and the kernel has killed what it had started

    async def limit_memory(self, process: WorkerProcess, max_bytes: int) -> bool:
        if self._socket is None or process.exit is not None:
            return False
        await self._send(self._socket, {"do": "limit", "id": process.id, "bytes": max_bytes})
        await process._limited.wait()
        return bool(process.memory_limited)

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_TIMEOUT_S):
            for process in list(self._alive.values()):
                self.kill(process)
            for process in list(self._alive.values()):
                await process.exited.wait()
        self._stop_launcher()
        launcher, self._launcher = self._launcher, None
        if launcher is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_finish, launcher)

    def _start_launcher(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = str(Path(__file__).with_name("launcher.py"))
        with theirs:
            try:
                self._launcher = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-B", program],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise SandboxUnavailable(f"Cannot start the launcher: {error}") from error
        configuration = {"argv": self._command.argv, "environment": dict(self._command.environment)}
        ours.send(json.dumps(configuration).encode())
        ours.setblocking(False)
        self._socket = ours
        self._tasks.start_soon(self._listen, ours)
        return ours

    async def _send(self, server: socket.socket, request: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        message = json.dumps(request).encode()
        while True:
            try:
                socket.send_fds(server, [message], descriptors)
            except BlockingIOError:
                await anyio.wait_writable(server)
            except OSError as error:
                raise SandboxUnavailable(f"Cannot reach the launcher: {error}") from error
            else:
                return

    async def _listen(self, server: socket.socket) -> None:
        """Take the launcher's messages until it, or this runtime, is gone."""
        while True:
            try:
                message = server.recv(4096)
            except BlockingIOError:
                try:
                    await anyio.wait_readable(server)
                except (anyio.ClosedResourceError, ValueError):
                    return
                continue
            except OSError:
                message = b""
            if not message:
                break
            self._note(json.loads(message))
        if server is self._socket:
            self._lose_launcher()

    def _note(self, event: dict[str, Any]) -> None:
        process = self._alive.get(event["id"])
        if process is None:
            return
        match event["event"]:
            case "started":
                process.pid = event["pid"]
            case "limited":
                process.memory_limited = event["held"]
                process._limited.set()
            case "exited":
                del self._alive[process.id]
                process.note_exit(ProcessExit(event["status"], event["peak_memory_mb"], event["cpu_ms"]))

    def _lose_launcher(self) -> None:
        """The launcher died. Its children died with it, so say so to whoever waits for them."""
        self._stop_launcher()
        launcher, self._launcher = self._launcher, None
        if launcher is not None:
            self._tasks.start_soon(anyio.to_thread.run_sync, _finish, launcher)
        for process in list(self._alive.values()):
            process.note_exit(ProcessExit(-signal.SIGKILL))
        self._alive.clear()

    def _stop_launcher(self) -> None:
        if self._socket is not None:
            server, self._socket = self._socket, None
            anyio.notify_closing(server)
            server.close()


def _finish(launcher: subprocess.Popen[bytes]) -> None:
    """Wait for the launcher, which ends by itself when its socket closes; kill it if it does not."""
    try:
        launcher.wait(CLOSING_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        launcher.kill()
        launcher.wait()


class PlainSpawner:
    """Starts Deno as a child of the host. No exact memory limit, and a host that is killed by force leaves a
    process that spins to go on until it is done: both are reported by `cortex doctor`."""

    def __init__(self, command: Command, tasks: anyio.abc.TaskGroup) -> None:
        self.harness = command.harness
        self._command = command
        self._tasks = tasks
        self._last_id = 0
        # A thread waits for each process; the shared limit would let forty of them starve all other thread work.
        self._waiters = anyio.CapacityLimiter(math.inf)
        self._alive: dict[int, tuple[WorkerProcess, subprocess.Popen[bytes]]] = {}

    async def start(self) -> WorkerProcess:
        self._last_id += 1
        with _pipes(self._last_id) as (process, theirs):
            child = await anyio.to_thread.run_sync(self._popen, theirs)
        process.pid = child.pid
        self._alive[process.id] = (process, child)
        self._tasks.start_soon(self._watch, process, child)
        return process

    def kill(self, process: WorkerProcess) -> None:
        entry = self._alive.get(process.id)
        if entry is not None and entry[1].returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(entry[1].pid, signal.SIGKILL)

    async def limit_memory(self, process: WorkerProcess, max_bytes: int) -> bool:  # noqa: ARG002 - it cannot
        return False

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_TIMEOUT_S):
            for process, _ in list(self._alive.values()):
                self.kill(process)
            for process, _ in list(self._alive.values()):
                await process.exited.wait()

    def _popen(self, theirs: tuple[int, int, int]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._command.argv,
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
        process.note_exit(ProcessExit(status))
