"""Writes a note (a file) for each running process of a home, so that another program, the kill command, can kill it
even while its host is stopped or hangs.

The host notes a process before it sends it anything, and then checks again whether anything may run. So there is no
race: a killer that first sets the switch and then kills everything noted misses nothing, because either it finds the
note, or the host sees the switch. Nothing here waits for an event loop or imports one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from ..contracts import NothingMayRun, SandboxUnavailable
from ..disk import FILE_MODE, private_folder, replace_file
from .process_facts import Identity, boot, identity_of, namespace

MAX_NOTE_BYTES = 4_096
# More digits than any pid has.
MAX_DIGITS = 9
_SUFFIX = ".json"

Refusal: TypeAlias = Callable[[str | None], str | None]


class Running:
    """The notes in one folder; without a folder nothing is noted. `refusal` returns why nothing may run, or why the
    program of that name may not; None if it may. It is called before and after each note is written.

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
        """The same notes, with one more reason to refuse."""
        return Running(self._folder, lambda name: refusal() or self._refusal(name), required=self._required)

    def of(self, name: str) -> Running:
        """The notes of one named program, so that it can be killed alone. Without a name nothing is noted."""
        folder = self._folder / name if self._folder is not None and name else None
        return Running(folder, self._refusal, required=self._required, name=name or None)

    def refusal(self) -> str | None:
        """Why nothing may run; None while it may."""
        return self._refusal(self._name)

    def note(self, pid: int) -> None:
        """Note a process. Raises SandboxUnavailable if it cannot be noted or may not run: then the caller ends it."""
        self.check()
        identity = identity_of(pid)
        if identity is not None and self._folder is not None:
            try:
                self._write(self._folder, identity)
            except OSError as error:
                if self._required:
                    message = (
                        f'Cannot record running processes in "{self._folder}": {error.strerror}; '
                        "nothing is started without such a record"
                    )
                    raise SandboxUnavailable(message) from error
        # Checked again: a killer that set the switch after the first check may have read the notes before this one.
        self.check()

    def check(self) -> None:
        """Raises NothingMayRun while running is forbidden."""
        reason = self.refusal()
        if reason is not None:
            raise NothingMayRun(reason)

    def forget(self, pid: int) -> None:
        """Delete the note of a process that is gone. Never raises."""
        if self._folder is not None:
            unlink(path_of(self._folder, pid))

    def _write(self, folder: Path, identity: Identity) -> None:
        private_folder(folder)
        if not self._has_swept:
            self._has_swept = True
            _sweep(folder)
        path = path_of(folder, identity.pid)
        host = identity_of(os.getpid())
        note = {**identity._asdict(), "host": os.getpid(), "host_started": None if host is None else host.started}
        try:
            replace_file(path, json.dumps(note).encode() + b"\n")
        except OSError:
            # A full disk often still takes an empty file, and its name is the pid.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))


NOT_NOTED = Running()


def notes_in(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix == _SUFFIX and _is_number(path.stem)]
    except OSError:
        return []


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) <= MAX_DIGITS


def read_note(path: Path) -> Identity | None:
    try:
        fields = _fields_of(path)
        noted = Identity(*(fields[name] for name in Identity._fields))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return noted if noted.pid == pid_of(path) else None


def host_in(path: Path) -> tuple[int, int | None] | None:
    """The pid of the program that wrote the note, and when that program was started, where the note says it."""
    try:
        fields = _fields_of(path)
        host, started = fields["host"], fields.get("host_started")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return (host, started) if isinstance(host, int) and isinstance(started, int | None) else None


def _fields_of(path: Path) -> Any:
    with path.open("rb") as file:
        return json.loads(file.read(MAX_NOTE_BYTES))


def _sweep(folder: Path) -> None:
    """Delete stale notes of processes that are gone: a host that was killed by force could not delete its own."""
    for path in notes_in(folder):
        noted = read_note(path)
        if noted is None or (noted.boot == boot() and noted.namespace != namespace()):
            continue
        if noted != identity_of(noted.pid):
            unlink(path)


def unlink(path: Path | None) -> None:
    if path is not None:
        with suppress(OSError):
            os.unlink(path)


def path_of(folder: Path, pid: int) -> Path:
    return folder / f"{pid}{_SUFFIX}"


def pid_of(path: Path) -> int:
    return int(path.stem)
