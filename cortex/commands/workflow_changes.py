"""`cortex workflow decide, abort` and `forget`: what the owner does to a run, recorded before it is done."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio

from cortex.home import Home
from cortex.text import is_person_there, local_time, typed
from cortex.workflows import (
    PLAN_LIMITS,
    TERMINAL,
    WORKSPACE,
    Approve,
    PlanError,
    Reject,
    Replan,
    Value,
    as_kept,
    finish_kept,
    read_plan,
    require_fitting,
    written,
)

from .exits import CODE_FAILED, REFUSED, SUCCESS, CommandError
from .options import folder_of, load_existing, said_again
from .workflow_detach import log_path
from .workflow_journal import MAX_RUNS, chosen_run, journal_of, kept_files
from .workflow_rows import HASH_CHARACTERS, how_to_answer, question_lines

if TYPE_CHECKING:
    from cortex.audit import Audit
    from cortex.settings import Settings
    from cortex.workflows import DecisionRow, KeptFiles, RunState, Said, SqliteJournal

OWNER = "owner"
LEAST_HASH = 8
MAX_VALUE_CHARACTERS = 1_000_000
_DAY_S = 86_400.0
_LEADER_S = 2.0


@contextmanager
def _audit_of(settings: Settings) -> Iterator[Audit]:
    from cortex.audit import Audit

    audit = Audit(Home(settings.home).audit, settings.audit)
    try:
        yield audit
    finally:
        audit.close()


def decide(options: Namespace) -> int:
    settings = load_existing(options)
    with journal_of(settings) as journal:
        state = chosen_run(journal, options.run)
        question = _question(state, options.task)
        said = _said(options)
        if options.hash is None:
            said = _asked(state, question, said, options)
            if said is None:
                return SUCCESS
        else:
            if said is None:
                raise CommandError(
                    "say what the answer is: --approve, --reject [REASON], --value JSON or --replan FILE"
                )
            _require_shown(question, options.hash)
        require_fitting(said, state, question.task)
        _answer(journal, state, question, said, settings)
    told = {"run": state.run.id, "task": question.task, "answer": said.answer}
    if options.json:
        print(json.dumps(told))
        return SUCCESS
    print(f'"{said.answer}" is kept as the answer to task {question.task} of run {state.run.id}')
    hint = f"cortex workflow resume {state.run.id}{said_again(options)}"
    print(f"A process that follows the run goes on with it; if there is none: {hint}", file=sys.stderr)
    return SUCCESS


def _question(state: RunState, task: str) -> DecisionRow:
    """The open question about the task. Raises CommandError, with what there is."""
    run, question = state.run, state.decisions.get(task)
    if question is None:
        waiting = ", ".join(id_ for id_, each in state.decisions.items() if each.said is None)
        asks = f"; it asks about: {waiting[:500]}" if waiting else "; it asks nothing at this moment"
        raise CommandError(f'run "{run.id}" has asked nothing about task "{task[:64]}"{asks}', REFUSED)
    if question.said is not None:
        when = "" if question.answered_at is None else f" at {local_time(question.answered_at)}"
        answer = f"{question.said.get('answer')}, by {question.by}{when}"
        raise CommandError(
            f'the question of task "{task}" has an answer already: {answer}. The first one counts', REFUSED
        )
    if run.status in TERMINAL:
        raise CommandError(f'run "{run.id}" has ended ({run.status}): an answer changes nothing any more', REFUSED)
    return question


def _said(options: Namespace) -> Said | None:
    if options.approve:
        return Approve()
    if options.reject is not None:
        if len(options.reject) > 2_000:
            raise CommandError("a reason has at most 2000 characters")
        return Reject(reason=options.reject)
    if options.value is not None:
        return Value(value=_value(options.value))
    return None if options.replan is None else _replan(options.replan)


def _value(text: str) -> Any:
    from sandbox import TooComplex, bounded_json

    if len(text) > MAX_VALUE_CHARACTERS:
        raise CommandError(f"--value is longer than {MAX_VALUE_CHARACTERS} characters")
    try:
        return bounded_json(text, PLAN_LIMITS)
    except TooComplex as error:
        raise CommandError(f"--value has {error}") from error
    except (ValueError, RecursionError) as error:
        raise CommandError(f"--value is not JSON: {str(error)[:200]}; a text stands in quotes") from error


def _replan(name: str) -> Replan:
    """What a file says to add and to remove. Whether that fits the run is looked at with the run."""
    given = read_plan(name)
    if not isinstance(given, dict) or not given.keys() <= {"add", "remove"} or not given:
        raise PlanError(f'"{name}": a new plan is {{"add": [tasks], "remove": [ids]}}')
    add, remove = given.get("add", []), given.get("remove", [])
    if not isinstance(remove, list) or not all(isinstance(id_, str) for id_ in remove) or len(remove) > 200:
        raise PlanError(f'"{name}": `remove` is a list of at most 200 ids of tasks')
    try:
        return Replan(add=written({"name": name[:200], "tasks": add}).tasks, remove=tuple(remove))
    except PlanError as error:
        raise PlanError(f'"{name}": {error}') from error
    except ValueError as error:
        raise PlanError(f'"{name}": `remove` is a list of ids of tasks') from error


def _require_shown(question: DecisionRow, given: str) -> None:
    if len(given) < LEAST_HASH:
        raise CommandError(f"--hash takes {LEAST_HASH} or more characters of the hash")
    if not question.shown_hash.startswith(given.lower()):
        raise CommandError(
            f'the hash is not that of the question of task "{question.task}": look at it again, then answer',
            REFUSED,
        )


def _asked(state: RunState, question: DecisionRow, said: Said | None, options: Namespace) -> Said | None:
    """Show the question; at a terminal, ask for the answer. None if there is none: then nothing is kept."""
    if options.json:
        shown = {"task": question.task, "by": question.kind, "shown": question.shown, "hash": question.shown_hash}
        print(json.dumps({"run": state.run.id, **shown}))
    else:
        print("\n".join(question_lines(state, question, options)), flush=True)
    if options.json or not is_person_there(sys.stdin, sys.stdout):
        if said is not None:
            raise CommandError(
                f"nothing was kept: repeat it with --hash {question.shown_hash[:HASH_CHARACTERS]}", REFUSED
            )
        return None
    if said is not None:
        return said if _typed(f"Is the answer “{said.answer}”? [y/N] ") in {"y", "yes"} else None
    match _typed("Yes, or no? [y/n, Enter leaves it for later] "):
        case "y" | "yes":
            return Approve()
        case "n" | "no":
            return Reject()
        case _:
            print(f"Nothing was kept. To answer: {how_to_answer(state, question, options)}", file=sys.stderr)
            return None


def _typed(words: str) -> str:
    return (typed(words, sys.stdin, sys.stdout) or "").lower()


def _answer(journal: SqliteJournal, state: RunState, question: DecisionRow, said: Said, settings: Settings) -> None:
    run, task, shown = state.run.id, question.task, question.shown_hash
    with _audit_of(settings) as audit:
        # Recorded first: an owner's decision that cannot be recorded is not carried out.
        facts = {"run": run, "task": task, "answer": said.answer, "shown_hash": shown}
        audit.record("owner_decision", what="workflow decide", by=OWNER, **facts)
        is_first = journal.answer(run, task, as_kept(said), shown_hash=shown, by=OWNER, now=time.time())
    if not is_first:
        raise CommandError(f'the question of task "{task}" has just been answered: the first answer counts', REFUSED)


def abort(options: Namespace) -> int:
    settings = load_existing(options)
    options.commit = None
    folder = folder_of(options)
    with journal_of(settings) as journal:
        state = chosen_run(journal, options.run)
        run, now = state.run, time.time()
        is_led = run.lease_until > now and run.status not in TERMINAL
        if run.status not in TERMINAL:
            with _audit_of(settings) as audit:
                audit.record("owner_decision", what="workflow abort", by=OWNER, run=run.id)
                journal.stop(run.id, options.reason[:2_000], by=OWNER, now=now)
        state = journal.load(run.id)  # as it stays: its leader may have saved a layer meanwhile
        status = state.run.status
        problem = _finish(settings, state, folder, options, is_led=is_led)
    if options.json:
        print(json.dumps({"run": run.id, "status": status, "problem": problem}))
    else:
        print(f"Run {run.id} is {status}" if run.status not in TERMINAL else f"Run {run.id} had ended: {status}")
        if is_led:
            print("The process that leads it ends what runs", file=sys.stderr)
        if problem is not None:
            print(f"cortex workflow: {problem}", file=sys.stderr)
    return SUCCESS if problem is None else CODE_FAILED


def _finish(settings: Settings, state: RunState, folder: Any, options: Namespace, *, is_led: bool) -> str | None:
    """Make the changes of files that are saved and not made; forget those that were never saved. Returns what is left
    to do. A process that leads the run makes what it has saved by itself, if it is alive."""
    files = kept_files(settings)
    run = state.run
    try:
        if is_led and _are_made(files, state):
            return None
        saved = _not_made(files, state)
        if saved and (folder is None or is_led):
            again = f"cortex workflow abort {run.id} --workspace DIR{said_again(options)}"
            return f"changes of files of {', '.join(saved)[:200]} are saved and not made yet: {again} makes them"
        folders = {} if folder is None else {WORKSPACE: folder}
        return anyio.run(finish_kept, files, run.id, run.plan, state.tasks, folders)
    except OSError as error:
        return f"changes of files cannot be looked at: {error.strerror}"


def _are_made(files: KeptFiles, state: RunState) -> bool:
    """Wait a little until the leader has made the changes that it has saved. Whether it has."""
    until = time.monotonic() + _LEADER_S
    while left := _not_made(files, state):
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    return not left


def _not_made(files: KeptFiles, state: RunState) -> list[str]:
    """The tasks whose changes of files are saved and not made. Raises OSError."""
    return [
        id_
        for id_, attempt in files.all(state.run.id)
        if (row := state.tasks.get(id_)) is not None and row.status == "ok" and row.attempt == attempt
    ]


def forget(options: Namespace) -> int:
    settings = load_existing(options)
    if bool(options.runs) == (options.older_than is not None):
        raise CommandError("say which runs, or --older-than DAYS" + (", not both" if options.runs else ""))
    with journal_of(settings) as journal:
        if options.runs:
            chosen = [chosen_run(journal, name).run for name in dict.fromkeys(options.runs)]
            left = next((run for run in chosen if run.status not in TERMINAL), None)
            if left is not None:
                raise CommandError(f'run "{left.id}" has not ended ({left.status}): abort it first', REFUSED)
        else:
            before = time.time() - options.older_than * _DAY_S
            ended = journal.list(limit=MAX_RUNS)
            chosen = [run for run in ended if run.ended_at is not None and run.ended_at <= before]
        if chosen:
            with _audit_of(settings) as audit:
                audit.record("owner_decision", what="workflow forget", by=OWNER, runs=len(chosen))
                for run in chosen:
                    _forget(journal, settings, run.id)
    names = [run.id for run in chosen]
    if options.json:
        print(json.dumps({"forgotten": names}))
    else:
        print(f"{len(names)} run{'' if len(names) == 1 else 's'} forgotten" if names else "No run ended before that")
    return SUCCESS


def _forget(journal: SqliteJournal, settings: Settings, run: str) -> None:
    journal.forget(run)
    folder = Home(settings.home).workflows
    with suppress(OSError):
        kept_files(settings).clear(run)
        log_path(folder, run).unlink(missing_ok=True)
