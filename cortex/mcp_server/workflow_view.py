"""What a client is told of a run: bounded, in words and as data. Pure.

Texts of the plan, of tools and of code stand in it as JSON strings, so that none can pass for a line of ours. Of a
question to the owner a client is told only that it waits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cortex.text import beginning, visible
from cortex.workflows import TERMINAL

if TYPE_CHECKING:
    from cortex.workflows import RunState, TaskRow

MAX_RESULT = 2_000
MAX_RESULTS = 24_000
MAX_ONE_RESULT = 32_768
MAX_MESSAGE = 500


def view_of(state: RunState, *, task: str | None = None, is_led: bool) -> dict[str, Any]:
    """The run as data, results as JSON text: `result_text`, which is to be redacted. `task` gives the result of that
    one task as far as `MAX_ONE_RESULT`, and of no other. `is_led`: a process executes it."""
    run = state.run
    room = MAX_RESULTS
    tasks: list[dict[str, Any]] = []
    for each in run.plan.tasks:
        row = state.tasks.get(each.id)
        seen: dict[str, Any] = {"id": each.id, "type": each.type, "status": "pending" if row is None else row.status}
        if row is not None:
            most = (MAX_ONE_RESULT if each.id == task else 0) if task is not None else min(room, MAX_RESULT)
            seen |= _row(row, most)
            room -= len(seen.get("result_text", ""))
        tasks.append(seen)
    return {
        "run": run.id,
        "name": run.plan.name,
        "status": run.status,
        "reason": beginning(run.reason, MAX_MESSAGE),
        "waitsFor": waits_for(state, is_led=is_led),
        "energySpent": round(run.energy_spent, 6),
        "tasks": tasks if task is None else [seen for seen in tasks if seen["id"] == task],
    }


def waits_for(state: RunState, *, is_led: bool) -> list[str]:
    """What has to happen for the run to go on, if it is not for this server to do."""
    run = state.run
    if run.status in TERMINAL:
        return []
    asked = [question for question in state.decisions.values() if question.said is None]
    found = [f"the owner: cortex workflow decide {run.id} {question.task}" for question in asked]
    if run.status == "resting":
        found.append("energy, which comes back with time")
    if not is_led:
        found.append(f"a process that executes it: the owner runs cortex workflow resume {run.id}")
    return found


def _row(row: TaskRow, most: int) -> dict[str, Any]:
    seen: dict[str, Any] = {"attempt": row.attempt, "cost": row.cost}
    duration = row.metrics.get("duration_ms")
    if isinstance(duration, int | float):
        seen["durationMs"] = duration
    if row.error is not None:
        message = beginning(str(row.error.get("message", "")), MAX_MESSAGE)
        seen["error"] = {"type": str(row.error.get("type", ""))[:60], "message": message}
    if row.status == "ok":
        text = json.dumps(row.result, ensure_ascii=False, separators=(",", ":"))
        if len(text) > most:
            seen["resultCharacters"] = len(text)
            # Nothing or a useful part: half of a value is data only for those who asked for this one.
            text = text[:most] if most == MAX_ONE_RESULT else ""
        if text:
            seen["result_text"] = text
    return seen


def in_words(view: Mapping[str, Any]) -> str:
    """The view for a model."""
    head = f"Run {view['run']} ({_quoted(view['name'])}) is {view['status']}"
    lines = [f"{head}: {_quoted(view['reason'])}" if view["reason"] else head]
    lines += [f"It waits for {what}" for what in view["waitsFor"]]
    for task in view["tasks"]:
        line = f"- {task['id']} ({task['type']}): {task['status']}"
        if "error" in task:
            line += f", {task['error']['type']}: {_quoted(task['error']['message'])}"
        if "result" in task:
            line += f" = {_quoted(task['result'])}"
        if "resultCharacters" in task:
            line += f" ({task['resultCharacters']} characters; ask with task = {task['id']})"
        lines.append(line)
    return "\n".join(lines)


def _quoted(value: Any) -> str:
    return visible(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def with_results(view: dict[str, Any], shown: Mapping[str, str]) -> dict[str, Any]:
    """The view with the results of tasks as values, from their redacted texts; one that is cut stays a text."""
    tasks = []
    for task in view["tasks"]:
        rest = {name: value for name, value in task.items() if name != "result_text"}
        if task["id"] in shown:
            text = shown[task["id"]]
            try:
                rest["result"] = text if "resultCharacters" in task else json.loads(text)
            except (ValueError, RecursionError):
                rest["result"] = text
        tasks.append(rest)
    return {**view, "tasks": tasks}
