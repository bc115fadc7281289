"""The launcher: a small process that starts, limits, kills and reaps the Deno processes of one host.

It runs as a program of its own, with a socket to the host as standard input, and imports nothing but the standard
library and its neighbours. Four things are only possible from here:

- a process starts equally fast whether the host is small or has gigabytes in memory, because this small process forks;
- the wall around each process is prepared once, and a start only has to apply it;
- when the host is killed, the socket closes, this process ends, and the kernel kills everything it had started;
- kill and reap, which can take milliseconds, do not take the host's time.

The host sends the first message, with the command and the wanted layers; the answer says which layers hold:
`{"event": "wall", "held": […], "absent": {…}}`, or `{"event": "wall", "failed": …, "reason": …}` and the end. Then
each message is one request: `{"do": "start", "id": n}` with three descriptors, `{"do": "limit", "id": n, "bytes": b}`,
`{"do": "kill", "id": n}`. Answers: `{"event": "started" | "limited" | "exited", "id": n, …}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import sys
from typing import Any

from .build import Jail, LayerFailed, Order

MAX_MESSAGE = 256 * 1024
# The exit status reported for a process that could not be forked: it never existed, so it has no status of its own.
NO_PROCESS = 126


class Launcher:
    """Serves the host's requests: start, limit, kill; reports each process that ends."""

    def __init__(self, host: socket.socket, jail: Jail, proc: int) -> None:
        self.host = host
        self.jail = jail
        self.proc = proc
        self.pid = os.getpid()
        self.pids: dict[int, int] = {}

    def serve(self) -> None:
        """Serve the host's requests until the host is gone."""
        wake, alarm = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self.host, select.POLLIN)
        poll.register(wake, select.POLLIN)
        poll.register(os.pidfd_open(os.getppid()), select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(wake, 4096)
                self.reap()
                ready.discard(wake)
            if self.host.fileno() in ready:
                message, descriptors, _, _ = socket.recv_fds(self.host, MAX_MESSAGE, 3)
                if not message:
                    return
                self.obey(json.loads(message), descriptors)
            elif ready:
                return  # the host's process has ended, though a copy of its socket may live on in a child

    def obey(self, request: dict[str, Any], descriptors: list[int]) -> None:
        worker = request["id"]
        match request["do"]:
            case "start":
                try:
                    self.pids[worker] = self.start(descriptors)
                except OSError:  # fork failed just now: report it for this request only
                    tell(self.host, event="exited", id=worker, status=NO_PROCESS, peak_memory_mb=0, cpu_s=0)
                else:
                    tell(self.host, event="started", id=worker, pid=self.pids[worker])
            case "limit":
                tell(self.host, event="limited", id=worker, held=self.limit(worker, request["bytes"]))
            case "kill":
                # Only a process that is not reaped yet: its pid cannot have been reused.
                if worker in self.pids:
                    kill(self.pids[worker])

    def start(self, descriptors: list[int]) -> int:
        try:
            if len(descriptors) != 3:  # with fewer, the process would keep the launcher's socket to the host
                raise OSError("three descriptors are needed")
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                self.jail.become_deno(descriptors, self.pid, self.proc)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return pid

    def limit(self, worker: int, more: int) -> bool:
        """Limit the process to `more` bytes of memory beyond what it has now; False if this system cannot."""
        try:
            pid = self.pids[worker]
            data = self.data_bytes(pid)
            resource.prlimit(pid, resource.RLIMIT_DATA, (data + more, data + more))
        except (KeyError, OSError, ValueError):
            return False
        return True

    def data_bytes(self, pid: int) -> int:
        # Via the descriptor: behind its new root, this process has no /proc any more.
        with open(os.open(f"{pid}/status", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.proc), "rb") as status:
            # Match at the start of a line only: the first line holds a name that the process chooses itself.
            _, found, rest = status.read().partition(b"\nVmData:")
        if not found:
            raise ValueError("the kernel does not tell how much it has")
        return int(rest.split(None, 1)[0]) * 1024

    def reap(self) -> None:
        while self.pids:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            worker = next(key for key, value in self.pids.items() if value == pid)
            del self.pids[worker]
            tell(
                self.host,
                event="exited",
                id=worker,
                status=os.waitstatus_to_exitcode(status),
                peak_memory_mb=usage.ru_maxrss / 1024,
                cpu_s=usage.ru_utime + usage.ru_stime,
            )


def tell(host: socket.socket, **event: Any) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        host.send(json.dumps(event).encode())


def kill(pid: int) -> None:
    """Kill a process that is not reaped yet, and everything that it started."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:  # it leads no process group: too young, or without the session layer
        os.kill(pid, signal.SIGKILL)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host handles Ctrl-C
    os.umask(0o022)
    host = socket.socket(fileno=0)
    proc = os.open("/proc", os.O_PATH | os.O_CLOEXEC)
    order = Order.of(json.loads(host.recv(MAX_MESSAGE)))
    try:
        jail = Jail(order)
    except LayerFailed as failed:
        tell(host, event="wall", failed=failed.layer, reason=str(failed))
        sys.exit(1)
    wall = jail.wall
    tell(host, event="wall", held=wall.held, absent=wall.absent)
    launcher = Launcher(host, jail, proc)
    try:
        launcher.serve()
    finally:
        for pid in launcher.pids.values():
            kill(pid)
    sys.exit(0)
