"""The questions that a run asks: what the one who answers is shown, and its hash. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from cortex.text import beginning, visible

from .answers import AGENT, APPROVAL, CLIENT
from .journal import DecisionRow, TaskRow
from .plan import Finished, Plan, arguments_of, hash_of
from .plan_text import PlanText
from .tasks import CodeExecutionTask, DecisionTask, McpToolTask, Task

MAX_SHOWN_RESULT = 4_000
MAX_SHOWN = 200_000

Show: TypeAlias = Callable[[str], str]
"""Takes secrets out of a text."""


def question_of(
    task: DecisionTask, finished: Mapping[str, Finished], run: str, now: float, show: Show = str
) -> DecisionRow:
    """The question of a decision task. Results that are too long to be shown are shown in part, each with its hash."""
    lines = [task.ask]
    for other in task.dependencies:
        lines += ["", _told(other, finished[other].seen)]
    if task.may_replan:
        lines += ["", "The answer may be a new plan."]
    return _row(task.id, task.by, show("\n".join(lines)), run, now)


def question_about_unknown(
    task: Task, row: TaskRow, finished: Mapping[str, Finished], plan: Plan, run: str, now: float, show: Show = str
) -> DecisionRow:
    """The question about a task that was under way when its process ended."""
    match task:
        case McpToolTask():
            what = f"{task.tool} with {_cut(json.dumps(arguments_of(task, finished), ensure_ascii=False))}"
        case CodeExecutionTask():
            what = f"code with the tools {', '.join(task.tools) or '(none)'}:\n{_cut(task.code)}"
        case _:
            what = "a question"
    lines = [
        f'Task "{task.id}" of "{plan.name}" (attempt {row.attempt}) was under way when its process ended.',
        "Nobody knows whether it took effect. It called",
        what,
        "",
        "approve: start it again. value: it is done, and this is its result. reject: abort the run.",
    ]
    return _row(task.id, "owner", show("\n".join(lines)), run, now)


def question_about_plan(told: PlanText, run: str, now: float, by: str = AGENT) -> DecisionRow:
    """The question whether a run of the agent, or of an MCP client, may begin. Not redacted: the owner has to see what
    would really be done, and a model wrote it that is shown no secrets."""
    called = visible(by.removeprefix(CLIENT))
    who = f'Asked for by an MCP client, which calls itself "{called}"\n' if by.startswith(CLIENT) else ""
    text = f"{who}{told.text}"
    return DecisionRow(APPROVAL, "owner", text, _hash(run, APPROVAL, text), now)


def _row(task: str, kind: Any, shown: str, run: str, now: float) -> DecisionRow:
    text = beginning(shown, MAX_SHOWN)
    return DecisionRow(task, kind, text, _hash(run, task, shown), now)


def _hash(run: str, task: str, shown: str) -> str:
    return hashlib.sha256(json.dumps([run, task, shown]).encode()).hexdigest()


def _told(name: str, value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=1)
    if len(text) <= MAX_SHOWN_RESULT:
        return f"{name} = {text}"
    return f"{name} = {_cut(text)}\n(in part; the hash of the whole is {hash_of(value)})"


def _cut(text: str) -> str:
    left_out = len(text) - MAX_SHOWN_RESULT
    return text if left_out <= 0 else f"{beginning(text, MAX_SHOWN_RESULT)}… ({left_out} more characters)"
