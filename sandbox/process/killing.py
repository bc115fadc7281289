"""Kills what is noted in a folder, and all that it started. Asks nothing of those who noted it."""

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

# Of the launcher's command line, for a note that cannot be read.
LAUNCHER_MARK = b"jail.launcher"
STOP_TIMEOUT_S = 0.1
DEATH_TIMEOUT_S = 2.0
_LOOK_AGAIN_S = 0.000_2


class KillReport(NamedTuple):
    killed: tuple[int, ...]
    """Or stopped, if that was asked for."""
    left: tuple[str, ...]
    """What could not be killed, each with its reason."""


def kill_recorded(folder: Path) -> KillReport:
    """Kill every process that is noted in the folder, and all that it started. Returns when they are dead, or could
    not be killed within two seconds. Never raises."""
    with _undisturbed():
        hunt = _Hunt()
        for path in notes_in(folder):
            hunt.add(path)
        return hunt.finish()


def stop_hosts(folder: Path) -> KillReport:
    """Stop the programs that have noted processes in the folder: a program that is stopped starts nothing. For a caller
    who cannot tell them that nothing may run. They lose nothing, and SIGCONT lets them go on. Never raises."""
    stopped: dict[int, None] = {}
    left: list[str] = []
    for path in notes_in(folder):
        host = _host_of(path)
        if host is None or host in stopped:
            continue
        try:
            handle = os.pidfd_open(host)
            try:
                # Looked at again, as below: as long as the noted process has this parent, the number is the parent's.
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
    """The program that has noted a process of its own, while both live. Not this one."""
    noted, host = read_note(path), host_in(path)
    stat = None if noted is None or identity_of(noted.pid) != noted else stat_of(noted.pid)
    return host if stat is not None and stat.parent == host and host not in {1, os.getpid()} else None


def kill_tree(pid: int) -> KillReport:
    """The same for one process that is known to be the caller's own."""
    with _undisturbed():
        hunt = _Hunt()
        hunt.aim(pid, None)
        return hunt.finish()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Who presses Ctrl-C must not leave a launcher that is stopped and runs that go on."""
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
    """First everything that was noted is stopped, so that it starts nothing more. What it had started cannot be reaped
    then, and its numbers stay its own. Then all are killed, the noted ones last."""

    def __init__(self) -> None:
        self._targets: list[_Target] = []
        self._killed: list[_Target] = []
        self._left: list[str] = []

    def add(self, path: Path) -> None:
        pid = pid_of(path)
        noted = read_note(path)
        found = identity_of(pid)
        if noted is None:
            # Half a note, of a full disk: its name is a number, and who has it now says whether it is one of ours.
            if found is None or LAUNCHER_MARK not in command_line(pid):
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
        # Looked at again, now that the handle holds on to it: the number may have changed hands in between.
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
            pass  # the line above was enough
        except OSError as error:
            os.close(target.handle)
            self._left.append(f"process {target.pid}: {error.strerror}")
            return
        self._killed.append(target)
        let_die_first(target.pid)

    def _wait(self) -> tuple[int, ...]:
        """The numbers of those that are dead, as soon as all are. Of the others it is said that they are not."""
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
