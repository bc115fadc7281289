"""Writes the audit log: one line for each event, in one hash chain that all processes of a home share.

When `record` returns, the whole line is with the operating system: it survives the end of the process. The flusher
writes it to disk, where it survives a power cut.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox import (
    FileLock,
    Flusher,
    LockBusy,
    append_whole,
    flush_file,
    flush_folder,
    open_lines,
    private_folder,
)

from . import days
from .code_folder import CodeFolder, code_hash
from .facts import Bounded, bounded
from .head import START, Found, Head, Known, find_head, has_changed, read_known, write_known
from .lines import Record, is_kind, sealed
from .neuron_changes import NeuronChanges
from .ports import AuditError, FactRefused, trouble
from .verdict import Extent, Verdict, inspect

if TYPE_CHECKING:
    from cortex.settings import AuditSettings

# The caller may be an event loop. A lock holder needs microseconds: if it takes this long, it has been stopped.
LOCK_TIMEOUT_S = 2.0
FOLLOW_INTERVAL_S = 0.25


class Audit:
    """The audit of a home. Any number of objects, threads and processes may write to one folder. Nothing is created
    before the first record."""

    _handle = -1

    def __init__(
        self,
        folder: Path,
        settings: AuditSettings,
        *,
        now: Callable[[], float] = time.time,
        flusher: Flusher | None = None,
    ) -> None:
        self._folder = folder
        self._path = str(folder)
        self._settings = settings
        self._now = now
        self._flusher = flusher or Flusher(settings.flush_ms)
        self._lock = FileLock(folder / ".lock")
        self._head_lock = FileLock(folder / ".head.lock")
        self._code = CodeFolder(folder / "code")
        self._neuron_changes = NeuronChanges(folder)
        self._head = Head()
        self._flushed = START
        self._handle_inode = 0

    def record(self, kind: str, /, **facts: Any) -> Record:
        """Add a line. Raises AuditError if it cannot be written: then no part of it is there."""
        if not is_kind(kind):
            raise FactRefused(f'"{kind!s:.60}" is not the name of a kind: use small letters and _')
        said = bounded(facts)
        with _troubles("write to the audit in", self._folder):
            try:
                record = self._record(kind, said)
            except FileNotFoundError:
                private_folder(self._folder)
                record = self._record(kind, said)
        self._flusher.want(self, self._flush)
        return record

    def keep_code(self, code: str) -> str:
        """Return the hash of the code, and keep the code if the settings say so. Raises AuditError."""
        own_hash = code_hash(code)
        if self._settings.keep_code:
            with _troubles("keep code in", self._folder):
                path = self._code.keep(code, own_hash)
            if path is not None:
                self._flusher.want(path, partial(_flush_new, path))
        return own_hash

    def code(self, own_hash: object) -> str | None:
        """The code with this hash, if it was kept."""
        with _troubles("read the audit in", self._folder):
            return self._code.read(own_hash)

    def records(self, *, last: int | None = None) -> Iterator[Record]:
        """The last `last` records or all, oldest first. Unreadable lines are left out: `verify` names them."""
        with _troubles("read the audit in", self._folder):
            yield from days.records(self._folder, last=last)

    def newest(self, since: datetime) -> Iterator[Record]:
        """The records since the day of that time, newest first."""
        with _troubles("read the audit in", self._folder):
            yield from days.newest(self._folder, days.day_name(since.astimezone(UTC).isoformat()))

    def before(self, seq: int | None = None) -> Iterator[Record]:
        """The records before that number, or all, newest first. Reads only as far as the caller goes on."""
        with _troubles("read the audit in", self._folder):
            yield from days.before(self._folder, seq)

    def after(self, seq: int) -> Iterator[Record]:
        """The records behind that number, oldest first. Reads only as far as the caller goes on."""
        with _troubles("read the audit in", self._folder):
            yield from days.after(self._folder, seq)

    def find(self, seq: int) -> Record | None:
        with _troubles("read the audit in", self._folder):
            return days.find(self._folder, seq)

    def neuron_changes(self) -> Mapping[str, Mapping[str, Any]]:
        """The facts of the last record about a change of status, of each neuron."""
        with _troubles("read the audit in", self._folder):
            return self._neuron_changes()

    def follow(
        self,
        *,
        last: int = 0,
        interval_s: float = FOLLOW_INTERVAL_S,
        wait: Callable[[float], object] = time.sleep,
    ) -> Iterator[Record]:
        """The last `last` records, and then each new one from any process. Never ends by itself."""
        with _troubles("read the audit in", self._folder):
            tail = days.Tail.before(self._folder, last)
            while True:
                yield from tail.news()
                wait(interval_s)

    def tail(self, last: int = 0) -> days.Tail:
        """A position behind all but the last `last` records, from which a caller reads on whenever it likes."""
        with _troubles("read the audit in", self._folder):
            return days.Tail.before(self._folder, last)

    def verify(self) -> Verdict:
        """Read everything and report what is not as it was written. Raises AuditError if it cannot be read.

        Takes no lock: lines are only appended, and a line that is being written counts as unfinished.
        """
        with _troubles("read the audit in", self._folder):
            return inspect(self._folder, Extent.of(self._folder))

    def close(self) -> None:
        """Flush everything to disk and close the files. Never raises."""
        self._flusher.flush()
        self._forget_handle()
        self._lock.close()
        self._head_lock.close()

    def __del__(self) -> None:
        self._forget_handle()

    def _record(self, kind: str, said: Bounded) -> Record:
        with self._lock.held(LOCK_TIMEOUT_S):
            # The time is read under the lock: a later record must not have an earlier time.
            moment = datetime.fromtimestamp(self._now(), UTC)
            at = moment.isoformat(timespec="microseconds")
            head = self._head
            if days.latest_name(self._path) != head.name or has_changed(self._path, head):
                head = self._catch_up(at)
            self._head = self._append(head, at, kind, said.text)
            return Record(self._head.known.seq, moment, kind, said.facts, head.known.hash, self._head.known.hash)

    def _catch_up(self, at: str) -> Head:
        """Another process has written, or this is the first record: find the end of the chain, and repair it if
        necessary."""
        mine = self._head
        if mine.name and days.latest_name(self._path) == mine.name:
            with suppress(FileNotFoundError):
                found = find_head(self._folder, mine.name)
                if not found.torn_bytes and not found.damaged_lines and found.head.known.seq > mine.known.seq:
                    return found.head
        found = find_head(self._folder)
        known = read_known(self._folder)
        if known is None and not found.head.name and not mine.name:
            # Written before the first line. After this, a missing head.json shows that it was deleted.
            write_known(self._folder, known := START)
        if found.head.name and days.latest_name(self._path) != found.head.name:
            days.point_latest(self._folder, found.head.name)
        return self._repair(found, known, at)

    def _repair(self, found: Found, known: Known | None, at: str) -> Head:
        """Cut off an incomplete line. Any other damage stays and is recorded: damage is never covered up."""
        head = found.head
        if found.torn_bytes:
            os.truncate(self._folder / head.name, head.size)
        last = max(known or START, self._head.known)
        is_other = last.seq == head.known.seq and last.hash != head.known.hash
        facts = {
            "torn_bytes": found.torn_bytes,
            "damaged_lines": found.damaged_lines,
            "missing_records": max(0, last.seq - head.known.seq),
            "changed_end": is_other,
            "head_missing": known is None,
        }
        facts = {name: value for name, value in facts.items() if value}
        if not facts:
            return head
        seq = max(last.seq, head.known.seq + found.damaged_lines)
        # Continue from the remembered end, not from the end found on disk: the gap or wrong hash stays visible.
        true_end = Known(seq, last.hash if last.seq >= head.known.seq else head.known.hash)
        self._head = self._append(replace(head, known=true_end), at, "recovered", bounded(facts).text)
        return self._head

    def _append(self, head: Head, at: str, kind: str, facts: str) -> Head:
        # A clock that was set back must not lead to an older file: the order of the files is the order of the chain.
        name = max(days.day_name(at), head.name)
        if name != head.name:
            if head.name:
                flush_file(self._folder / head.name)
            days.point_latest(self._folder, name)
            head = Head(name, 0, 0, head.known)
        if self._handle < 0 or self._handle_inode != head.inode:
            head = self._open(head)
        line, own_hash = sealed(head.known.seq + 1, at, kind, facts, head.known.hash)
        return Head(name, head.inode, append_whole(self._handle, line), Known(head.known.seq + 1, own_hash))

    def _open(self, head: Head) -> Head:
        self._forget_handle()
        self._handle = open_lines(self._folder / head.name)
        status = os.fstat(self._handle)
        self._handle_inode = status.st_ino
        return replace(head, inode=status.st_ino, size=status.st_size)

    def _flush(self) -> None:
        head = self._head
        if head.known == self._flushed:
            return
        # The lines first: a recorded end without its lines would look as if they had been cut off.
        flush_file(self._folder / head.name)
        with self._head_lock.held():
            known = read_known(self._folder)
            if known is None or known.seq < head.known.seq:
                write_known(self._folder, head.known)
        self._flushed = head.known

    def _forget_handle(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


@contextmanager
def _troubles(action: str, folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise trouble(action, folder, error) from error
    except LockBusy as error:
        raise AuditError(f'Cannot {action} "{folder}": {error}') from error


def _flush_new(path: Path) -> None:
    flush_file(path)
    flush_folder(path.parent)
