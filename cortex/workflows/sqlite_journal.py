"""The journal of one machine: an SQLite database in a private folder, and large results as files beside it.

Six tables: `run`, `plan` (one row for each revision), `task` (each attempt), `decision` (each question), `event`, and
`file` (the large results, by hash). Every step is one transaction that is flushed to the disk before it returns: WAL
with `synchronous=FULL`. Not for a folder on a network file system.
"""

# ruff: noqa: S608 - the parts of a statement are constants of this module; values are bound to it

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex.text import whole
from sandbox import private_folder, replace_file

from .journal import TERMINAL, Claim, EventRow, JournalError, NewEvent, RunRow, RunState, RunStatus, Saved, TaskRow
from .journal_rules import answered, begun, claimed, could_go_on, is_news, released, renewed, stepped, stopped
from .journal_text import MAX_RESULT_BYTES, MAX_ROW_BYTES, text_of, value_of
from .plan import SETTLED
from .sqlite_file import BUSY_S, SqliteFile
from .sqlite_rows import (
    HAS_ANSWER,
    PLAN,
    RUN_COLUMNS,
    RUN_FIELDS,
    add_events,
    ask,
    head_of,
    put_plan,
    questions,
    require_run,
    run_from,
    run_of,
    update_run,
)

if TYPE_CHECKING:
    import sqlite3

MAX_TOTAL_BYTES = 1024 * 1_048_576
RESULTS = "results"
_MAX_EVENTS = 10_000
_TASK = (
    "id, status, attempt, input_hash, result, result_file, error, metrics, cost, code_hash, started_at, ended_at, run"
)


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
        self._file = SqliteFile(folder, busy_s)
        self._max_result_bytes = min(max_result_bytes, MAX_RESULT_BYTES)
        self._max_total_bytes = max_total_bytes
        self._has_swept = False

    def begin(self, run: RunRow, events: Sequence[NewEvent]) -> RunRow:
        row = begun(run)
        with self._file.writing() as db:
            there = db.execute("select hash from plan where run = ? order by revision", (row.id,)).fetchall()
            if there:
                if (row.plan_hash,) not in (there[0], there[-1]):
                    raise JournalError(f'there is a run "{row.id}" already, with another plan: choose another id')
                return run_of(db, row.id)
            values = [getattr(row, name) for name in RUN_FIELDS]
            db.execute(f"insert into run ({RUN_COLUMNS}) values ({', '.join('?' * len(values))})", values)
            put_plan(db, row)
            add_events(db, row.id, events)
            self._require_room(db)
        return row

    def claim(self, run: str, worker: str, lease_s: float, now: float) -> Claim | None:
        with self._file.writing() as db:
            row = claimed(head_of(db, run), worker, lease_s, now)
            if row is None:
                return None
            update_run(db, row)
        return Claim(run, worker, row.epoch, row.lease_until)

    def renew(self, claim: Claim, lease_s: float, now: float) -> Claim:
        with self._file.writing() as db:
            row = renewed(head_of(db, claim.run), claim, lease_s, now)
            update_run(db, row)
        return replace(claim, lease_until=row.lease_until)

    def release(self, claim: Claim) -> None:
        with self._file.writing() as db:
            row = released(head_of(db, claim.run), claim)
            if row is not None:
                update_run(db, row)

    def save(self, claim: Claim, saved: Saved, now: float) -> Sequence[EventRow]:
        with self._file.writing() as db:
            row = stepped(head_of(db, claim.run), claim, saved, now)
            update_run(db, row)
            if saved.plan is not None:
                put_plan(db, row)
            self._put_tasks(db, row.id, saved.tasks)
            for question in saved.decisions:
                ask(db, row.id, question)
            added = add_events(db, row.id, saved.events)
            if row.status not in TERMINAL:  # a run can always be ended
                self._require_room(db)
        return added

    def answer(self, run: str, task: str, said: Mapping[str, Any], *, shown_hash: str, by: str, now: float) -> bool:
        text = text_of(dict(said), f'the answer to task "{task}"')
        with self._file.writing() as db:
            row = head_of(db, run)
            found = answered(row, questions(db, run, task).get(task), task, said, shown_hash, whole(by), now)
            if found is None:
                return False
            db.execute(
                "update decision set said = ?, answered_by = ?, answered_at = ? where run = ? and task = ? "
                "and number = (select max(number) from decision where run = ? and task = ?)",
                (text, found.by, found.answered_at, run, task, run, task),
            )
        return True

    def stop(self, run: str, reason: str, *, by: str, now: float) -> Sequence[EventRow]:
        with self._file.writing() as db:
            row = stopped(head_of(db, run), reason, now)
            if row is None:
                return ()
            update_run(db, row)
            return add_events(db, run, [NewEvent("run_aborted", {"reason": row.reason, "by": by}, now)])

    def stop_all(self, reason: str, *, by: str, now: float) -> Sequence[str]:
        """Mark every run that has not ended as aborted, in one step. Returns their ids."""
        with self._file.writing() as db:
            found = db.execute("select id from run where status in ('queued', 'running', 'waiting', 'resting')")
            stopped_ids = [run for (run,) in found.fetchall()]
            for run in stopped_ids:
                row = stopped(head_of(db, run), reason, now)
                if row is not None:
                    update_run(db, row)
                    add_events(db, run, [NewEvent("run_aborted", {"reason": row.reason, "by": by}, now)])
        return stopped_ids

    def load(self, run: str) -> RunState:
        with self._file.reading() as db:
            row = run_of(db, run)
            tasks = {
                values[0]: self._task_of(values)
                for values in db.execute(f"select {_TASK} from task where run = ? order by id, attempt", (run,))
            }
            return RunState(row, tasks, questions(db, run))

    def list(self, *, limit: int = 100, status: RunStatus | None = None) -> Sequence[RunRow]:
        with self._file.reading() as db:
            found = db.execute(
                f"select {RUN_COLUMNS}, {PLAN} from run where ? is null or status = ? "
                "order by at desc, number desc limit ?",
                (status, status, max(0, limit)),
            )
            return [run_from(values) for values in found]

    def counts(self) -> dict[RunStatus, int]:
        """How many runs stand in which way. Opens the journal, which checks its version."""
        with self._file.reading() as db:
            return dict(db.execute("select status, count(*) from run group by status order by status").fetchall())

    def events(self, run: str, after: int = 0, limit: int = 1_000) -> Sequence[EventRow]:
        with self._file.reading() as db:
            require_run(db, run)
            found = db.execute(
                "select seq, kind, data, at from event where run = ? and seq > ? order by seq limit ?",
                (run, after, max(0, min(limit, _MAX_EVENTS))),
            )
            return [EventRow(seq, kind, value_of(data, f"event {seq}"), at) for seq, kind, data, at in found]

    def expired(self, now: float, limit: int = 100) -> Sequence[str]:
        with self._file.reading() as db:
            found = db.execute(
                f"select {RUN_COLUMNS}, {HAS_ANSWER} from run where lease_until <= ? "
                "and status in ('queued', 'running', 'waiting', 'resting') order by at, number",
                (now,),
            )
            free = (values[0] for values in found if could_go_on(run_from(values[:-1]), now, has_answer=values[-1]))
            return [run for run, _ in zip(free, range(max(0, limit)), strict=False)]

    def forget(self, run: str) -> None:
        """Delete a run that has ended, and all that is kept of it. Raises JournalError for one that has not."""
        with self._file.writing() as db:
            row = head_of(db, run)
            if row.status not in TERMINAL:
                raise JournalError(f'run "{run}" has not ended ({row.status}): abort it first')
            for table in ("event", "decision", "task", "plan"):
                db.execute(f"delete from {table} where run = ?", (run,))
            db.execute("delete from run where id = ?", (run,))
            db.execute(
                "delete from file where hash not in (select result_file from task where result_file is not null)"
            )
        with self._file.writing() as db:  # not before: a file goes when no row has named it for good
            _sweep(self._file.folder / RESULTS, db)

    def close(self) -> None:
        self._file.close()

    def set_aside(self) -> Path:
        """Rename the whole folder to `*.damaged-1` or the next free number, with everything in it, and return its new
        path. The next use begins a new journal. For a journal that is damaged, when the owner asks for it."""
        self._has_swept = False
        return self._file.set_aside()

    def _put_tasks(self, db: sqlite3.Connection, run: str, tasks: Sequence[TaskRow]) -> None:
        there = db.execute("select id, status, attempt from task where run = ? order by id, attempt", (run,))
        kept = {id_: TaskRow(id_, status, attempt) for id_, status, attempt in (there if tasks else ())}
        new: dict[str, TaskRow] = {}
        rows = []
        for task in tasks:
            last = new.get(task.id) or kept.get(task.id)
            if last is not None and task.id not in new and last.attempt == task.attempt and last.status in SETTLED:
                last = self._last_attempt(db, run, task.id)  # with its result: it may be the same again
            if is_news(last, task):
                new[task.id] = task
                rows.append((*self._row_of(db, task), run))
        db.executemany(f"insert or replace into task ({_TASK}) values ({', '.join('?' * 13)})", rows)

    def _row_of(self, db: sqlite3.Connection, task: TaskRow) -> tuple[Any, ...]:
        about = f'of task "{task.id}"'
        text = None if task.result is None else text_of(task.result, f"the result {about}", self._max_result_bytes)
        file = None
        if text is not None and len(text) > MAX_ROW_BYTES:
            file, text = self._put_file(db, text.encode()), None
        error = None if task.error is None else text_of(dict(task.error), f"the error {about}")
        metrics = text_of(dict(task.metrics), f"the metrics {about}")
        row = (task.id, task.status, task.attempt, task.input_hash, text, file, error, metrics, task.cost)
        return (*row, task.code_hash, task.started_at, task.ended_at)

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
            result = self._result(file, about)
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
        folder = private_folder(self._file.folder / RESULTS)
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

    def _result(self, name: str, about: str) -> bytes:
        try:
            data = (self._file.folder / RESULTS / name).read_bytes()
        except FileNotFoundError:
            data = b""
        if hashlib.sha256(data).hexdigest() != name:
            raise self._file.damaged(f'the file with the result {about}, "{RESULTS}/{name}", is missing or was changed')
        return data

    def _require_room(self, db: sqlite3.Connection) -> None:
        names = ("page_count", "freelist_count", "page_size")
        pages, unused, page_bytes = (db.execute(f"pragma {name}").fetchone()[0] for name in names)
        [in_files] = db.execute("select coalesce(sum(bytes), 0) from file").fetchone()
        total = (pages - unused) * page_bytes + in_files
        if total > self._max_total_bytes:
            raise JournalError(
                f'The journal in "{self._file.folder}" would hold {total} bytes, and at most {self._max_total_bytes} '
                "are allowed. Nothing of this step was saved; forget runs that have ended"
            )


def _sweep(folder: Path, db: sqlite3.Connection) -> None:
    """Delete results that no row names: the run was forgotten, or the writer was killed before it had saved the row."""
    known = {name for (name,) in db.execute("select hash from file")}
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name not in known:
                with suppress(OSError):
                    os.unlink(entry)
