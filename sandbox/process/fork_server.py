"""Starts Deno processes through `jail/launcher.py`, a small process that forks, limits, kills and reaps them."""

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
    """The launcher can no longer be reached: it has died or its socket is closed."""


class ForkServer:
    """A `Spawner` that asks the launcher for each process, and starts a new launcher when that one dies."""

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
            # The launcher died unnoticed. Retry once only: a launcher that always dies must not be restarted for ever.
            if server is self._socket:
                self._lose_launcher()
            return await self._start(await self._server())

    async def _server(self) -> socket.socket:
        """The socket of a launcher that has built its wall. A layer that fails is left out, and its reason kept."""
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
                    break  # a layer that held before may hold again: keep it for the next start
                self._layers -= failed
        raise SandboxUnavailable("Cannot start the launcher: it ended, or said nothing")

    def _check_promise(self, wall: Wall) -> None:
        """Raise if a replacement launcher built a weaker wall than the one reported when the runtime opened."""
        if self._promised is None:
            self._promised = wall.held
        missing = [layer for layer in self._promised if layer not in wall.held]
        if missing:
            self._lose_launcher()
            raise SandboxUnavailable(f"Cannot start Deno: a layer of the wall is gone: {', '.join(missing)}")

    async def _start(self, server: socket.socket) -> WorkerProcess:
        self._last_id += 1
        with open_pipes() as (ours, theirs):
            # Registered before sending: the launcher's answer may arrive before this function continues.
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
            pass  # the launcher is gone, and the kernel has killed everything it had started

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
        """Kill the launcher alone. For tests."""
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
        """Reap the lost launchers that have died, by a poll. Never waits for one that still lives."""
        for launcher in [launcher for launcher in self._lost if launcher.poll() is not None]:
            self._lost.remove(launcher)
            self._running.forget(launcher.pid)

    async def _bury(self) -> None:
        """Reap all lost launchers; wait until they are gone."""
        lost, self._lost = self._lost, []
        try:
            with anyio.CancelScope(shield=True):
                for launcher in lost:
                    await anyio.to_thread.run_sync(reap, launcher)
                    self._running.forget(launcher.pid)
        except BaseException:
            # A shield does not stop asyncio's own cancellation, which may strike again at the next await: so kill and
            # wait without awaiting. A killed process is gone in a moment.
            for launcher in lost:
                launcher.kill()
                launcher.wait()
            raise

    def _start_launcher(self) -> socket.socket:
        if self._is_closed:  # otherwise a start under way would leave a launcher running for ever
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
            # Note it before sending its order: a launcher without a note, which the kill command cannot find, has
            # nothing to run yet.
            self._running.note(launcher.pid)
            ours.send(order)
        except (OSError, SandboxUnavailable) as error:
            ours.close()  # ends the launcher
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
        """Read the launcher's messages until the launcher or this runtime has ended."""
        try:
            await self._hear(server)
        finally:
            # Also when cancelled: otherwise `aclose` would wait for exits that no task listens for any more.
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
            return  # the launcher now exits, which sets `_news`
        absent = {Layer(name): reason for name, reason in event["absent"].items()}
        self._wall = Wall(tuple(map(Layer, event["held"])), absent)
        self._news.set()

    def _lose_launcher(self) -> None:
        """Drop a launcher that died or must die. Its children die with it: report the exit of each to its waiters."""
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
