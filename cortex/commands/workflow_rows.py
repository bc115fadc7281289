"""How runs of workflows are shown: tables and questions for people, objects for programs. Pure, but for colours.

Texts of authors, tools and code are bounded, on lines of their own, and cannot control a terminal.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cortex.text import CODE, code_lines, columns_of, fit, has_symbols, local_time, padded, visible
from cortex.workflows import APPROVAL, CodeExecutionTask, DecisionTask, mark_of, states_of, text_lines, what_of

from .options import said_again
from .rows import paint, width

if TYPE_CHECKING:
    from cortex.workflows import DecisionRow, EventRow, RunRow, RunState, Task, TaskRow

HASH_CHARACTERS = 12
"""Of a question's hash, as it is shown and asked for."""
MAX_RESULT = 2_000
MAX_QUESTION_CHARACTERS = 20_000
STYLES = {
    "ok": "green",
    "done": "green",
    "running": "bold",
    "failed": "red",
    "aborted": "red",
    "waiting": "yellow",
    "resting": "yellow",
    "unknown": "yellow",
    "skipped": "dim",
    "pending": "dim",
    "queued": "dim",
}


def list_lines(runs: Sequence[RunRow]) -> Iterator[str]:
    ids = min(40, max(columns_of(visible(run.id)) for run in runs))
    yield paint(f"{padded('run', ids)} {'status':8} {'tasks':>5} {'energy':>8}  {'since':16} plan", "dim")
    for run in runs:
        status = paint(f"{run.status:8}", STYLES[run.status])
        head = f"{padded(fit(run.id, ids), ids)} "
        rest = f" {len(run.plan.tasks):>5} {run.energy_spent:>8.4g}  {local_time(run.at)} "
        yield f"{head}{status}{rest}{fit(run.plan.name, max(10, width() - len(head) - 8 - len(rest)))}"


def show_lines(state: RunState, options: Namespace) -> Iterator[str]:
    """All of a run for a person."""
    yield from heading_lines(state, options)
    states = states_of(state, time.time())
    yield ""
    yield from text_lines(state.run.plan, states, width=width(), symbols=has_symbols(sys.stdout))
    yield ""
    yield from task_lines(state, states)
    for question in open_questions(state):
        yield ""
        yield from question_lines(state, question, options)


def heading_lines(state: RunState, options: Namespace) -> Iterator[str]:
    run = state.run
    yield f"{paint(visible(run.id), 'bold')}  {paint(run.status, STYLES[run.status])}  {fit(run.plan.name, 100)}"
    ended = "" if run.ended_at is None else f", ended {local_time(run.ended_at)}"
    parent = "" if run.parent is None else f", forked from {fit(run.parent, 40)}"
    yield f"by {fit(run.started_by, 40)}, since {local_time(run.at)}{ended}{parent}"
    budget = "" if run.energy_budget is None else f" of at most {run.energy_budget:g}"
    yield f"energy {run.energy_spent:.4g}{budget}; plan {run.plan_hash[:12]}, revision {run.revision}"
    left = _left_alone(state)
    if run.reason and left is None:  # the reason of a run that was left is out of date: it still asks for the answer
        yield fit(run.reason, width())
    if run.wake_at is not None:
        yield f"until {local_time(run.wake_at, '%Y-%m-%d %H:%M:%S')}"
    if left is not None:
        yield f"{left}: cortex workflow resume {visible(run.id)}{said_again(options)}"


def _left_alone(state: RunState) -> str | None:
    """Why the run does not go on, although it could; None if it ended, waits, or a process leads it or will."""
    run = state.run
    if run.lease_until > time.time() or run.status not in {"running", "waiting"}:
        return None
    if run.status == "running":
        return "no process leads it; to go on"
    answered = [id_ for id_, question in state.decisions.items() if question.said is not None]
    if any(id_ not in state.tasks or state.tasks[id_].status == "unknown" for id_ in answered):
        return "the answer is kept; unless a process follows the run, to go on"
    return None


def task_lines(state: RunState, states: dict[str, str]) -> Iterator[str]:
    ids = min(40, max(4, *(len(task.id) for task in state.run.plan.tasks)))
    head = f"{'layer':>5} {padded('task', ids)} {'state':9} {'attempts':>8} {'time':>9} {'energy':>7}  what"
    yield paint(head, "dim")
    for number, layer in enumerate(state.run.plan.layers(), 1):
        for task in layer:
            row = state.tasks.get(task.id)
            yield from _task(number, task, row, states[task.id], ids)


def _task(number: int, task: Task, row: TaskRow | None, state: str, ids: int) -> Iterator[str]:
    mark = mark_of(state, symbols=has_symbols(sys.stdout))
    attempts = "" if row is None else str(row.attempt)
    cost = "" if row is None or not isinstance(task, CodeExecutionTask) else f"{row.cost:.4g}"
    head = f"{number:>5} {padded(fit(task.id, ids), ids)} "
    rest = f" {attempts:>8} {took(row):>9} {cost:>7}  "
    room = max(10, width() - len(head) - 9 - len(rest))
    yield f"{head}{paint(f'{mark} {state:7}', STYLES[state])}{rest}{fit(what_of(task), room)}".rstrip()
    if row is not None and row.error is not None and row.status in {"failed", "skipped"}:
        said = f"{row.error.get('type', '')}: {row.error.get('message', '')}"
        yield paint(" " * 6 + fit(said, max(10, width() - 6)), "dim")


def took(row: TaskRow | None) -> str:
    """How long the last attempt took."""
    if row is None or row.ended_at is None:
        return ""
    measured = row.metrics.get("duration_ms")
    ms = measured if isinstance(measured, int | float) else (row.ended_at - row.started_at) * 1_000
    return f"{ms:.0f} ms" if ms < 10_000 else f"{ms / 1_000:.0f} s"


def open_questions(state: RunState) -> list[DecisionRow]:
    """The questions that wait for an answer: the one about the plan first, then in the order of the plan."""
    if state.run.ended_at is not None:
        return []
    # The question about the whole plan is the first one: until it is answered, no task asks.
    ids = (APPROVAL, *(task.id for task in state.run.plan.tasks))
    there = [state.decisions[id_] for id_ in ids if id_ in state.decisions]
    return [question for question in there if question.said is None]


def question_lines(state: RunState, question: DecisionRow, options: Namespace) -> Iterator[str]:
    """A question as its author wrote it, behind a bar, and how to answer it. The text about a plan is bounded already,
    and is shown to its end: its last task may be the one that matters."""
    hash_ = question.shown_hash[:HASH_CHARACTERS]
    if question.task == APPROVAL:
        yield paint(f"May this plan run? (hash {hash_})", "bold")
        yield from (f"{CODE}{visible(line)}" for line in question.shown.split("\n"))
        yield paint(f"answer: {how_to_answer(state, question, options)}", "dim")
        return
    yield paint(f"Task {question.task} asks the {question.kind} (hash {hash_}):", "bold")
    shown = question.shown[:MAX_QUESTION_CHARACTERS]
    yield from code_lines(shown)
    if len(question.shown) > len(shown):
        yield f"  … ({len(question.shown) - len(shown)} more characters are not shown)"
    yield paint(f"answer: {how_to_answer(state, question, options)}", "dim")


def how_to_answer(state: RunState, question: DecisionRow, options: Namespace) -> str:
    hash_ = question.shown_hash[:HASH_CHARACTERS]
    answers = ["--approve", "--reject REASON"]
    if question.task != APPROVAL:
        answers.append("--value JSON")
        task = state.run.plan.task(question.task)
        answers += ["--replan FILE"] if isinstance(task, DecisionTask) and task.may_replan else []
    words = f"{visible(state.run.id)} {question.task} ({' | '.join(answers)}) --hash {hash_}"
    return f"cortex workflow decide {words}{said_again(options)}"


def result_lines(state: RunState) -> Iterator[str]:
    """What the tasks gave on which no other depends."""
    needed = {other for task in state.run.plan.tasks for other in task.dependencies}
    for task in state.run.plan.tasks:
        row = state.tasks.get(task.id)
        if task.id in needed or row is None or row.status != "ok" or isinstance(task, DecisionTask):
            continue
        text = json.dumps(row.result, ensure_ascii=False)
        cut = "" if len(text) <= MAX_RESULT else f"… ({len(text) - MAX_RESULT} more characters)"
        yield f"{task.id} = {visible(text[:MAX_RESULT])}{cut}"


def event_line(event: EventRow) -> str:
    at = local_time(event.at, "%H:%M:%S")
    said = " ".join(f"{name}={_short(value)}" for name, value in event.data.items())
    return f"{event.seq:>5} {at} {fit(event.kind, 30):24} {fit(said, max(20, width() - 40))}".rstrip()


def event_facts(event: EventRow) -> dict[str, Any]:
    return {"seq": event.seq, "kind": event.kind, "at": event.at, "data": dict(event.data)}


def run_facts(run: RunRow) -> dict[str, Any]:
    return {
        "run": run.id,
        "name": run.plan.name,
        "status": run.status,
        "reason": run.reason,
        "tasks": len(run.plan.tasks),
        "plan_hash": run.plan_hash,
        "revision": run.revision,
        "started_by": run.started_by,
        "parent": run.parent,
        "energy_spent": round(run.energy_spent, 6),
        "energy_budget": run.energy_budget,
        "at": run.at,
        "ended_at": run.ended_at,
        "wake_at": run.wake_at,
    }


def state_facts(state: RunState) -> dict[str, Any]:
    """All of a run for a program: as in the list, with its tasks and the questions that are open."""
    states = states_of(state, time.time())
    tasks = [
        {"id": task.id, "type": task.type, "layer": number, "state": states[task.id], **_row(state.tasks.get(task.id))}
        for number, layer in enumerate(state.run.plan.layers(), 1)
        for task in layer
    ]
    questions = [
        {"task": question.task, "by": question.kind, "shown": question.shown, "hash": question.shown_hash}
        for question in open_questions(state)
    ]
    return {**run_facts(state.run), "tasks": tasks, "questions": questions}


def _row(row: TaskRow | None) -> dict[str, Any]:
    if row is None:
        return {}
    return {
        "attempt": row.attempt,
        "result": row.result,
        "error": None if row.error is None else dict(row.error),
        "cost": round(row.cost, 6),
        "metrics": dict(row.metrics),
        "started_at": row.started_at,
        "ended_at": row.ended_at,
    }


def _short(value: Any) -> str:
    match value:
        case str():
            return value
        case float():
            return f"{value:.6g}"  # not 0.0020000000000000018
        case _:
            return json.dumps(value, ensure_ascii=False)
