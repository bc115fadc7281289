"""The launcher, tested directly over its socket, as the host uses it."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.jail import Layer
from sandbox.jail.build import NICE
from tests.conftest import is_readable

SANDBOX = Path(__file__).parent.parent.parent.parent / "sandbox"
# As the host starts it, so that what the launcher itself does is measured too.
PROGRAM = f"import sys; sys.path.append({str(SANDBOX)!r}); from jail.launcher import main; main()"
# All that a shell can live behind.
TIES = (Layer.SESSION, Layer.PARENT_DEATH, Layer.NO_NEW_PRIVS, Layer.LIMITS, Layer.MEMORY)


class Host:
    def __init__(self, *argv: str, layers: tuple[Layer, ...] = TIES) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=theirs.fileno())
        self.socket.settimeout(60)
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.prlimit(self.process.pid, resource.RLIMIT_CORE, (hard, hard))  # so that "none" is the launcher's doing
        order = {"binary": argv[0], "argv": argv, "environment": {"ONLY": "this"}, "layers": layers, "cpu_seconds": 7}
        self.socket.send(json.dumps(order).encode())
        self.pipes: list[int] = []
        self.wall = self.event()

    def ask(self, **request):
        self.socket.send(json.dumps(request).encode())

    def start(self, number: int) -> tuple[int, int, int]:
        stdin, our_in = os.pipe()
        our_out, stdout = os.pipe()
        our_err, stderr = os.pipe()
        socket.send_fds(self.socket, [json.dumps({"do": "start", "id": number}).encode()], [stdin, stdout, stderr])
        for descriptor in (stdin, stdout, stderr):
            os.close(descriptor)
        self.pipes += [our_in, our_out, our_err]
        return our_in, our_out, our_err

    def event(self):
        return json.loads(self.socket.recv(4096))

    def close(self) -> int:
        self.socket.close()
        for pipe in self.pipes:
            os.close(pipe)
        return self.process.wait(60)


@pytest.fixture
def shell():
    host = Host("/bin/sh", "-c", 'echo "$ONLY $HOME $$ $(ulimit -c)"; pwd; ls /proc/self/fd | wc -l; read x; exit 7')
    yield host
    assert host.close() == 0


def test_a_process_is_started_limited_killed_and_reaped(shell):
    _, stdout, _ = shell.start(1)
    started = shell.event()
    os.read(stdout, 1000)  # it is the shell by now
    assert (started["event"], started["id"]) == ("started", 1)
    shell.ask(do="limit", id=1, bytes=1 << 30)
    assert shell.event() == {"event": "limited", "id": 1, "held": True}
    limits = Path(f"/proc/{started['pid']}/limits").read_text()
    assert any(line.startswith("Max data size") and "unlimited" not in line for line in limits.splitlines())
    assert any(line.split()[:5] == ["Max", "cpu", "time", "7", "7"] for line in limits.splitlines())
    assert any(line.split()[:5] == ["Max", "open", "files", "256", "256"] for line in limits.splitlines())
    assert any(line.split()[:5] == ["Max", "file", "size", "0", "0"] for line in limits.splitlines())
    status = Path(f"/proc/{started['pid']}/status").read_text()
    assert "NoNewPrivs:\t1" in status
    # The kill command gets the processors first, and the kernel kills this process first when out of memory.
    assert os.getpriority(os.PRIO_PROCESS, started["pid"]) == os.getpriority(os.PRIO_PROCESS, shell.process.pid) + NICE
    assert Path(f"/proc/{started['pid']}/oom_score_adj").read_text() == "1000\n"
    assert os.getpgid(started["pid"]) == started["pid"]
    assert os.getsid(started["pid"]) == os.getsid(shell.process.pid)
    shell.ask(do="kill", id=1)
    exited = shell.event()
    assert (exited["event"], exited["status"]) == ("exited", -signal.SIGKILL)
    assert exited["peak_memory_mb"] > 0


def test_a_process_has_nothing_of_its_surroundings(shell):
    stdin, stdout, _ = shell.start(1)
    shell.event()
    text = b""
    while text.count(b"\n") < 3:
        text += os.read(stdout, 1000)
    first, folder, descriptors = text.decode().splitlines()
    only, *rest = first.split(" ")
    assert only == "this"
    assert rest[0] == ""  # no HOME
    assert rest[-1] == "0"  # no core file
    assert folder == "/"
    assert int(descriptors) == 4  # the three pipes, and the folder that ls looks at
    os.write(stdin, b"x\n")
    assert shell.event()["status"] == 7


def test_many_processes_are_told_apart(shell):
    for number in range(1, 6):
        shell.start(number)
    assert {shell.event()["id"] for _ in range(5)} == {1, 2, 3, 4, 5}
    shell.ask(do="kill", id=3)
    assert shell.event()["id"] == 3
    shell.ask(do="kill", id=3)  # killing it again, or a process that never existed, does nothing
    shell.ask(do="kill", id=99)
    shell.ask(do="limit", id=99, bytes=1)
    assert shell.event() == {"event": "limited", "id": 99, "held": False}


def test_what_cannot_be_started_is_said_on_its_stderr():
    host = Host("/nowhere/deno")
    _, _, stderr = host.start(1)
    host.event()
    assert host.event()["status"] == 127
    assert os.read(stderr, 1000).decode() == "Cannot start Deno: [Errno 2] No such file or directory: '/nowhere/deno'\n"
    assert host.close() == 0


def test_what_was_not_asked_for_is_not_there():
    host = Host("/bin/sh", "-c", "echo; read x", layers=())
    assert host.wall == {"event": "wall", "held": [], "absent": {}}
    _, stdout, _ = host.start(1)
    pid = host.event()["pid"]
    os.read(stdout, 1000)
    assert os.getpgid(pid) != pid
    assert "NoNewPrivs:\t0" in Path(f"/proc/{pid}/status").read_text()
    host.ask(do="kill", id=1)
    assert host.event()["status"] == -signal.SIGKILL
    assert host.close() == 0


def test_when_the_host_is_gone_the_processes_are_killed(shell):
    shell.start(1)
    pid = shell.event()["pid"]
    pidfd = os.pidfd_open(pid)
    shell.socket.shutdown(socket.SHUT_RDWR)
    assert shell.process.wait(60) == 0
    assert is_readable(pidfd, 60)
    os.close(pidfd)
