"""The journal of one machine: an SQLite database in a private folder, and large results as files beside it.

Five tables: `run`, `task` (one row for each attempt), `decision` (one row for each question), `event`, and `file` (the
large results, by hash). Every step is one transaction that is flushed to the disk before it returns: WAL with
`synchronous=FULL`. Not for a folder on a network file system.
"""

# ruff: noqa: S608 - the parts of a statement are constants of this module; values are bound to it

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cortex.text import whole
from sandbox import FILE_MODE, FileLock, LockBusy, flush_folder, move_aside, private_folder, replace_file

from .journal import (
    TERMINAL,
    Claim,
    DecisionRow,
    EventRow,
    JournalError,
    NewEvent,
    NoSuchRun,
    RunRow,
    RunState,
    RunStatus,
    Saved,
    TaskRow,
)
from .journal_rules import (
    answered,
    begun,
    claimed,
    could_go_on,
    is_new_question,
    is_news,
    released,
    renewed,
    require_id,
    stepped,
    stopped,
)
from .journal_text import MAX_RESULT_BYTES, MAX_ROW_BYTES, MAX_SHOWN_CHARACTERS, text_of, value_of
from .plan import Plan

if TYPE_CHECKING:
    import sqlite3  # imported when a journal is opened: nothing else needs it

T = TypeVar("T")

SCHEMA_VERSION = 1
MAX_TOTAL_BYTES = 1024 * 1_048_576
BUSY_S = 30.0
DATABASE = "journal.sqlite"
RESULTS = "results"
# "CxWf": a database of something else is told from a journal.
_APPLICATION = 0x43785766
_MAX_EVENTS = 10_000
# Longer than a thread waits for another process.
_TURN_S = 2 * BUSY_S

_SCHEMA = """
create table run (
  number integer primary key, id text not null unique, plan text not null, plan_hash text not null,
  begun_hash text not null, status text not null, revision integer not null, epoch integer not null,
  lease_until real not null, worker text not null, started_by text not null, turn text, parent text,
  energy_spent real not null, energy_budget real, wake_at real, reason text not null, at real not null, ended_at real);
create index run_by_status on run (status, lease_until);
create index run_by_time on run (at);
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
"""

_RUN = (
    "id, plan_hash, status, revision, epoch, lease_until, worker, started_by, turn, parent, energy_spent, "
    "energy_budget, wake_at, reason, at, ended_at"
)
_RUN_FIELDS = tuple(_RUN.split(", "))
_TASK = (
    "id, status, attempt, input_hash, result, result_file, error, metrics, cost, code_hash, started_at, ended_at, run"
)
_DECISION = "task, kind, shown, shown_hash, asked_at, said, answered_by, answered_at"
# The last attempt at a task that has a question with an answer is still open: the run can go on from that answer.
_HAS_ANSWER = """exists (select 1 from decision d where d.run = run.id and d.said is not null
  and d.number = (select max(number) from decision where run = d.run and task = d.task)
  and coalesce((select status from task where run = d.run and id = d.task order by attempt desc limit 1), '')
    not in ('ok', 'failed', 'skipped'))"""
# Steps of a run do not need its plan: it is as long as a megabyte.
_NOT_READ = Plan.model_construct(name="", tasks=())


class JournalDamaged(JournalError):
    """The journal is there, and cannot be read as one. Nothing was changed; `SqliteJournal.set_aside` begins anew."""


class SqliteJournal:
    """A `Journal` in a folder of its own, shared by all processes of a machine. Opened, and made, on first use. Each
    thread may call it; writers of this process wait for each other, and readers do not wait for writers."""

    def __init__(
        self,
        folder: Path,
        *,
        max_result_bytes: int = MAX_RESULT_BYTES,
        max_total_bytes: int = MAX_TOTAL_BYTES,
        busy_s: float = BUSY_S,
    ) -> None:
        self._folder = folder
        self._max_result_bytes = min(max_result_bytes, MAX_RESULT_BYTES)
        self._max_total_bytes = max_total_bytes
        self._busy_s = busy_s
        self._writer = _Connection(self._opened)
        self._reader = _Connection(self._opened)
        self._has_swept = False

    def begin(self, run: RunRow, events: Sequence[NewEvent]) -> RunRow:
        row = begun(run)
        plan = _plan_text(row.plan)
        with self._step() as db:
            there = db.execute("select begun_hash, plan_hash from run where id = ?", (row.id,)).fetchone()
            if there is not None:
                if row.plan_hash not in there:
                    raise JournalError(f'there is a run "{row.id}" already, with another plan: choose another id')
                return _run_of(db, row.id)
            values = [getattr(row, name) for name in _RUN_FIELDS]
            places = ", ".join("?" * (len(values) + 2))
            db.execute(f"insert into run ({_RUN}, plan, begun_hash) values ({places})", (*values, plan, row.plan_hash))
            _add_events(db, row.id, events)
            self._require_room(db)
        return row

    def claim(self, run: str, worker: str, lease_s: float, now: float) -> Claim | None:
        with self._step() as db:
            row = claimed(_head_of(db, run), worker, lease_s, now)
            if row is None:
                return None
            _update(db, row)
        return Claim(run, worker, row.epoch, row.lease_until)

    def renew(self, claim: Claim, lease_s: float, now: float) -> Claim:
        with self._step() as db:
            row = renewed(_head_of(db, claim.run), claim, lease_s, now)
            _update(db, row)
        return replace(claim, lease_until=row.lease_until)

    def release(self, claim: Claim) -> None:
        with self._step() as db:
            row = released(_head_of(db, claim.run), claim)
            if row is not None:
                _update(db, row)

    def save(self, claim: Claim, saved: Saved, now: float) -> Sequence[EventRow]:
        plan = None if saved.plan is None else _plan_text(saved.plan)
        with self._step() as db:
            row = stepped(_head_of(db, claim.run), claim, saved, now)
            _update(db, row)
            if plan is not None:
                db.execute("update run set plan = ? where id = ?", (plan, row.id))
            for task in saved.tasks:
                self._put_task(db, row.id, task)
            for question in saved.decisions:
                _ask(db, row.id, question)
            added = _add_events(db, row.id, saved.events)
            if row.status not in TERMINAL:  # a run can always be ended
                self._require_room(db)
        return added

    def answer(self, run: str, task: str, said: Mapping[str, Any], *, shown_hash: str, by: str, now: float) -> bool:
        text = text_of(dict(said), f'the answer to task "{task}"')
        with self._step() as db:
            row = _head_of(db, run)
            found = answered(row, _questions(db, run, task).get(task), task, said, shown_hash, whole(by), now)
            if found is None:
                return False
            db.execute(
                "update decision set said = ?, answered_by = ?, answered_at = ? where run = ? and task = ? "
                "and number = (select max(number) from decision where run = ? and task = ?)",
                (text, found.by, found.answered_at, run, task, run, task),
            )
        return True

    def stop(self, run: str, reason: str, *, by: str, now: float) -> Sequence[EventRow]:
        with self._step() as db:
            row = stopped(_head_of(db, run), reason, now)
            if row is None:
                return ()
            _update(db, row)
            return _add_events(db, run, [NewEvent("run_aborted", {"reason": row.reason, "by": by}, now)])

    def load(self, run: str) -> RunState:
        with self._look() as db:
            row = _run_of(db, run)
            tasks = {
                values[0]: self._task_of(values)
                for values in db.execute(f"select {_TASK} from task where run = ? order by id, attempt", (run,))
            }
            return RunState(row, tasks, _questions(db, run))

    def list(self, *, limit: int = 100, status: RunStatus | None = None) -> Sequence[RunRow]:
        with self._look() as db:
            found = db.execute(
                f"select {_RUN}, plan from run where ? is null or status = ? order by at desc, number desc limit ?",
                (status, status, max(0, limit)),
            )
            return [_run(values) for values in found]

    def events(self, run: str, after: int = 0, limit: int = 1_000) -> Sequence[EventRow]:
        with self._look() as db:
            _require_run(db, run)
            found = db.execute(
                "select seq, kind, data, at from event where run = ? and seq > ? order by seq limit ?",
                (run, after, max(0, min(limit, _MAX_EVENTS))),
            )
            return [EventRow(seq, kind, value_of(data, f"event {seq}"), at) for seq, kind, data, at in found]

    def expired(self, now: float, limit: int = 100) -> Sequence[str]:
        with self._look() as db:
            found = db.execute(
                f"select {_RUN}, {_HAS_ANSWER} from run where lease_until <= ? "
                "and status in ('queued', 'running', 'waiting', 'resting') order by at, number",
                (now,),
            )
            free = (values[0] for values in found if could_go_on(_run(values[:-1]), now, has_answer=values[-1]))
            return [run for run, _ in zip(free, range(max(0, limit)), strict=False)]

    def forget(self, run: str) -> None:
        """Delete a run that has ended, and all that is kept of it. Raises JournalError for one that has not."""
        with self._step() as db:
            row = _head_of(db, run)
            if row.status not in TERMINAL:
                raise JournalError(f'run "{run}" has not ended ({row.status}): abort it first')
            for table in ("event", "decision", "task"):
                db.execute(f"delete from {table} where run = ?", (run,))
            db.execute("delete from run where id = ?", (run,))
            db.execute(
                "delete from file where hash not in (select result_file from task where result_file is not null)"
            )
        with self._step() as db:  # not before: a file goes when no row has named it for good
            _sweep(self._folder / RESULTS, db)

    def close(self) -> None:
        self._writer.close()
        self._reader.close()

    def set_aside(self) -> Path:
        """Rename the whole folder to `*.damaged-1` or the next free number, with everything in it, and return its new
        path. The next use begins a new journal. For a journal that is damaged, when the owner asks for it."""
        self.close()
        try:
            aside = move_aside(self._folder)
        except OSError as error:
            raise JournalError(f'Cannot move "{self._folder}" aside: {error.strerror}') from error
        self._writer, self._reader = _Connection(self._opened), _Connection(self._opened)
        self._has_swept = False
        return aside

    @contextmanager
    def _step(self) -> Iterator[sqlite3.Connection]:
        """One transaction that writes: all of it is on the disk when the block has ended, or nothing of it is there."""
        with self._explained("write"), self._writer.held() as db:
            db.execute("begin immediate")
            try:
                yield db
                db.execute("commit")
            finally:
                if db.in_transaction:
                    db.rollback()

    @contextmanager
    def _look(self) -> Iterator[sqlite3.Connection]:
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
            raise JournalError(f'Cannot {action} the journal in "{self._folder}": {_advice(error)}') from error
        except LockBusy as error:
            raise JournalError(f'Cannot open the journal in "{self._folder}": another process opens it') from error

    def _problem(self, action: str, name: str, text: str) -> JournalError:
        start = f'Cannot {action} the journal in "{self._folder}": '
        match name.split("_"):
            case ["SQLITE", "FULL", *_]:
                return JournalError(f"{start}{_FULL}")
            case ["SQLITE", "READONLY" | "PERM" | "CANTOPEN" | "AUTH", *_]:
                return JournalError(f"{start}{_READ_ONLY}")
            case ["SQLITE", "BUSY" | "LOCKED", *_]:
                return JournalError(f"{start}another process has been writing for {self._busy_s:g} s; try again")
            case ["SQLITE", "NOTADB" | "CORRUPT", *_]:
                return self._damaged(text)
            case _:
                return JournalError(f"{start}{text}. What was saved before is safe; nothing of this step was saved")

    def _damaged(self, why: str) -> JournalDamaged:
        return JournalDamaged(
            f'The journal in "{self._folder}" is damaged ({why}). Nothing was changed. Put a copy of the folder back, '
            "or move it aside to begin a new journal; runs of the damaged one cannot be resumed then"
        )

    def _opened(self) -> sqlite3.Connection:
        import sqlite3  # noqa: PLC0415 - see above

        path = private_folder(self._folder) / DATABASE
        if not os.path.lexists(path):
            with FileLock(self._folder / "journal.lock").held():
                if not os.path.lexists(path):
                    self._made(path)
        if path.is_symlink() or not path.is_file() or not path.stat().st_size:
            # Not opened by us to look into it: to close a file drops the locks that SQLite holds on it.
            raise self._damaged("the file is empty, or is not a file")
        db = sqlite3.connect(path, timeout=self._busy_s, isolation_level=None, check_same_thread=False)
        try:
            self._require_ours(db)
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
            raise self._damaged("it is a database, but not a journal")
        if version != SCHEMA_VERSION:
            raise JournalError(
                f'The journal in "{self._folder}" has version {version}, and this program reads version '
                f"{SCHEMA_VERSION}: use the newer program. Nothing was changed"
            )

    def _made(self, path: Path) -> None:
        """Make an empty journal. It gets its name when it is whole: a file of that name is never half of a journal."""
        import sqlite3  # noqa: PLC0415 - see above

        if os.path.lexists(f"{path}-wal"):
            raise self._damaged("its main file is missing")
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

    def _put_task(self, db: sqlite3.Connection, run: str, task: TaskRow) -> None:
        if not is_news(self._last_attempt(db, run, task.id), task):
            return
        about = f'of task "{task.id}"'
        text = None if task.result is None else text_of(task.result, f"the result {about}", self._max_result_bytes)
        file = None
        if text is not None and len(text) > MAX_ROW_BYTES:
            file, text = self._put_file(db, text.encode()), None
        error = None if task.error is None else text_of(dict(task.error), f"the error {about}")
        metrics = text_of(dict(task.metrics), f"the metrics {about}")
        times = (task.started_at, task.ended_at)
        row = (task.id, task.status, task.attempt, task.input_hash, text, file, error, metrics, task.cost)
        db.execute(
            f"insert or replace into task ({_TASK}) values ({', '.join('?' * 13)})", (*row, task.code_hash, *times, run)
        )

    def _last_attempt(self, db: sqlite3.Connection, run: str, task: str) -> TaskRow | None:
        found = db.execute(
            f"select {_TASK} from task where run = ? and id = ? order by attempt desc limit 1", (run, task)
        ).fetchone()
        return None if found is None else self._task_of(found)

    def _task_of(self, values: Sequence[Any]) -> TaskRow:
        id_, status, attempt, input_hash, result, file, error, metrics, cost, code_hash, started_at, ended_at, _ = (
            values
        )
        about = f'of task "{id_}"'
        if file is not None:
            result = self._file(file, about)
        return TaskRow(
            id_,
            status,
            attempt,
            input_hash,
            None if result is None else value_of(result, f"the result {about}"),
            None if error is None else value_of(error, f"the error {about}"),
            value_of(metrics, f"the metrics {about}"),
            cost,
            code_hash,
            started_at,
            ended_at,
        )

    def _put_file(self, db: sqlite3.Connection, data: bytes) -> str:
        """Keep a large result as a file, flushed before the row that names it. Called inside of a transaction that
        writes, so that no other process does the same."""
        folder = private_folder(self._folder / RESULTS)
        if not self._has_swept:
            self._has_swept = True
            _sweep(folder, db)
        name = hashlib.sha256(data).hexdigest()
        db.execute("insert or ignore into file values (?, ?)", (name, len(data)))
        self._require_room(db)
        with suppress(OSError):
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() == name:
                return name
        replace_file(folder / name, data, durable=True)
        return name

    def _file(self, name: str, about: str) -> bytes:
        try:
            data = (self._folder / RESULTS / name).read_bytes()
        except FileNotFoundError:
            data = b""
        if hashlib.sha256(data).hexdigest() != name:
            raise self._damaged(f'the file with the result {about}, "{RESULTS}/{name}", is missing or was changed')
        return data

    def _require_room(self, db: sqlite3.Connection) -> None:
        names = ("page_count", "freelist_count", "page_size")
        pages, unused, page_bytes = (db.execute(f"pragma {name}").fetchone()[0] for name in names)
        [in_files] = db.execute("select coalesce(sum(bytes), 0) from file").fetchone()
        total = (pages - unused) * page_bytes + in_files
        if total > self._max_total_bytes:
            raise JournalError(
                f'The journal in "{self._folder}" would hold {total} bytes, and at most {self._max_total_bytes} are '
                "allowed. Nothing of this step was saved; forget runs that have ended"
            )


_FULL = "the disk is full. What was saved before is safe; make room, then resume the run"
_READ_ONLY = "the folder cannot be written; make it writable for this user, or choose another home"


def _advice(error: OSError) -> str:
    import errno  # noqa: PLC0415 - for an error only

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


def _plan_text(plan: Plan) -> str:
    return text_of(plan.model_dump(mode="json", by_alias=True), "the plan", 8 * MAX_ROW_BYTES)


def _require_run(db: sqlite3.Connection, run: str) -> None:
    require_id(run)
    if db.execute("select 1 from run where id = ?", (run,)).fetchone() is None:
        raise NoSuchRun(f'there is no run "{run}"')


def _head_of(db: sqlite3.Connection, run: str) -> RunRow:
    """The run without its plan."""
    _require_run(db, run)
    return _run(db.execute(f"select {_RUN} from run where id = ?", (run,)).fetchone())


def _run_of(db: sqlite3.Connection, run: str) -> RunRow:
    _require_run(db, run)
    return _run(db.execute(f"select {_RUN}, plan from run where id = ?", (run,)).fetchone())


def _run(values: Sequence[Any]) -> RunRow:
    fields = dict(zip(_RUN_FIELDS, values, strict=False))
    plan = _NOT_READ if len(values) == len(_RUN_FIELDS) else _plan_of(values[-1], fields["id"])
    return RunRow(plan=plan, **fields)


def _plan_of(text: str, run: str) -> Plan:
    about = f'the plan of run "{run}"'
    try:
        return Plan.model_validate(value_of(text, about))
    except ValueError as error:
        raise JournalError(f"{about} cannot be read: the journal is damaged there") from error


_CHANGING = tuple(name for name in _RUN_FIELDS if name not in {"id", "started_by", "turn", "parent", "at"})
_UPDATE = f"update run set {', '.join(f'{name} = ?' for name in _CHANGING)} where id = ?"


def _update(db: sqlite3.Connection, row: RunRow) -> None:
    db.execute(_UPDATE, (*(getattr(row, name) for name in _CHANGING), row.id))


def _ask(db: sqlite3.Connection, run: str, question: DecisionRow) -> None:
    if not is_new_question(_questions(db, run, question.task).get(question.task), question):
        return
    about = f'task "{question.task}"'
    if len(question.shown) > MAX_SHOWN_CHARACTERS:
        raise JournalError(f"what {about} shows is longer than {MAX_SHOWN_CHARACTERS} characters")
    said = None if question.said is None else text_of(dict(question.said), f"the answer to {about}")
    db.execute(
        f"insert into decision (run, number, {_DECISION}) values "
        f"(?, (select count(*) + 1 from decision where run = ? and task = ?), {', '.join('?' * 8)})",
        (
            *(run, run, question.task, question.task, question.kind, whole(question.shown), question.shown_hash),
            *(question.asked_at, said, whole(question.by), question.answered_at),
        ),
    )


def _questions(db: sqlite3.Connection, run: str, task: str | None = None) -> dict[str, DecisionRow]:
    """The last question about each task, or about this one."""
    found = db.execute(
        f"select {_DECISION} from decision where run = ? and (? is null or task = ?) order by task, number",
        (run, task, task),
    )
    return {row.task: row for row in map(_question, found)}


def _question(values: Sequence[Any]) -> DecisionRow:
    task, kind, shown, shown_hash, asked_at, said, by, answered_at = values
    answer = None if said is None else value_of(said, f'the answer to task "{task}"')
    return DecisionRow(task, kind, shown, shown_hash, asked_at, answer, by, answered_at)


def _add_events(db: sqlite3.Connection, run: str, events: Sequence[NewEvent]) -> list[EventRow]:
    [last] = db.execute("select coalesce(max(seq), 0) from event where run = ?", (run,)).fetchone()
    texts = [text_of(dict(event.data), f"the event {event.kind}") for event in events]
    numbered = list(enumerate(zip(events, texts, strict=True), last + 1))
    db.executemany(
        "insert into event values (?, ?, ?, ?, ?)",
        [(run, seq, event.kind, text, event.at) for seq, (event, text) in numbered],
    )
    return [EventRow(seq, event.kind, value_of(text, event.kind), event.at) for seq, (event, text) in numbered]


def _sweep(folder: Path, db: sqlite3.Connection) -> None:
    """Delete results that no row names: the run was forgotten, or the writer was killed before it had saved the row."""
    known = {name for (name,) in db.execute("select hash from file")}
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name not in known:
                with suppress(OSError):
                    os.unlink(entry)
