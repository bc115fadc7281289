"""Starts processes through `jail/launcher.py`, a small process that forks, limits, kills and reaps for this one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread

from .command import Command
from .errors import SandboxUnavailable
from .jail import Layer, Wall
from .process import CLOSING_TIMEOUT_S, HERE, ProcessExit, WorkerProcess, open_pipes, reap, start_python

LAUNCHER = "import sys; sys.path.append(sys.argv[1]); from jail.launcher import main; main()"
LAUNCHER_TIMEOUT_S = 10.0


def can_fork_serve() -> bool:
    """Whether this system has what the launcher needs."""
    has_calls = hasattr(os, "pidfd_open") and hasattr(socket, "SOCK_SEQPACKET")
    # In a frozen program, `sys.executable` is that program and no Python.
    has_python = bool(sys.executable) and not getattr(sys, "frozen", False)
    return has_calls and has_python and Path("/proc/self/status").exists()


class LauncherGone(SandboxUnavailable):
    """The launcher does not take a message any more."""


class ForkServer:
    """Asks the launcher for each process; starts another launcher should that one die."""

    def __init__(
        self, command: Command, tasks: anyio.abc.TaskGroup, cpu_seconds: int, layers: Collection[Layer] = tuple(Layer)
    ) -> None:
        self.harness = command.harness
        self._command = command
        self._tasks = tasks
        self._cpu_seconds = cpu_seconds
        self._layers = frozenset(layers)
        self._failed: dict[Layer, str] = {}
        self._wall: Wall | None = None
        self._promised: tuple[Layer, ...] | None = None
        self._news = anyio.Event()
        self._starting = anyio.Lock()
        self._launcher: subprocess.Popen[bytes] | None = None
        self._lost: list[subprocess.Popen[bytes]] = []
        self._socket: socket.socket | None = None
        self._last_id = 0
        self._alive: dict[int, WorkerProcess] = {}

    async def wall(self) -> Wall:
        await self._server()
        wall = self._wall
        if wall is None:
            raise SandboxUnavailable("Cannot start the launcher: it ended at once")
        return Wall(wall.held, {**wall.absent, **self._failed})

    async def start(self) -> WorkerProcess:
        server = self._socket if self._wall is not None else None
        server = server or await self._server()
        try:
            return await self._start(server)
        except LauncherGone:
            # It died, and nobody had noticed yet. Once: a launcher that cannot live is not started for ever.
            if server is self._socket:
                self._lose_launcher()
            return await self._start(await self._server())

    async def _server(self) -> socket.socket:
        """The socket of a launcher that has built its wall. A layer that it fails at is left out, and remembered."""
        async with self._starting:
            for _ in Layer:
                server = self._socket or self._start_launcher()
                with anyio.move_on_after(LAUNCHER_TIMEOUT_S):
                    await self._news.wait()
                if self._wall is not None and server is self._socket:
                    self._check_promise(self._wall)
                    return server
                failed = self._failed.keys() & self._layers
                if not failed or self._promised is not None:
                    break  # what once held may hold again: it is tried with the next start
                self._layers -= failed
        self._lose_launcher()
        raise SandboxUnavailable("Cannot start the launcher: it ended, or said nothing")

    def _check_promise(self, wall: Wall) -> None:
        """A launcher that comes after another must not build a lower wall than was told when the runtime opened."""
        if self._promised is None:
            self._promised = wall.held
        missing = [layer for layer in self._promised if layer not in wall.held]
        if missing:
            self._lose_launcher()
            raise SandboxUnavailable(f"Cannot start Deno: a layer of the wall is gone: {', '.join(missing)}")

    async def _start(self, server: socket.socket) -> WorkerProcess:
        self._last_id += 1
        with open_pipes(self._last_id) as (process, theirs):
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
        try:
            self._socket.send(json.dumps({"do": "kill", "id": process.id}).encode())
        except BlockingIOError:
            self._tasks.start_soon(self._kill_later, self._socket, process)
        except OSError:
            pass  # the launcher is gone, and the kernel has killed what it had started

    async def _kill_later(self, server: socket.socket, process: WorkerProcess) -> None:
        with contextlib.suppress(SandboxUnavailable):
            await self._send(server, {"do": "kill", "id": process.id})

    async def limit_memory(self, process: WorkerProcess, max_bytes: int) -> bool:
        if self._socket is None or process.exit is not None or Layer.MEMORY not in self._layers:
            return False
        await self._send(self._socket, {"do": "limit", "id": process.id, "bytes": max_bytes})
        await process.limited.wait()
        if not process.memory_limited and process.exit is None:
            raise SandboxUnavailable("Cannot start Deno: the system did not limit its memory")
        return bool(process.memory_limited)

    def kill_launcher(self) -> None:
        """For those who try what happens then."""
        if self._launcher is not None:
            self._launcher.kill()

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_TIMEOUT_S):
            for process in list(self._alive.values()):
                self.kill(process)
            for process in list(self._alive.values()):
                await process.exited.wait()
        self._stop_launcher()
        if self._launcher is not None:
            self._lost.append(self._launcher)
            self._launcher = None
        with anyio.CancelScope(shield=True):
            while self._lost:
                await anyio.to_thread.run_sync(reap, self._lost.pop())

    def _start_launcher(self) -> socket.socket:
        # Those that died before are only to be buried: a poll does it, and nobody waits for one that has not.
        self._lost = [launcher for launcher in self._lost if launcher.poll() is None]
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise SandboxUnavailable(f"Cannot start the launcher: no socket for it ({error.strerror})") from error
        with theirs:
            try:
                program = ("-S", "-c", LAUNCHER, str(HERE))
                self._launcher = start_python(*program, stdin=theirs.fileno(), stdout=subprocess.DEVNULL)
            except SandboxUnavailable:
                ours.close()
                raise
        order = {
            "argv": self._command.argv,
            "environment": dict(self._command.environment),
            "layers": sorted(self._layers),
            "cpu_seconds": self._cpu_seconds,
        }
        try:
            ours.send(json.dumps(order).encode())
        except OSError as error:
            ours.close()
            raise SandboxUnavailable(f"Cannot start the launcher: it ended at once ({error.strerror})") from error
        ours.setblocking(False)
        self._socket = ours
        self._news = anyio.Event()
        self._tasks.start_soon(self._listen, ours)
        return ours

    async def _send(self, server: socket.socket, request: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        message = json.dumps(request).encode()
        while True:
            try:
                socket.send_fds(server, [message], descriptors)
            except BlockingIOError:
                await self._wait_writable(server)
            except OSError as error:
                raise LauncherGone(f"Cannot reach the launcher: {error}") from error
            else:
                return

    async def _wait_writable(self, server: socket.socket) -> None:
        try:
            await anyio.wait_writable(server)
        except (OSError, ValueError, anyio.ClosedResourceError) as error:
            raise LauncherGone(f"Cannot reach the launcher: {error}") from error

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
        if event["event"] == "wall":
            self._note_wall(event)
            return
        process = self._alive.get(event["id"])
        if process is None:
            return
        match event["event"]:
            case "started":
                process.pid = event["pid"]
            case "limited":
                process.memory_limited = event["held"]
                process.limited.set()
            case "exited":
                del self._alive[process.id]
                process.note_exit(ProcessExit(event["status"], event["peak_memory_mb"], event["cpu_s"]))

    def _note_wall(self, event: dict[str, Any]) -> None:
        if "failed" in event:
            self._failed[Layer(event["failed"])] = event["reason"]
            return  # it ends now, which is the news
        absent = {Layer(name): reason for name, reason in event["absent"].items()}
        self._wall = Wall(tuple(map(Layer, event["held"])), absent)
        self._news.set()

    def _lose_launcher(self) -> None:
        """The launcher died. Its children died with it, so say so to whoever waits for them."""
        self._stop_launcher()
        self._wall = None
        self._news.set()
        if self._launcher is not None:
            self._lost.append(self._launcher)
            self._launcher = None
        for process in list(self._alive.values()):
            process.note_exit(ProcessExit(-signal.SIGKILL))
        self._alive.clear()

    def _stop_launcher(self) -> None:
        if self._socket is not None:
            server, self._socket = self._socket, None
            anyio.notify_closing(server)
            server.close()
