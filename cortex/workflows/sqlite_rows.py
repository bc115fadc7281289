"""Rows of the SQLite journal: runs, questions and events, as they are read and written inside of a transaction."""

# ruff: noqa: S608 - the parts of a statement are constants of this module; values are bound to it

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cortex.text import whole

from .journal import DecisionRow, EventRow, JournalError, NewEvent, NoSuchRun, RunRow
from .journal_rules import is_new_question, require_id
from .journal_text import MAX_ROW_BYTES, MAX_SHOWN_CHARACTERS, text_of, value_of
from .plan import Plan

if TYPE_CHECKING:
    import sqlite3

RUN_COLUMNS = (
    "id, plan_hash, status, revision, epoch, lease_until, worker, started_by, turn, parent, energy_spent, "
    "energy_budget, wake_at, reason, at, ended_at"
)
RUN_FIELDS = tuple(RUN_COLUMNS.split(", "))
_DECISION = "task, kind, shown, shown_hash, asked_at, said, answered_by, answered_at"
# The last attempt at a task that has a question with an answer is still open: the run can go on from that answer.
HAS_ANSWER = """exists (select 1 from decision d where d.run = run.id and d.said is not null
  and d.number = (select max(number) from decision where run = d.run and task = d.task)
  and coalesce((select status from task where run = d.run and id = d.task order by attempt desc limit 1), '')
    not in ('ok', 'failed', 'skipped'))"""
PLAN = "(select p.text from plan p where p.run = run.id and p.revision = run.revision)"
# Steps of a run do not need its plan: it is as long as a megabyte.
_NOT_READ = Plan.model_construct(name="", tasks=())


def put_plan(db: sqlite3.Connection, run: RunRow) -> None:
    """Keep the plan of this revision. A table of its own: each step rewrites the row of its run."""
    text = text_of(run.plan.model_dump(mode="json", by_alias=True), "the plan", 8 * MAX_ROW_BYTES)
    db.execute("insert into plan values (?, ?, ?, ?)", (run.id, run.revision, run.plan_hash, text))


def require_run(db: sqlite3.Connection, run: str) -> None:
    require_id(run)
    if db.execute("select 1 from run where id = ?", (run,)).fetchone() is None:
        raise NoSuchRun(f'there is no run "{run}"')


def head_of(db: sqlite3.Connection, run: str) -> RunRow:
    """The run without its plan. Raises NoSuchRun."""
    require_run(db, run)
    return run_from(db.execute(f"select {RUN_COLUMNS} from run where id = ?", (run,)).fetchone())


def run_of(db: sqlite3.Connection, run: str) -> RunRow:
    require_run(db, run)
    return run_from(db.execute(f"select {RUN_COLUMNS}, {PLAN} from run where id = ?", (run,)).fetchone())


def run_from(values: Sequence[Any]) -> RunRow:
    fields = dict(zip(RUN_FIELDS, values, strict=False))
    plan = _NOT_READ if len(values) == len(RUN_FIELDS) else _plan_of(values[-1], fields["id"])
    return RunRow(plan=plan, **fields)


def _plan_of(text: str, run: str) -> Plan:
    about = f'the plan of run "{run}"'
    try:
        return Plan.model_validate(value_of(text, about))
    except ValueError as error:
        raise JournalError(f"{about} cannot be read: the journal is damaged there") from error


_CHANGING = tuple(name for name in RUN_FIELDS if name not in {"id", "started_by", "turn", "parent", "at"})
_UPDATE = f"update run set {', '.join(f'{name} = ?' for name in _CHANGING)} where id = ?"


def update_run(db: sqlite3.Connection, row: RunRow) -> None:
    db.execute(_UPDATE, (*(getattr(row, name) for name in _CHANGING), row.id))


def ask(db: sqlite3.Connection, run: str, question: DecisionRow) -> None:
    if not is_new_question(questions(db, run, question.task).get(question.task), question):
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


def questions(db: sqlite3.Connection, run: str, task: str | None = None) -> dict[str, DecisionRow]:
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


def add_events(db: sqlite3.Connection, run: str, events: Sequence[NewEvent]) -> list[EventRow]:
    [last] = db.execute("select coalesce(max(seq), 0) from event where run = ?", (run,)).fetchone()
    texts = [text_of(dict(event.data), f"the event {event.kind}") for event in events]
    numbered = list(enumerate(zip(events, texts, strict=True), last + 1))
    db.executemany(
        "insert into event values (?, ?, ?, ?, ?)",
        [(run, seq, event.kind, text, event.at) for seq, (event, text) in numbered],
    )
    return [EventRow(seq, event.kind, value_of(text, event.kind), event.at) for seq, (event, text) in numbered]
