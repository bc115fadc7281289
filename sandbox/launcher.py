"""A small process that starts, limits, kills and reaps the Deno processes of one host.

It is run as a program of its own (`python -I -S launcher.py`, its standard input a socket to the host) and imports
nothing but the standard library. Three things are only possible from here:

- a process starts in the same time whether the host is small or has gigabytes in memory, because it is this little
  process that forks;
- when the host is killed, the socket closes, this process ends, and the kernel kills what it had started;
- kill and reap, which can take milliseconds, are not on the host's time.

The host speaks first, with one message that holds the command; then each message is one request:
`{"do": "start", "id": n}` with three descriptors, `{"do": "limit", "id": n, "bytes": b}`, `{"do": "kill", "id": n}`.
Answers: `{"event": "started" | "limited" | "exited", "id": n, …}`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
from typing import Any, NoReturn

MAX_MESSAGE = 256 * 1024
PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38


class Launcher:
    def __init__(self, host: socket.socket) -> None:
        self.host = host
        self.command: dict[str, Any] = json.loads(host.recv(MAX_MESSAGE))
        self.pids: dict[int, int] = {}
        self.prctl = ctypes.CDLL(None, use_errno=True).prctl

    def serve(self) -> None:
        """Answer the host until it is gone."""
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
                self.pids[worker] = self.start(descriptors)
                self.tell(event="started", id=worker, pid=self.pids[worker])
            case "limit":
                self.tell(event="limited", id=worker, held=self.limit(worker, request["bytes"]))
            case "kill":
                # Only a process that was not reaped yet: its number cannot belong to anyone else.
                if worker in self.pids:
                    kill(self.pids[worker])

    def start(self, descriptors: list[int]) -> int:
        pid = os.fork()
        if pid == 0:
            self.become_deno(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return pid

    def become_deno(self, descriptors: list[int]) -> NoReturn:
        """In the new process: give up everything, then become Deno. A failure is a line on its stderr."""
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            self.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            self.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # Deno's own SQLite would spill to /tmp whatever the permissions say. A write fails; it does not kill,
            # because Python ignores SIGXFSZ and Deno inherits that.
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
            for target, source in enumerate(descriptors):
                os.dup2(source, target)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.chdir("/")
            os.execve(self.command["argv"][0], self.command["argv"], self.command["environment"])  # noqa: S606 - this is the one place
        except BaseException as error:  # noqa: BLE001 - whatever it is, the copy of the launcher must not go on
            os.write(2, f"Cannot start Deno: {error}\n".encode())
        os._exit(127)

    def limit(self, worker: int, more: int) -> bool:
        """Let the process take `more` bytes beyond what it has now; False if this system cannot hold it to that."""
        try:
            pid = self.pids[worker]
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
                data = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
            resource.prlimit(pid, resource.RLIMIT_DATA, (data + more, data + more))
        except (KeyError, OSError, StopIteration, ValueError):
            return False
        return True

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
            self.tell(
                event="exited",
                id=worker,
                status=os.waitstatus_to_exitcode(status),
                peak_memory_mb=usage.ru_maxrss / 1024,
            )

    def tell(self, **event: Any) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.host.send(json.dumps(event).encode())


def kill(pid: int) -> None:
    """Kill a process that was not reaped yet, and all that it started."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:  # it is too young to lead a group
        os.kill(pid, signal.SIGKILL)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the host's to answer
    launcher = Launcher(socket.socket(fileno=0))
    try:
        launcher.serve()
    finally:
        for pid in launcher.pids.values():
            kill(pid)
    sys.exit(0)


if __name__ == "__main__":
    main()
