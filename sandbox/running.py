"""Which processes run for a home, written down so that another program can kill them: also while their host is stopped,
or spins and hears nothing.

A process is noted before it is told to do anything, and then it is asked once more whether anything may run. So who
forbids first and kills what is noted afterwards leaves nothing over: either he finds the note, or the other finds
himself forbidden. Nothing here waits for an event loop or imports one.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from .errors import NothingMayRun, SandboxUnavailable
from .whole_files import FILE_MODE, private_folder, replace_file

# Of the launcher's command line, for a note that cannot be read.
LAUNCHER_MARK = b"jail.launcher"
MAX_NOTE_BYTES = 4_096
STOP_TIMEOUT_S = 0.1
DEATH_TIMEOUT_S = 2.0
_LOOK_AGAIN_S = 0.000_2
_SUFFIX = ".json"
_NAMESPACE = "/proc/self/ns/pid"
_BOOT = "/proc/sys/kernel/random/boot_id"


Refusal: TypeAlias = Callable[[str | None], str | None]


class Identity(NamedTuple):
    """One process among all that ever had its number."""

    pid: int
    started: int
    """In ticks since the machine was."""
    boot: str
    namespace: str
    """Numbers mean nothing outside of the container that they were given in."""


class KillReport(NamedTuple):
    killed: tuple[int, ...]
    left: tuple[str, ...]
    """What could not be killed, each with its reason."""


class Running:
    """The notes of one folder, or of none. `refusal` says why nothing may run, or why the program of that name may not;
    None if it may. It is asked after each note.

    Without `required`, a folder that cannot be written to means that nothing is noted: for a program that a person
    started and watches, and that has no home.
    """

    def __init__(
        self,
        folder: Path | None = None,
        refusal: Refusal = lambda _: None,
        *,
        required: bool = True,
        name: str | None = None,
    ) -> None:
        self._folder = folder
        self._required = required
        self._has_swept = False
        self._refusal = refusal
        self._name = name

    def also(self, refusal: Callable[[], str | None]) -> Running:
        """The same notes, for somebody who has reasons of his own."""
        return Running(self._folder, lambda name: refusal() or self._refusal(name), required=self._required)

    def of(self, name: str) -> Running:
        """Notes of one program among all others, so that it can be killed alone. Without a name nothing is noted."""
        folder = self._folder / name if self._folder is not None and name else None
        return Running(folder, self._refusal, required=self._required, name=name or None)

    def refusal(self) -> str | None:
        """Why nothing may run; None while it may."""
        return self._refusal(self._name)

    def note(self, pid: int) -> None:
        """Raises SandboxUnavailable when the process cannot be noted or may not run: the caller ends it then."""
        self.check()
        identity = identity_of(pid)
        if identity is not None and self._folder is not None:
            try:
                self._write(self._folder, identity)
            except OSError as error:
                if self._required:
                    message = f'Cannot note what runs in "{self._folder}": {error.strerror}; nothing runs without it'
                    raise SandboxUnavailable(message) from error
        # Once more: who forbade it after the first look may have looked for notes before this one was there.
        self.check()

    def check(self) -> None:
        """Raises NothingMayRun while that is so."""
        reason = self.refusal()
        if reason is not None:
            raise NothingMayRun(reason)

    def forget(self, pid: int) -> None:
        """The process is gone. Never raises."""
        if self._folder is not None:
            _unlink(_path(self._folder, pid))

    def _write(self, folder: Path, identity: Identity) -> None:
        private_folder(folder)
        if not self._has_swept:
            self._has_swept = True
            _sweep(folder)
        path = _path(folder, identity.pid)
        note = {**identity._asdict(), "host": os.getpid()}
        try:
            replace_file(path, json.dumps(note).encode() + b"\n")
        except OSError:
            # A full disk often still takes an empty file, and its name is the number.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))


NOT_NOTED = Running()


def identity_of(pid: int) -> Identity | None:
    """None for a process that is gone, and on a system that does not tell."""
    stat = _stat(pid)
    if stat is None or stat.is_dead:
        return None
    try:
        return Identity(pid, stat.started, Path(_BOOT).read_text().strip(), os.readlink(_NAMESPACE))
    except OSError:
        return None


def kill_recorded(folder: Path) -> KillReport:
    """Kill every process that is noted in the folder, and all that it started. Returns when they are dead, or could
    not be killed within two seconds. Never raises."""
    with _undisturbed():
        hunt = _Hunt()
        for path in _notes(folder):
            hunt.add(path)
        return hunt.finish()


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


class _Stat(NamedTuple):
    state: str
    parent: int
    group: int
    started: int

    @property
    def is_dead(self) -> bool:
        return self.state in {"Z", "X"}


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
        pid = _pid_of(path)
        noted = _read(path)
        found = identity_of(pid)
        if noted is None:
            # Half a note, of a full disk: its name is a number, and who has it now says whether it is one of ours.
            if found is None or LAUNCHER_MARK not in _command_line(pid):
                _unlink(path)
                return
        elif noted.boot == _boot() and noted.namespace != _namespace():
            self._left.append(f"process {noted.pid} runs in another container: it has to see the switch by itself")
            return
        self.aim(pid, path, noted)

    def aim(self, pid: int, note: Path | None, noted: Identity | None = None) -> None:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            _unlink(note)
            return
        except OSError as error:
            self._left.append(f"process {pid}: {error.strerror}")
            return
        # Looked at again, now that the handle holds on to it: the number may have changed hands in between.
        if noted is not None and identity_of(pid) != noted:
            os.close(handle)
            _unlink(note)
            return
        try:
            signal.pidfd_send_signal(handle, signal.SIGSTOP)
        except ProcessLookupError:
            os.close(handle)
            _unlink(note)
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
        for child in _children(pid):
            try:
                handle = os.pidfd_open(child)
            except OSError:
                continue
            stat = _stat(child)
            if stat is None or stat.parent != pid:
                os.close(handle)
                continue
            self._kill_below(child)
            self._kill(_Target(child, handle, None))

    def _kill(self, target: _Target) -> None:
        stat = _stat(target.pid)
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
                _unlink(waiting.pop(handle).note)
        self._left.extend(f"process {target.pid} was killed and has not ended" for target in waiting.values())
        return tuple(target.pid for target in self._killed if target.handle not in waiting)


def _notes(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix == _SUFFIX and path.stem.isdecimal()]
    except OSError:
        return []


def _read(path: Path) -> Identity | None:
    try:
        with path.open("rb") as file:
            fields: Any = json.loads(file.read(MAX_NOTE_BYTES))
        noted = Identity(*(fields[name] for name in Identity._fields))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return noted if noted.pid == _pid_of(path) else None


def _sweep(folder: Path) -> None:
    """Delete the notes of what is gone: a host that was killed by force has forgotten nothing."""
    for path in _notes(folder):
        noted = _read(path)
        if noted is None or (noted.boot == _boot() and noted.namespace != _namespace()):
            continue
        if noted != identity_of(noted.pid):
            _unlink(path)


def _unlink(path: Path | None) -> None:
    if path is not None:
        with suppress(OSError):
            os.unlink(path)


def _path(folder: Path, pid: int) -> Path:
    return folder / f"{pid}{_SUFFIX}"


def _pid_of(path: Path) -> int:
    return int(path.stem)


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        # Behind the name, which the process chooses itself.
        fields = text.rpartition(")")[2].split()
        return _Stat(fields[0], int(fields[1]), int(fields[2]), int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        return [
            int(child)
            for thread in threads
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
        ]
    except FileNotFoundError:
        # Not every kernel has that file.
        numbers = (int(name) for name in os.listdir("/proc") if name.isdecimal())
        return [number for number in numbers if (stat := _stat(number)) is not None and stat.parent == pid]
    except OSError:
        return []


def _wait_until_stopped(pid: int, give_up: float) -> None:
    while (stat := _stat(pid)) is not None and stat.state not in {"T", "t", "Z", "X"} and time.monotonic() < give_up:
        time.sleep(_LOOK_AGAIN_S)


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _boot() -> str:
    try:
        return Path(_BOOT).read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return os.readlink(_NAMESPACE)
    except OSError:
        return ""
