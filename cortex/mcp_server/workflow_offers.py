"""The tools for workflows as clients see them, and how their arguments are read. Plain data, and pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cortex.contracts import weight_of_value
from cortex.workflows import MAX_PLAN_BYTES

START, STATUS, ABORT = "workflow_start", "workflow_status", "workflow_abort"
WORKFLOW_TOOLS = (START, STATUS, ABORT)
MAX_WAIT_S = 50.0
"""Clients give up after a minute."""
MAX_ID_CHARACTERS = 200
MAX_REASON_CHARACTERS = 500
KEY = re.compile(r"w[0-9a-f]{32}")
# About as much as the largest plan takes in memory: one that is heavier is not read.
_MAX_WEIGHT = MAX_PLAN_BYTES + 64 * 100_000

_TEXT = {"type": "string"}
_WAIT = {"type": "number", "description": f"Wait for it, ≤ {MAX_WAIT_S:.0f}"}
_KEY = {**_TEXT, "description": "From workflow_start"}
_TASK = (
    "{id, type, dependencies?: [id]} and, for mcp_tool: tool, arguments?; code_execution: code, intent?, tools?, "
    "context?, sandbox_config?; decision: ask (the owner). Code finds results as context.<id>; an argument "
    '"${id.path}" is a part of one'
)
_PLAN = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "tasks": {"type": "array", "items": {"type": "object"}, "description": _TASK},
    },
    "required": ["name", "tasks"],
}
_ID = {**_TEXT, "description": "Your name for it; repeated, it finds the same run"}

_TASK_SCHEMA = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("id", "type", "status"), _TEXT),
        "attempt": {"type": "integer"},
        "durationMs": {"type": "number"},
        "cost": {"type": "number"},
        "result": {"description": "What it returned, if there is room for it here"},
        "resultCharacters": {"type": "integer", "description": "The length of a result that is left out or cut"},
        "error": {"type": "object", "properties": {"type": _TEXT, "message": _TEXT}},
    },
    "required": ["id", "type", "status"],
}
STATUS_SCHEMA = {
    "type": "object",
    "properties": {
        "text": {**_TEXT, "description": "The answer in words"},
        "run": {**_TEXT, "description": "The run as the owner sees it"},
        "key": {**_TEXT, "description": "Ask for the run with it"},
        "name": _TEXT,
        "status": {"enum": ["queued", "running", "waiting", "resting", "done", "failed", "aborted"]},
        "reason": _TEXT,
        "waitsFor": {"type": "array", "items": _TEXT},
        "energySpent": {"type": "number"},
        "tasks": {"type": "array", "items": _TASK_SCHEMA},
    },
    "required": ["text"],
}

_READS = {"readOnlyHint": True, "openWorldHint": False}
_STOPS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}


class BadCall(ValueError):
    """What is wrong with a call of a client."""


def workflow_tools() -> list[dict[str, Any]]:
    """The tools as MCP defines them. To start has no annotations: a plan may call any tool, as code may."""
    return [
        _tool(
            START,
            "Start a plan: tools, code and questions to the owner, in layers. Each is saved; it outlives this call. "
            "Answers with its status and key.",
            {"plan": _PLAN, "id": _ID, "wait_s": _WAIT},
            ["plan"],
        ),
        _tool(
            STATUS,
            "Where a run stands: tasks, results in short (`task`: of one, in full), what it waits for.",
            {"key": _KEY, "task": _TEXT, "wait_s": _WAIT},
            ["key"],
            _READS,
        ),
        _tool(ABORT, "Stop a run that you started.", {"key": _KEY, "reason": _TEXT}, ["key"], _STOPS),
    ]


def _tool(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    required: list[str],
    annotations: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": dict(properties), "required": required},
        "outputSchema": STATUS_SCHEMA,
        **({} if annotations is None else {"annotations": dict(annotations)}),
    }


@dataclass(frozen=True, slots=True)
class StartCall:
    plan: Any
    id: str | None
    wait_s: float


@dataclass(frozen=True, slots=True)
class StatusCall:
    key: str
    task: str | None
    wait_s: float


@dataclass(frozen=True, slots=True)
class AbortCall:
    key: str
    reason: str


def start_call(arguments: Mapping[str, Any]) -> StartCall:
    """Raises BadCall."""
    _require_known(arguments, "plan", "id", "wait_s")
    plan = arguments.get("plan")
    if not isinstance(plan, dict):
        raise BadCall("`plan` is an object with `name` and `tasks`")
    if weight_of_value(plan, _MAX_WEIGHT) >= _MAX_WEIGHT:
        raise BadCall(f"the plan is too large; at most {MAX_PLAN_BYTES} bytes are allowed")
    id_ = _text(arguments, "id", MAX_ID_CHARACTERS)
    return StartCall(plan, id_ or None, _wait(arguments))


def status_call(arguments: Mapping[str, Any]) -> StatusCall:
    """Raises BadCall."""
    _require_known(arguments, "key", "task", "wait_s")
    return StatusCall(_key(arguments), _text(arguments, "task", MAX_ID_CHARACTERS) or None, _wait(arguments))


def abort_call(arguments: Mapping[str, Any]) -> AbortCall:
    """Raises BadCall."""
    _require_known(arguments, "key", "reason")
    return AbortCall(_key(arguments), _text(arguments, "reason", MAX_REASON_CHARACTERS))


def _require_known(arguments: Mapping[str, Any], *known: str) -> None:
    for name in arguments:
        if name not in known:
            raise BadCall(f'there is no argument "{str(name)[:60]}"; there are {", ".join(known)}')


def _key(arguments: Mapping[str, Any]) -> str:
    key = arguments.get("key")
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise BadCall("`key` is the key of a run, from the answer of workflow_start")
    return key


def _text(arguments: Mapping[str, Any], name: str, most: int) -> str:
    value = arguments.get(name, "")
    if not isinstance(value, str) or len(value) > most or not (value.isprintable() or not value):
        raise BadCall(f"`{name}` is a text of at most {most} printable characters")
    return value


def _wait(arguments: Mapping[str, Any]) -> float:
    value = arguments.get("wait_s", 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise BadCall(f"`wait_s` is a number from 0 to {MAX_WAIT_S:.0f}")
    return float(min(value, MAX_WAIT_S))
