"""Reads the runs of a home, newest first. Creates nothing; leaves out what is torn, damaged or of another format."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from .details import MAX_LINE_BYTES, Entry, ForgottenRun, RunDetails, entry_of
from .recording import MAX_RECORDING_BYTES, RunRecording, unpacked
from .run_files import lines_backwards, order_of, part_names, path_of, recording_path

if TYPE_CHECKING:
    from cortex.audit import Trail

MAX_READ_BYTES = 8 * 1024 * 1024
"""One page reads at most this much, and has a cursor to go on from."""
MAX_LISTED = 1_000
_MAX_ALIKE = 10
_PLAIN = re.compile(r"[ !#-\[\]-~]+")


class AmbiguousRun(LookupError):
    """Several runs begin like this."""

    def __init__(self, ids: list[str]) -> None:
        super().__init__(f"several runs begin like this: {', '.join(ids[:_MAX_ALIKE])}")
        self.ids = ids


class RecordingChanged(ValueError):
    """The recording of a run is not what was written."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are wanted: those that fit all that is given. A forgotten run fits only an empty filter."""

    text: str = ""
    """In the purpose, the id or the hash of the code; capitals do not matter."""
    outcome: str | None = None
    tier: str | None = None
    tool: str | None = None
    """The name of a tool that was called."""
    host: str | None = None
    """A host that was asked."""
    turn: str | None = None
    conversation: str | None = None
    code_hash: str | None = None
    error_type: str | None = None
    origin: str | None = None
    since: float | None = None
    """In seconds since 1970."""
    until: float | None = None

    def fits(self, entry: Entry) -> bool:
        if isinstance(entry, ForgottenRun):
            return self == RunFilter()
        same: tuple[tuple[Any, Any], ...] = (
            (self.outcome, entry.outcome),
            (self.tier, entry.tier),
            (self.turn, entry.turn),
            (self.conversation, entry.conversation),
            (self.code_hash, entry.code_hash),
            (self.error_type, entry.error_type),
            (self.origin, entry.origin),
        )
        return (
            all(wanted is None or wanted == found for wanted, found in same)
            and (self.since is None or entry.at >= self.since)
            and (self.until is None or entry.at < self.until)
            and (self.tool is None or any(call.name == self.tool for call in entry.calls))
            and (self.host is None or any(_host(one.url) == self.host for one in entry.requests))
            and (not self.text or self.text.casefold() in f"{entry.purpose}\n{entry.id}\n{entry.code_hash}".casefold())
        )

    def sieve(self) -> Callable[[bytes], bool]:
        """A check of a line that costs little beside reading it: False where it cannot fit."""
        exact = {
            "outcome": self.outcome,
            "tier": self.tier,
            "turn": self.turn,
            "conversation": self.conversation,
            "code_hash": self.code_hash,
            "error_type": self.error_type,
            "origin": self.origin,
            "name": self.tool,
        }
        needles = [f'"{name}":{json.dumps(value)}'.encode() for name, value in exact.items() if value is not None]
        # What JSON would escape, and letters whose capitals are other letters, are left to the filter itself.
        text = self.text.lower().encode() if _PLAIN.fullmatch(self.text) else b""
        host = self.host.encode() if self.host is not None and _PLAIN.fullmatch(self.host) else b""

        def may_fit(line: bytes) -> bool:
            if not all(needle in line for needle in needles):
                return False
            if b"\\u" in line:
                return True
            # The purpose, the id and the hash of the code stand before this member.
            return (not text or text in line[: line.find(b',"timeout_ms":')].lower()) and (
                not host or host in line.lower()
            )

        return may_fit


EVERY_RUN = RunFilter()


@dataclass(frozen=True, slots=True)
class RunPage:
    runs: tuple[Entry, ...]
    before: str | None
    """Where the next page goes on; None at the end."""
    damaged: int = 0
    """Lines of this page that are no runs; with a filter, of those that it had to look at."""


class RunReader:
    """The runs of one home, by the folder `runs` in it. Raises OSError when the disk does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def newest(self, wanted: RunFilter = EVERY_RUN, *, before: str | None = None, most: int = 100) -> RunPage:
        """At most `most` runs that fit, newest first, before a cursor. Raises ValueError for what is no cursor.

        Reads at most 8 MiB: a page may have fewer runs than asked for, and still a cursor."""
        found: list[Entry] = []
        damaged = 0
        most = min(max(1, most), MAX_LISTED)
        read_bytes, last = 0, None
        may_fit = wanted.sieve()
        for position, line in self._backwards(before):
            if len(found) == most or read_bytes >= MAX_READ_BYTES:
                return RunPage(tuple(found), last, damaged)
            read_bytes += len(line)
            last = position
            if not may_fit(line):
                continue
            entry = entry_of(line, position)
            if entry is None:
                damaged += 1
            elif wanted.fits(entry):
                found.append(entry)
        return RunPage(tuple(found), None, damaged)

    def after(self, position: str | None = None, *, most: int = MAX_LISTED) -> list[Entry]:
        """At most `most` runs behind a position, or from the first on, oldest first."""
        return list(islice(self._forwards(position), most))

    def find(self, prefix: str) -> Entry | None:
        """The newest run of this id, or the only one whose id begins like this. Raises AmbiguousRun."""
        if not prefix:
            return None
        alike: dict[str, Entry] = {}
        needle = prefix.encode(errors="replace")
        for position, line in self._backwards(None):
            if needle not in line:
                continue
            entry = entry_of(line, position)
            if entry is None or not entry.id.startswith(prefix):
                continue
            if entry.id == prefix:
                return entry
            alike.setdefault(entry.id, entry)
        if len(alike) > 1:
            raise AmbiguousRun(list(alike))
        return next(iter(alike.values()), None)

    def at(self, position: str) -> Entry | None:
        """The run at a position, if one begins there."""
        name, offset = _place(position)
        try:
            with path_of(self._folder, name).open("rb") as file:
                file.seek(max(0, offset - 1))
                if offset and file.read(1) != b"\n":
                    return None
                line = file.readline(MAX_LINE_BYTES + 1)
        except FileNotFoundError:
            return None
        return entry_of(line[:-1], position) if line.endswith(b"\n") else None

    def recording(self, details: RunDetails) -> RunRecording | None:
        """What the code of the run can be run again with; None if there is none, or it is gone. Raises
        RecordingChanged."""
        if details.recording is None:
            return None
        try:
            with recording_path(self._folder, details.recording.id).open("rb") as file:
                data = file.read(MAX_RECORDING_BYTES + 1)
        except FileNotFoundError:
            return None
        if hashlib.sha256(data).hexdigest() != details.recording.hash:
            raise RecordingChanged(f"the recording of run {details.id} is not what was written")
        return unpacked(data)

    def _backwards(self, before: str | None) -> Iterator[tuple[str, bytes]]:
        names = part_names(self._folder)
        end = None
        if before is not None:
            last, end = _place(before)
            names = [name for name in names if order_of(name) <= order_of(last)]
            end = end if names and names[-1] == last else None
        for name in reversed(names):
            try:
                handle = os.open(path_of(self._folder, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except FileNotFoundError:
                continue
            try:
                size = os.fstat(handle).st_size
                for offset, line in lines_backwards(handle, size if end is None else min(end, size)):
                    yield f"{name}:{offset}", line
            finally:
                os.close(handle)
            end = None

    def _forwards(self, position: str | None) -> Iterator[Entry]:
        names, offset = part_names(self._folder), 0
        if position is not None:
            first, offset = _place(position)
            names = [name for name in names if order_of(name) >= order_of(first)]
            offset = offset if names and names[0] == first else 0
        for name in names:
            try:
                with path_of(self._folder, name).open("rb") as file:
                    file.seek(offset)
                    if offset:
                        file.readline(MAX_LINE_BYTES + 1)  # that at the position itself
                    while (line := file.readline(MAX_LINE_BYTES + 1)).endswith(b"\n"):
                        entry = entry_of(line[:-1], f"{name}:{file.tell() - len(line)}")
                        if entry is not None:
                            yield entry
            except FileNotFoundError:
                continue
            offset = 0


def standing(entry: Entry, trail: Trail) -> Literal["matches", "differs", "unknown"]:
    """Whether the audit has the hash of what is there. `unknown`: the audit has no record of it, because it could not
    be written, or another program wrote the run. Of a forgotten run: whether that run was there. Raises AuditError."""
    record = None if entry.audit is None else trail.find(entry.audit)
    if record is None or record.kind != "details" or record.facts.get("run") != entry.id:
        return "unknown"
    return "matches" if record.facts.get("details_hash") == entry.hash else "differs"


def _place(position: str) -> tuple[str, int]:
    name, _, offset = position[:60].rpartition(":")
    order_of(name)
    if not (offset.isascii() and offset.isdecimal()):
        raise ValueError("expected a cursor that the reader of runs gave")
    return name, int(offset)


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
