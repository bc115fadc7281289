"""The kill switch of a home: a file. While the file exists nothing runs, in any process and after any restart.

This module depends on almost nothing: no event loop, no model, no network, no settings, and nothing that is slow to
import. A switch that cannot be read counts as on.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sandbox import (
    FILE_MODE,
    KillReport,
    flush_file,
    flush_folder,
    kill_recorded,
    private_folder,
    replace_file,
    stop_hosts,
)

from ..contracts import NeuronError, Refused

if TYPE_CHECKING:
    from ..contracts import Record

FILE = "KILLED"
FOLDER = "KILLED.d"
"""The folder with one file for each neuron that was killed alone."""
RUNNING = "running"
LOCK = ".KILLED.lock"
LOCK_TIMEOUT_S = 5.0
MAX_BYTES = 16_384
MAX_REASON = 500
_TRIES = 5
_MEANWHILE_S = 0.1
_LOOK_AGAIN_S = 0.001
_ID = re.compile(r"[a-z0-9-]{1,80}\Z")

# Written into the file for a person who opens it.
_HINT = 'turn it off with "cortex revive --reason ..."'


class SwitchError(NeuronError):
    """The switch could not be turned off. The message says why and what to do."""


class Off(NamedTuple):
    """Everything may run."""


class On(NamedTuple):
    """Nothing may run, or, if `neuron` is set, that neuron may not."""

    reason: str
    at: float
    """Seconds of the clock. If the switch file does not say, its modification time; 0 when that is unknown too."""
    by: str
    neuron: str | None = None

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.at)) if self.at else "an unknown time"
        which = f" for {self.neuron}" if self.neuron else ""
        back = f"cortex revive --neuron {self.neuron}" if self.neuron else "cortex revive"
        return f'Kill switch is on{which} since {since} ({self.reason}). The owner can turn it off with "{back}"'


State: TypeAlias = Off | On
Stamp: TypeAlias = tuple[int, int, int]
"""Modification time, inode and size: changes when the file changes."""
_OFF = Off()


class Killed(NamedTuple):
    """The result of `turn_on`. If `problems` is empty, everything is dead and stays dead even after a power cut."""

    on: On
    was_on: bool
    is_on: bool
    """False only when the home cannot store even an empty file: the running processes were killed, but new ones may
    start."""
    processes: tuple[int, ...]
    problems: tuple[str, ...]


class KillSwitch:
    """Reads, sets and clears the switch. Any number of objects and processes may share one. `record` writes to the
    audit."""

    def __init__(self, folder: Path, *, record: Record | None = None, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._path = str(folder / FILE)
        self._record = record
        self._now = now
        self._paths: dict[str, str] = {}
        self._known: dict[str, tuple[Stamp, On]] = {}

    @property
    def running(self) -> Path:
        """The folder in which running processes of this home are recorded: see `sandbox.Running`."""
        return self._folder / RUNNING

    def state(self, neuron: str | None = None) -> State:
        """The state of the switch for everything, or also for one neuron. While off, costs one file lookup, or two with
        a neuron. Never raises."""
        found = self._look(self._path, None)
        if neuron is None or isinstance(found, On):
            return found
        path = self._paths.get(neuron)
        if path is None:
            try:
                path = self._paths[neuron] = str(self._own(neuron))
            except Refused as error:
                return On(str(error), 0.0, "", neuron)
        return self._look(path, neuron)

    def refusal(self, neuron: str | None = None) -> str | None:
        """The reason why nothing, or this neuron, may run; None while it may."""
        found = self.state(neuron)
        return str(found) if isinstance(found, On) else None

    def turn_on(self, reason: str, by: str, *, neuron: str | None = None) -> Killed:
        """Stop everything now, or one neuron. Never raises for a fault of the disk or the system: it does what it can
        and reports the rest in `problems`. Raises Refused for an invalid neuron id."""
        on = On(_one_line(reason) or "no reason was given", self._now(), _one_line(by) or "owner", neuron)
        path = self._own(neuron) if neuron is not None else Path(self._path)
        before = self._look(str(path), neuron)
        # Written again even when it is already on, with its present text: another process that is just turning it off
        # must not win the race.
        problems, report = self._stop(path, before if isinstance(before, On) and before.by else on)
        if self._record is not None:
            try:
                self._record("owner_decision", by=on.by, reason=on.reason, **_what("kill", neuron))
            except Exception as error:  # noqa: BLE001 - a failing audit must not undo the kill
                problems.append(f"it is not in the audit: {error}")
        found = self._look(str(path), neuron)
        if isinstance(found, Off):
            problems.insert(0, "the switch is not on: what ran was killed, and more can be started")
        in_force = found if isinstance(found, On) and found.by else on
        return Killed(in_force, isinstance(before, On), isinstance(found, On), report.killed, tuple(problems))

    def _stop(self, path: Path, on: On) -> tuple[list[str], KillReport]:
        """Write the switch, kill the recorded processes, and make sure that the switch survives."""
        killed: tuple[int, ...] = ()
        stopped: list[str] = []
        for _ in range(_TRIES):
            # All processes see the switch from here on. It is flushed further below: a slow disk must not delay the
            # kill.
            problems = _write(path, on)
            folder = self.running if on.neuron is None else self.running / on.neuron
            if not os.path.lexists(path):
                stopped += self._stop_hosts(folder)
            report = kill_recorded(folder)
            killed += report.killed
            problems += report.left
            with self._alone(_MEANWHILE_S) as is_alone:
                if not is_alone:
                    problems.append("another process hangs while it turns the switch off: it may go off again")
                if not os.path.lexists(path):
                    continue  # another process, turning off the previous switch, has removed this one
                problems += _flush(path)
            break
        return problems + stopped, KillReport(killed, report.left)

    def _stop_hosts(self, folder: Path) -> list[str]:
        """The last resort, when the switch cannot be written: stop the host processes that would start new ones, for
        one neuron, too: whichever leads would start that again."""
        report = stop_hosts(self.running, folder)
        stopped = [
            f"process {pid}, which runs agents of this home, was stopped, because the switch cannot be written: "
            f'"kill -CONT {pid}" lets it go on, "kill -KILL {pid}" ends it'
            for pid in report.killed
        ]
        return [*stopped, *report.left]

    def turn_off(self, reason: str, by: str, *, neuron: str | None = None) -> State:
        """Turn the switch off and return its previous state. It is recorded in the audit first; if that fails, the
        switch stays on. Raises Refused without a reason, SwitchError when the switch stays on, and what the audit
        raises."""
        said = _one_line(reason)
        if not said:
            raise Refused("Turning the kill switch off needs a reason")
        path = self._own(neuron) if neuron is not None else Path(self._path)
        stamp = _stamp(path)
        before = self._look(str(path), neuron)
        if isinstance(before, Off):
            return before
        if self._record is not None:
            self._record("owner_decision", by=_one_line(by) or "owner", reason=said, **_what("revive", neuron))
        try:
            with self._alone(LOCK_TIMEOUT_S) as is_alone:
                if not is_alone:
                    raise SwitchError("The kill switch stays on: another process holds its lock and hangs")
                if _stamp(path) != stamp:
                    raise SwitchError("The kill switch was turned on again meanwhile: it stays on")
                path.unlink(missing_ok=True)
                flush_folder(path.parent)
        except OSError as error:
            raise SwitchError(f'Cannot turn the kill switch off: "{path}": {error.strerror}') from error
        return before

    def _own(self, neuron: str) -> Path:
        if not _ID.match(neuron):
            raise Refused(f'There is no neuron "{neuron[:80]}": an id has small letters, digits and -')
        return self._folder / FOLDER / neuron

    @contextmanager
    def _alone(self, wait_s: float) -> Iterator[bool]:
        """Hold the lock that `turn_off` takes. Yields False when another process holds it for longer than `wait_s`."""
        try:
            handle = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        except OSError:
            yield True  # if the home cannot store the lock, it did not store the switch either
            return
        try:
            yield _locked(handle, time.monotonic() + wait_s)
        finally:
            os.close(handle)

    def _look(self, path: str, neuron: str | None) -> State:
        try:
            # lstat, not stat: a symbolic link that leads nowhere counts as on, too.
            found = os.lstat(path)
        except FileNotFoundError:
            return _OFF
        except OSError as error:
            # Without a home (its parent would be below /dev/null) there is no switch either.
            if isinstance(error, NotADirectoryError) and not self._folder.parent.is_dir():
                return _OFF
            return On(f'"{path}" cannot be looked at: {error.strerror}', 0.0, "", neuron)
        stamp = _stamped(found)
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = self._known[path] = (stamp, _read(path, found.st_mtime, neuron))
        return known[1]


def _write(path: Path, on: On) -> list[str]:
    """Write the switch file; return what went wrong."""
    data = {"reason": on.reason, "at": on.at, "by": on.by, "hint": _HINT}
    try:
        private_folder(path.parent)
        replace_file(path, json.dumps(data, indent=2).encode() + b"\n")
    except OSError as error:
        # A full disk often still takes an empty file, which counts as on.
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))
        return [f'the reason could not be written to "{path}": {error.strerror}']
    return []


def _flush(path: Path) -> list[str]:
    try:
        flush_file(path)
        for folder in (path.parent, path.parent.parent):
            flush_folder(folder)
    except OSError as error:
        return [f"after a power cut the switch may be off: {error.strerror}"]
    return []


def _locked(handle: int, give_up: float) -> bool:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > give_up:
                return False
            time.sleep(_LOOK_AGAIN_S)
        else:
            return True


def _stamp(path: Path) -> Stamp | None:
    try:
        return _stamped(os.lstat(path))
    except OSError:
        return None


def _stamped(found: os.stat_result) -> Stamp:
    return found.st_mtime_ns, found.st_ino, found.st_size


def _read(path: str, changed_at: float, neuron: str | None) -> On:
    try:
        with open(path, "rb") as file:
            said: Any = json.loads(file.read(MAX_BYTES))
        reason, at, by = said["reason"], said["at"], said["by"]
        if isinstance(reason, str) and isinstance(by, str) and by and isinstance(at, int | float) and 0 <= at < 2**40:
            return On(_one_line(reason), float(at), _one_line(by), neuron)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    return On(f'"{path}" cannot be read, which counts as on', changed_at, "", neuron)


def _one_line(text: str) -> str:
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:MAX_REASON]


def _what(action: str, neuron: str | None) -> dict[str, str]:
    return {"what": action} if neuron is None else {"what": f"{action} {neuron}", "neuron": neuron}
