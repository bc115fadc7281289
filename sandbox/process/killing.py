"""Kills every process that has a note in a folder, and all that it started, even when its host program hangs."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from .priority import let_die_first
from .process_facts import Identity, boot, children_of, command_line, identity_of, namespace, stat_of
from .process_notes import host_in, notes_in, pid_of, read_note, unlink

# Part of the launcher's command line: identifies it when its note cannot be read.
LAUNCHER_MARK = b"jail.launcher"
# The same for the process that renders a drawing.
_RENDERER_MARK = b"svg_process.py"
STOP_TIMEOUT_S = 0.1
DEATH_TIMEOUT_S = 2.0
_LOOK_AGAIN_S = 0.000_2


class KillReport(NamedTuple):
    """Which processes were killed, and which could not be."""

    killed: tuple[int, ...]
    """For `stop_hosts`: the stopped processes."""
    left: tuple[str, ...]
    """Processes that could not be killed, each with its reason."""


def kill_recorded(folder: Path) -> KillReport:
    """Kill every process that is noted in the folder, and all that it started. Returns when they are dead, or after
    two seconds with those that are not. Never raises."""
    with _undisturbed():
        hunt = _Hunt()
        for path in notes_in(folder):
            hunt.add(path)
        return hunt.finish()


def stop_hosts(*folders: Path) -> KillReport:
    """Stop (SIGSTOP) the programs that have noted processes in the folders, so that they start nothing more. For a
    caller who cannot tell them that nothing may run. They lose nothing; SIGCONT resumes them. Never raises."""
    stopped: dict[int, None] = {}
    left: list[str] = []
    for path in (path for folder in folders for path in notes_in(folder)):
        host = _host_of(path)
        if host is None or host in stopped:
            continue
        try:
            handle = os.pidfd_open(host)
            try:
                # Checked again with the handle open, which keeps the pid from being reused.
                if _host_of(path) == host:
                    signal.pidfd_send_signal(handle, signal.SIGSTOP)
                    stopped[host] = None
            finally:
                os.close(handle)
        except OSError as error:
            left.append(f"process {host}: {error.strerror}")
    give_up = time.monotonic() + STOP_TIMEOUT_S
    for host in stopped:
        _wait_until_stopped(host, give_up)
    return KillReport(tuple(stopped), tuple(left))


def _host_of(path: Path) -> int | None:
    """The pid of the program that wrote this note, if it is alive and not this program: also when the noted process is
    not, for the program would start the next one."""
    noted, written_by = read_note(path), host_in(path)
    if noted is None or written_by is None or written_by[0] in {1, os.getpid()}:
        return None
    host, started = written_by
    if started is not None:
        return host if identity_of(host) == noted._replace(pid=host, started=started) else None
    # A note of an earlier version: while the noted process has this parent, the pid is not reused.
    stat = stat_of(noted.pid) if identity_of(noted.pid) == noted else None
    return host if stat is not None and stat.parent == host else None


def kill_tree(pid: int) -> KillReport:
    """Kill one process, known to be the caller's own, and all that it started. Never raises."""
    with _undisturbed():
        hunt = _Hunt()
        hunt.aim(pid, None)
        return hunt.finish()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Block Ctrl-C and SIGTERM meanwhile: an interrupted kill would leave a stopped launcher and runs that go on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Target(NamedTuple):
    pid: int
    handle: int
    note: Path | None


class _Hunt:
    """Kills noted processes and their descendants without a race. First it stops every noted process, so that it starts
    nothing more and cannot reap its children, whose pids therefore are not reused. Then it kills all, the noted
    processes last."""

    def __init__(self) -> None:
        self._targets: list[_Target] = []
        self._killed: list[_Target] = []
        self._left: list[str] = []

    def add(self, path: Path) -> None:
        pid = pid_of(path)
        noted = read_note(path)
        found = identity_of(pid)
        if noted is None:
            # Half a note, left by a full disk: its file name is the pid, and the command line of the process that has
            # this pid now says whether it is a launcher or renderer of ours.
            command = b"" if found is None else command_line(pid)
            if LAUNCHER_MARK not in command and _RENDERER_MARK not in command:
                unlink(path)
                return
        elif noted.boot == boot() and noted.namespace != namespace():
            self._left.append(f"process {noted.pid} runs in another container: it has to see the switch by itself")
            return
        self.aim(pid, path, noted)

    def aim(self, pid: int, note: Path | None, noted: Identity | None = None) -> None:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            unlink(note)
            return
        except OSError as error:
            self._left.append(f"process {pid}: {error.strerror}")
            return
        # Checked again now that the pidfd pins the process: the pid may have been reused in between.
        if noted is not None and identity_of(pid) != noted:
            os.close(handle)
            unlink(note)
            return
        try:
            signal.pidfd_send_signal(handle, signal.SIGSTOP)
        except ProcessLookupError:
            os.close(handle)
            unlink(note)
        except OSError as error:
            os.close(handle)
            self._left.append(f"process {pid}: {error.strerror}")
        else:
            self._targets.append(_Target(pid, handle, note))

    def finish(self) -> KillReport:
        give_up = time.monotonic() + STOP_TIMEOUT_S
        for target in self._targets:
            _wait_until_stopped(target.pid, give_up)
        for target in self._targets:
            self._kill_below(target.pid)
            self._kill(target)
        killed = self._wait()
        for target in self._killed:
            os.close(target.handle)
        return KillReport(killed, tuple(self._left))

    def _kill_below(self, pid: int) -> None:
        for child in children_of(pid):
            try:
                handle = os.pidfd_open(child)
            except OSError:
                continue
            stat = stat_of(child)
            if stat is None or stat.parent != pid:
                os.close(handle)
                continue
            self._kill_below(child)
            self._kill(_Target(child, handle, None))

    def _kill(self, target: _Target) -> None:
        stat = stat_of(target.pid)
        if stat is not None and stat.group == target.pid:
            with suppress(OSError):
                os.killpg(target.pid, signal.SIGKILL)
        try:
            signal.pidfd_send_signal(target.handle, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the killpg above was enough
        except OSError as error:
            os.close(target.handle)
            self._left.append(f"process {target.pid}: {error.strerror}")
            return
        self._killed.append(target)
        let_die_first(target.pid)

    def _wait(self) -> tuple[int, ...]:
        """Wait until all are dead or the timeout; return the pids of the dead and report the others as left."""
        poll = select.poll()
        waiting = {target.handle: target for target in self._killed}
        for handle in waiting:
            poll.register(handle, select.POLLIN)
        give_up = time.monotonic() + DEATH_TIMEOUT_S
        while waiting and (left_s := give_up - time.monotonic()) > 0:
            for handle, _ in poll.poll(left_s * 1000):
                poll.unregister(handle)
                unlink(waiting.pop(handle).note)
        self._left.extend(f"process {target.pid} was killed and has not ended" for target in waiting.values())
        return tuple(target.pid for target in self._killed if target.handle not in waiting)


def _wait_until_stopped(pid: int, give_up: float) -> None:
    while (stat := stat_of(pid)) is not None and stat.state not in {"T", "t", "Z", "X"} and time.monotonic() < give_up:
        time.sleep(_LOOK_AGAIN_S)
