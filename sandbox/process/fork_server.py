"""Starts processes through `jail/launcher.py`, a small process that forks, limits, kills and reaps for this one."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.to_thread

from ..contracts import SandboxUnavailable
from ..jail import Layer, Wall
from .children import CLOSING_TIMEOUT_S, open_pipes, reap
from .command import Command
from .early_start import FIRST_ID, HeadStart, order_for, start_launcher
from .killing import kill_tree
from .process import ProcessExit, WorkerProcess
from .process_notes import NOT_NOTED, Running

if TYPE_CHECKING:
    from ..ports import SandboxSettings

LAUNCHER_TIMEOUT_S = 10.0


class LauncherGone(SandboxUnavailable):
    """The launcher does not take a message any more."""


class ForkServer:
    """Asks the launcher for each process; starts another launcher should that one die."""

    def __init__(
        self,
        command: Command,
        settings: SandboxSettings,
        tasks: anyio.abc.TaskGroup,
        layers: Collection[Layer] = tuple(Layer),
        head_start: HeadStart | None = None,
        running: Running = NOT_NOTED,
    ) -> None:
        self.harness = command.harness
        self._command = command
        self._tasks = tasks
        self._settings = settings
        self._head_start = head_start
        self._running = running
        self._ahead: WorkerProcess | None = None
        self._layers = frozenset(layers)
        self._failed: dict[Layer, str] = {}
        self._wall: Wall | None = None
        self._promised: tuple[Layer, ...] | None = None
        self._news = anyio.Event()
        self._starting = anyio.Lock()
        self._launcher: subprocess.Popen[bytes] | None = None
        self._lost: list[subprocess.Popen[bytes]] = []
        self._is_closed = False
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
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            return ahead
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
                had_head_start = self._head_start is not None
                server = self._socket or self._start_launcher()
                with anyio.move_on_after(LAUNCHER_TIMEOUT_S):
                    await self._news.wait()
                if self._wall is not None and server is self._socket:
                    self._check_promise(self._wall)
                    return server
                self._lose_launcher()
                failed = self._failed.keys() & self._layers
                if not (failed or had_head_start) or self._promised is not None:
                    break  # what once held may hold again: it is tried with the next start
                self._layers -= failed
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
        with open_pipes() as (ours, theirs):
            # Registered first: the answer may come before this function goes on.
            process = self._alive[self._last_id] = WorkerProcess(self._last_id, *ours)
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

    def kill_all(self) -> None:
        if self._launcher is not None:
            kill_tree(self._launcher.pid)
            self._lose_launcher()
            self._bury_dead()

    def kill_launcher(self) -> None:
        """For those who try what happens then."""
        if self._launcher is not None:
            self._launcher.kill()

    async def aclose(self) -> None:
        self._is_closed = True
        try:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_TIMEOUT_S):
                for process in list(self._alive.values()):
                    self.kill(process)
                for process in list(self._alive.values()):
                    await process.exited.wait()
        finally:
            self._lose_launcher()
            await self._bury()

    def _bury_dead(self) -> None:
        """Those that died are only to be buried: a poll does it, and nobody waits for one that has not."""
        for launcher in [launcher for launcher in self._lost if launcher.poll() is not None]:
            self._lost.remove(launcher)
            self._running.forget(launcher.pid)

    async def _bury(self) -> None:
        """Wait until the launchers that were told to end, or died, are gone."""
        lost, self._lost = self._lost, []
        try:
            with anyio.CancelScope(shield=True):
                for launcher in lost:
                    await anyio.to_thread.run_sync(reap, launcher)
                    self._running.forget(launcher.pid)
        except BaseException:
            # A shield does not hold off asyncio's own cancellation, and the next one may come at the next wait: this
            # goes without. What is killed is gone in a moment.
            for launcher in lost:
                launcher.kill()
                launcher.wait()
            raise

    def _start_launcher(self) -> socket.socket:
        if self._is_closed:  # a start that was under way would leave a launcher that nobody ends
            raise SandboxUnavailable("Cannot start the launcher: the runtime is closed")
        self._running.check()
        self._bury_dead()
        order = order_for(self._command, self._layers, self._settings)
        head_start, self._head_start = self._head_start, None
        ahead = head_start.take(order) if head_start is not None else None
        if ahead is not None:
            self._launcher, ours = ahead.launcher, ahead.server
            self._last_id = FIRST_ID
            self._ahead = self._alive[FIRST_ID] = WorkerProcess(FIRST_ID, *ahead.pipes)
        else:
            self._launcher, ours = self._start_noted(order)
        ours.setblocking(False)
        self._socket = ours
        self._news = anyio.Event()
        self._tasks.start_soon(self._listen, ours)
        return ours

    def _start_noted(self, order: bytes) -> tuple[subprocess.Popen[bytes], socket.socket]:
        launcher, ours = start_launcher()
        try:
            # Before it is told anything: a launcher that nobody could find has nothing to do yet.
            self._running.note(launcher.pid)
            ours.send(order)
        except (OSError, SandboxUnavailable) as error:
            ours.close()  # which ends it
            self._lost.append(launcher)
            if isinstance(error, SandboxUnavailable):
                raise
            raise SandboxUnavailable(f"Cannot start the launcher: it ended at once ({error.strerror})") from error
        return launcher, ours

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
        try:
            await self._hear(server)
        finally:
            # Also when this is cancelled: who closes would wait for the end of processes, and nobody hears of it.
            if server is self._socket:
                self._lose_launcher()

    async def _hear(self, server: socket.socket) -> None:
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
                return
            if not message:
                return
            self._note(json.loads(message))

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
                process.started.set()
            case "limited":
                process.memory_limited = event["held"]
                process.limited.set()
            case "exited":
                del self._alive[process.id]
                if process is self._ahead:
                    self._drop_ahead()
                process.note_exit(ProcessExit(event["status"], event["peak_memory_mb"], event["cpu_s"]))

    def _note_wall(self, event: dict[str, Any]) -> None:
        if "failed" in event:
            self._failed[Layer(event["failed"])] = event["reason"]
            return  # it ends now, which is the news
        absent = {Layer(name): reason for name, reason in event["absent"].items()}
        self._wall = Wall(tuple(map(Layer, event["held"])), absent)
        self._news.set()

    def _lose_launcher(self) -> None:
        """The launcher died, or is to. Its children die with it, so say so to whoever waits for them."""
        self._stop_launcher()
        self._wall = None
        self._news.set()
        if self._launcher is not None:
            self._lost.append(self._launcher)
            self._launcher = None
        for process in list(self._alive.values()):
            process.note_exit(ProcessExit(-signal.SIGKILL))
        self._alive.clear()
        self._drop_ahead()

    def _drop_ahead(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.close_pipes()

    def _stop_launcher(self) -> None:
        if self._socket is not None:
            server, self._socket = self._socket, None
            anyio.notify_closing(server)
            server.close()
