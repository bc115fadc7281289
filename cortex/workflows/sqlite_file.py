"""The SQLite database of a journal: how it is made and opened, its transactions, and what its errors mean."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import FILE_MODE, FileLock, LockBusy, flush_folder, move_aside, private_folder

from .journal import JournalError

if TYPE_CHECKING:
    import sqlite3  # imported when a journal is opened: nothing else needs it

SCHEMA_VERSION = 1
BUSY_S = 30.0
DATABASE = "journal.sqlite"
STEPS = "journal.steps"
"""How many steps were saved, as far as the processes that saved them noted it."""
# "CxWf": a database of something else is told from a journal.
_APPLICATION = 0x43785766
# Longer than a thread waits for another process.
_TURN_S = 2 * BUSY_S

_SCHEMA = """
create table run (
  number integer primary key, id text not null unique, plan_hash text not null, status text not null,
  revision integer not null, epoch integer not null, lease_until real not null, worker text not null,
  started_by text not null, turn text, parent text,
  energy_spent real not null, energy_budget real, wake_at real, reason text not null, at real not null, ended_at real);
create index run_by_status on run (status, lease_until);
create index run_by_time on run (at);
create table plan (
  run text not null references run (id), revision integer not null, hash text not null, text text not null,
  primary key (run, revision));
create table task (
  run text not null references run (id), id text not null, attempt integer not null, status text not null,
  input_hash text not null, result text, result_file text references file (hash), error text, metrics text not null,
  cost real not null, code_hash text not null, started_at real not null, ended_at real,
  primary key (run, id, attempt)) without rowid;
create table decision (
  run text not null references run (id), task text not null, number integer not null, kind text not null,
  shown text not null, shown_hash text not null, asked_at real not null, said text, answered_by text not null,
  answered_at real, primary key (run, task, number));
create table event (
  run text not null references run (id), seq integer not null, kind text not null, data text not null, at real not null,
  primary key (run, seq));
create table file (hash text primary key, bytes integer not null) without rowid;
create table steps (count integer not null);
insert into steps values (0);
"""

_FULL = "the disk is full. What was saved before is safe; make room, then resume the run"
_READ_ONLY = "the folder cannot be written; make it writable for this user, or choose another home"


class JournalDamaged(JournalError):
    """The journal is there, and cannot be read as one. Nothing was changed; `set_aside` begins anew."""


class SqliteFile:
    """The database in a folder of its own. Opened, and made, on first use. Writers of this process wait for each other;
    readers do not wait for writers. What is raised in a transaction is a JournalError, or the caller's own."""

    def __init__(self, folder: Path, busy_s: float) -> None:
        self.folder = folder
        self._busy_s = busy_s
        self._writer = _Connection(self._opened)
        self._reader = _Connection(self._opened)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that writes: all of it is on the disk when the block has ended, or nothing of it is there."""
        with self._explained("write"), self._writer.held() as db:
            before, count = db.total_changes, None
            db.execute("begin immediate")
            try:
                yield db
                if db.total_changes > before:
                    [count] = db.execute("update steps set count = count + 1 returning count").fetchone()
                db.execute("commit")
            finally:
                if db.in_transaction:
                    db.rollback()
            if count is not None:
                self._mark(count)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One transaction that reads: it sees one moment, whatever others write meanwhile."""
        with self._explained("read"), self._reader.held() as db:
            db.execute("begin")
            try:
                yield db
            finally:
                db.rollback()

    @contextmanager
    def _explained(self, action: str) -> Iterator[None]:
        import sqlite3  # noqa: PLC0415 - see above

        try:
            yield
        except sqlite3.Error as error:
            raise self._problem(action, getattr(error, "sqlite_errorname", ""), str(error)) from error
        except OSError as error:
            raise JournalError(f'Cannot {action} the journal in "{self.folder}": {_advice(error)}') from error
        except LockBusy as error:
            raise JournalError(f'Cannot open the journal in "{self.folder}": another process opens it') from error

    def _problem(self, action: str, name: str, text: str) -> JournalError:
        start = f'Cannot {action} the journal in "{self.folder}": '
        match name.split("_"):
            case ["SQLITE", "FULL", *_]:
                return JournalError(f"{start}{_FULL}")
            case ["SQLITE", "READONLY" | "PERM" | "CANTOPEN" | "AUTH", *_]:
                return JournalError(f"{start}{_READ_ONLY}")
            case ["SQLITE", "BUSY" | "LOCKED", *_]:
                return JournalError(f"{start}another process has been writing for {self._busy_s:g} s; try again")
            case ["SQLITE", "NOTADB" | "CORRUPT", *_]:
                return self.damaged(text)
            case _:
                return JournalError(f"{start}{text}. What was saved before is safe; nothing of this step was saved")

    def damaged(self, why: str) -> JournalDamaged:
        return JournalDamaged(
            f'The journal in "{self.folder}" is damaged ({why}). Nothing was changed. Put a copy of the folder back, '
            "or move it aside to begin a new journal; runs of the damaged one cannot be resumed then"
        )

    def _opened(self) -> sqlite3.Connection:
        import sqlite3  # noqa: PLC0415 - see above

        path = private_folder(self.folder) / DATABASE
        if not os.path.lexists(path):
            with FileLock(self.folder / "journal.lock").held():
                if not os.path.lexists(path):
                    self._made(path)
        if path.is_symlink() or not path.is_file() or not path.stat().st_size:
            # Not opened by us to look into it: to close a file drops the locks that SQLite holds on it.
            raise self.damaged("the file is empty, or is not a file")
        db = sqlite3.connect(path, timeout=self._busy_s, isolation_level=None, check_same_thread=False)
        try:
            self._require_ours(db)
            self._require_all_steps(db)
            db.execute("pragma synchronous = full")
            db.execute("pragma foreign_keys = on")
            if path.stat().st_mode & 0o077:
                path.chmod(FILE_MODE)
        except BaseException:
            db.close()
            raise
        return db

    def _require_ours(self, db: sqlite3.Connection) -> None:
        [application] = db.execute("pragma application_id").fetchone()
        [version] = db.execute("pragma user_version").fetchone()
        if application != _APPLICATION:
            raise self.damaged("it is a database, but not a journal")
        if version != SCHEMA_VERSION:
            raise JournalError(
                f'The journal in "{self.folder}" has version {version}, and this program reads version '
                f"{SCHEMA_VERSION}: use the newer program. Nothing was changed"
            )

    def _require_all_steps(self, db: sqlite3.Connection) -> None:
        """Raise JournalDamaged if steps that were saved are missing: SQLite does not notice that the end of a WAL
        was cut off."""
        marked = self._marked()  # first: others may save meanwhile
        [count] = db.execute("select count from steps").fetchone()
        if marked > count:
            raise self.damaged(
                f"the last {marked - count} steps that were saved are missing: {DATABASE}-wal was cut, or an older "
                f'copy was put back. To go on without them, delete "{STEPS}"; what they had done may be done again'
            )

    def _mark(self, count: int) -> None:
        """Note how many steps are saved. Not flushed: it is behind the database after a power cut, never ahead."""
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            file = os.open(self.folder / STEPS, flags, FILE_MODE)
            try:
                os.pwrite(file, b"%020d\n" % count, 0)
            finally:
                os.close(file)

    def _marked(self) -> int:
        try:
            text = (self.folder / STEPS).read_bytes()[:21].strip()
        except OSError:
            return 0
        return int(text) if text.isdigit() else 0

    def _made(self, path: Path) -> None:
        """Make an empty journal. It gets its name when it is whole: a file of that name is never half of a journal."""
        import sqlite3  # noqa: PLC0415 - see above

        if os.path.lexists(f"{path}-wal"):
            raise self.damaged("its main file is missing")
        unfinished = path.with_name(f"{DATABASE}.unfinished")
        for name in (unfinished, f"{unfinished}-journal", f"{unfinished}-wal", f"{unfinished}-shm"):
            with suppress(FileNotFoundError):
                os.unlink(name)
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
        with closing(sqlite3.connect(unfinished, isolation_level=None)) as db:
            db.executescript(_SCHEMA)
            db.execute(f"pragma application_id = {_APPLICATION}")
            db.execute(f"pragma user_version = {SCHEMA_VERSION}")
            db.execute("pragma journal_mode = wal")
        os.rename(unfinished, path)
        flush_folder(path.parent)

    def close(self) -> None:
        self._writer.close()
        self._reader.close()

    def set_aside(self) -> Path:
        """Rename the whole folder to `*.damaged-1` or the next free number, with everything in it, and return its new
        path. The next use begins a new journal. For a journal that is damaged, when the owner asks for it."""
        self.close()
        try:
            aside = move_aside(self.folder)
        except OSError as error:
            raise JournalError(f'Cannot move "{self.folder}" aside: {error.strerror}') from error
        self._writer, self._reader = _Connection(self._opened), _Connection(self._opened)
        return aside


def _advice(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return _FULL
    if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM}:
        return _READ_ONLY
    return f"{error.strerror or error}. What was saved before is safe"


class _Connection:
    """One connection for all threads, one thread at a time. Opened when it is first used."""

    def __init__(self, open_: Callable[[], sqlite3.Connection]) -> None:
        self._open = open_
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._is_closed = False

    @contextmanager
    def held(self) -> Iterator[sqlite3.Connection]:
        if not self._lock.acquire(timeout=_TURN_S):
            raise JournalError(f"other threads have used the journal for {_TURN_S:g} s; try again")
        try:
            if self._is_closed:
                raise JournalError("The journal is closed")
            if self._db is None:
                self._db = self._open()
            yield self._db
        finally:
            self._lock.release()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._db is not None:
                self._db.close()
            self._db = None
