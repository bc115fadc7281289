"""The answer of `execute_code`, for programs instead of models: result, logs and metrics. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cortex.redaction import MAX_VALUE_CHARACTERS

if TYPE_CHECKING:
    from cortex.contracts import Reason
    from cortex.redaction import Redactor
    from sandbox import Displayed, ExecutionOutcome

MAX_LOG_BYTES = 32_768


@dataclass(frozen=True, slots=True)
class CodeAnswer:
    """The answer as one string for a model, and in parts for a program."""

    text: str
    ok: bool
    structured: dict[str, Any] = field(default_factory=dict)
    """`result`, `logs`, `metrics`, and `calls` of a run; `error` where there is no result; `files` where code may use
    files; `displayed` where it displayed something; `note` where there is one."""
    displayed: tuple[Displayed, ...] = ()
    """What the code displayed. `structured` says only how much."""
    note: str | None = None
    """What the model should hear beside the answer."""


def answer_without_result(reason: Reason) -> CodeAnswer:
    """The answer where nothing ran, or where the host failed and knows no result."""
    error = {"type": reason.code, "message": reason.message}
    return CodeAnswer(reason.text, ok=False, structured={"result": None, "logs": [], "metrics": {}, "error": error})


def code_answer(
    outcome: ExecutionOutcome, text: str, redactor: Redactor, files: dict[str, Any] | None = None
) -> CodeAnswer:
    """The answer for an outcome. `text` is redacted already; the result, the logs and the files are redacted here."""
    metrics = outcome.metrics
    parts: dict[str, Any] = {
        "result": redactor.value(outcome.result),
        "logs": _logs(outcome, redactor),
        "metrics": {
            "executionTimeMs": round(metrics.execution_ms, 3),
            "startupTimeMs": round(metrics.startup_ms, 3),
            "totalTimeMs": round(metrics.total_ms, 3),
            "memoryUsedMB": round(metrics.peak_memory_mb, 1),
            "toolCalls": metrics.tool_calls,
            "fetches": metrics.fetches,
            "cached": metrics.cached,
        },
        "calls": [
            {"name": redactor.text(call.name), "done": call.done, "failed": call.failed, "underWay": call.under_way}
            for call in outcome.calls
        ],
    }
    if outcome.truncated:
        parts["truncatedFromBytes"] = outcome.result_bytes
    if outcome.error is not None:
        parts["error"] = {"type": str(outcome.error.type), "message": redactor.text(outcome.error.message)}
    if files is not None:
        parts["files"] = redactor.value(files)
    state = outcome.result.get("state") if isinstance(outcome.result, dict) else None
    if isinstance(state, dict):
        parts["state"] = redactor.value(state)
    return CodeAnswer(text, outcome.ok, parts)


def with_displays(answer: CodeAnswer, displayed: tuple[Displayed, ...]) -> CodeAnswer:
    """The answer with what the code displayed; the same answer if that is nothing."""
    if not displayed:
        return answer
    listed = [{**item.label, "bytes": len(item.data)} for item in displayed]
    return replace(answer, structured={**answer.structured, "displayed": listed}, displayed=displayed)


def with_note(answer: CodeAnswer, note: str) -> CodeAnswer:
    return replace(answer, structured={**answer.structured, "note": note}, note=note)


def _logs(outcome: ExecutionOutcome, redactor: Redactor) -> list[str]:
    """The first logs, at most MAX_LOG_BYTES; a last line says how many are left out."""
    lines: list[str] = []
    room = MAX_LOG_BYTES
    for entry in outcome.logs:
        # Cut, but only beyond the room and the longest secret: half a secret would not be recognized.
        text = entry.text[: room + MAX_VALUE_CHARACTERS]
        line = redactor.text(text if entry.level == "log" else f"[{entry.level}] {text}")
        room -= len(line.encode(errors="replace"))
        if room < 0:
            lines.append(f"… and {len(outcome.logs) - len(lines)} more lines")
            break
        lines.append(line)
    return lines
