"""Keeps one small file for each program that is open on a home, with what it runs now; also true after a crash.

Written by a task that looks every now and then, so that a run pays a dictionary entry for it; a run that is over sooner
is never in the file. A program that was killed leaves its file, whose process is then found to be gone.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import anyio
import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cortex.contracts import ExecutionCutShort, ExecutionEnded, ExecutionStarted, Refused
from sandbox import identity_of, private_folder, replace_file

from .details import run_id

if TYPE_CHECKING:
    from cortex.contracts import CortexEvent

LOOK_S = 0.2
LEAST_S = 0.2
"""A run is noted once it has taken this long."""
MAX_RUNS = 64
MAX_FILE_BYTES = 131_072
MAX_PROGRAMS = 100
_MAX_TEXT = 200
_FORGET_S = 86_400.0
_SUFFIX = ".json"

ProgramState: TypeAlias = Literal["open", "gone", "unknown"]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RunNow(_Data):
    """A run that has begun."""

    id: str = Field(max_length=_MAX_TEXT)
    at: float
    purpose: str = Field(default="", max_length=_MAX_TEXT)
    tier: str = Field(default="", max_length=20)
    timeout_ms: int = 0
    code_hash: str = Field(default="", max_length=64)


class OpenProgram(_Data):
    """A program that has opened the home. Another process of the same user may have written the file."""

    format: Literal[1] = 1
    pid: int
    started: int | None = None
    """As the system counts it, to tell the process from a later one of the same pid."""
    boot: str = Field(default="", max_length=100)
    namespace: str = Field(default="", max_length=100)
    at: float
    version: str = Field(default="", max_length=50)
    program: str = Field(default="", max_length=_MAX_TEXT)
    """The name of what was started, without its path and arguments."""
    energy: dict[str, Any] = Field(default_factory=dict)
    """The section of its settings."""
    wall: str = Field(default="", max_length=50)
    runs: Annotated[tuple[RunNow, ...], Field(max_length=MAX_RUNS)] = ()
    runs_left_out: int = 0
    state: ProgramState = "unknown"
    """Whether the process is there; unknown for one of another container."""


class OpenProgramFile:
    """The file of one program."""

    def __init__(
        self,
        folder: Path,
        facts: Callable[[], dict[str, Any]],
        *,
        redacted: Callable[[str], str] = lambda text: text,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`facts` are `version`, `energy` and `wall`, known when the program has opened the home."""
        self._folder = folder
        self._facts = facts
        self._now = now
        own = identity_of(os.getpid())
        self._path = folder / f"{os.getpid()}-{secrets.token_hex(4)}{_SUFFIX}"
        self._head: dict[str, Any] = {
            "format": 1,
            "pid": os.getpid(),
            "started": None if own is None else own.started,
            "boot": "" if own is None else own.boot,
            "namespace": "" if own is None else own.namespace,
            "at": now(),
            "program": redacted(os.path.basename(sys.argv[0]) if sys.argv else "")[:_MAX_TEXT],
        }
        self._runs: dict[tuple[str, int], tuple[float, float, Any]] = {}
        self._written: frozenset[tuple[str, int]] | None = None

    def hear(self, event: CortexEvent) -> None:
        """Take a run that begins or has ended. On the hot path: it only changes a dictionary."""
        match event:
            case ExecutionStarted(intent=intent):
                if intent.trace is not None:
                    key = (intent.trace.turn, intent.trace.call)
                    self._runs[key] = (time.monotonic(), self._now(), event)
            case ExecutionEnded(intent=intent) | ExecutionCutShort(intent=intent) | Refused(intent=intent):
                if intent is not None and intent.trace is not None:
                    self._runs.pop((intent.trace.turn, intent.trace.call), None)
            case _:
                pass

    def begin(self) -> None:
        """Write the file for the first time, and forget programs that ended long ago. Never raises."""
        with suppress(OSError):
            private_folder(self._folder)
            _sweep(self._folder, self._now())
        self._head |= self._facts()
        self._write(self._due())

    async def keep(self) -> None:
        """Write the file when other runs than it names are under way, until cancelled."""
        while True:
            await anyio.sleep(LOOK_S)
            due = self._due()
            if due.keys() != self._written:
                await anyio.to_thread.run_sync(self._write, due)

    def end(self) -> None:
        """Delete the file. Never raises."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _due(self) -> dict[tuple[str, int], tuple[float, float, Any]]:
        since = time.monotonic() - LEAST_S
        # A copy: other tasks begin and end runs while the file is written.
        return {key: run for key, run in [*self._runs.items()] if run[0] <= since}

    def _write(self, due: dict[tuple[str, int], tuple[float, float, Any]]) -> None:
        runs = [
            {
                "id": run_id(*key)[:_MAX_TEXT],
                "at": round(at, 3),
                "purpose": event.intent.payload.purpose[:_MAX_TEXT],
                "tier": str(event.intent.payload.tier),
                "timeout_ms": event.intent.payload.timeout,
                "code_hash": event.code_hash,
            }
            for key, (_, at, event) in [*due.items()][:MAX_RUNS]
        ]
        facts = {**self._head, "runs": runs, "runs_left_out": max(0, len(due) - MAX_RUNS)}
        with suppress(OSError, ValueError):
            replace_file(self._path, json.dumps(facts).encode() + b"\n")
        # After a failure too: the disk is tried again when the runs are others.
        self._written = frozenset(due)


def open_programs(folder: Path) -> list[OpenProgram]:
    """The programs of the folder, newest first; those whose process is gone were killed, or the machine stopped.
    Creates nothing; leaves out what is damaged."""
    found = [program for path in _paths(folder) if (program := _read(path)) is not None]
    return sorted(found, key=lambda program: program.at, reverse=True)


def _paths(folder: Path) -> Iterator[Path]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_SUFFIX) and not name.startswith("."))
    except OSError:
        return
    yield from (folder / name for name in names[:MAX_PROGRAMS])


def _read(path: Path) -> OpenProgram | None:
    try:
        with path.open("rb") as file:
            # A longer file is cut, and then no JSON.
            program = OpenProgram.model_validate_json(file.read(MAX_FILE_BYTES))
    except (OSError, ValidationError, ValueError, RecursionError):
        return None
    return program.model_copy(update={"state": _state_of(program)})


def _state_of(program: OpenProgram) -> ProgramState:
    own = identity_of(os.getpid())
    if own is None or program.started is None:
        return "unknown"
    if program.boot != own.boot:
        return "gone"
    if program.namespace != own.namespace:
        return "unknown"
    now = identity_of(program.pid)
    return "open" if now is not None and now.started == program.started else "gone"


def _sweep(folder: Path, now: float) -> None:
    """Delete the files of programs that have been gone for a day, and the oldest of too many."""
    gone = sorted(
        ((program.at, path) for path in _paths(folder) if (program := _read(path)) and program.state == "gone"),
        reverse=True,
    )
    for place, (_, path) in enumerate(gone):
        with suppress(OSError):
            if place >= MAX_PROGRAMS // 2 or now - path.stat().st_mtime > _FORGET_S:
                path.unlink(missing_ok=True)
