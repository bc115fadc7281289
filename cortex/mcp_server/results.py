"""Answers in the form of the protocol: a text for the model and the same as data for programs, of a bounded size and
without half characters, which would break the connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from ..text import whole

if TYPE_CHECKING:
    from ..loop import Answer
    from .ports import CodeAnswer

MAX_LOG_CHARACTERS = 32_768
MAX_DEPTH = 200


def answer_result(answer: Answer) -> dict[str, Any]:
    text, note = whole(answer.text), whole(answer.note) if answer.note else None
    structured = {"text": text} if note is None else {"text": text, "note": note}
    return _result([text] if note is None else [text, note], structured, ok=answer.ok)


def code_result(answer: CodeAnswer) -> dict[str, Any]:
    structured = None
    if answer.structured is not None:
        structured = {**answer.structured, "logs": _bounded(answer.structured.get("logs", ()))}
    return _result([whole(answer.text)], structured, ok=answer.ok)


def error_result(text: str) -> dict[str, Any]:
    return _result([whole(text)], None, ok=False)


def _result(texts: Sequence[str], structured: Mapping[str, Any] | None, *, ok: bool) -> dict[str, Any]:
    result: dict[str, Any] = {"content": [{"type": "text", "text": text} for text in texts], "isError": not ok}
    if structured is not None:
        result["structuredContent"] = _writable(structured)
    return result


def _bounded(logs: Sequence[str]) -> list[str]:
    """As many lines as fit: the rest would fill the context of whoever reads this."""
    kept: list[str] = []
    room = MAX_LOG_CHARACTERS
    for line in logs:
        if len(line) > room:
            kept.append(f"… ({len(logs) - len(kept)} more lines left out)")
            break
        room -= len(line) + 1
        kept.append(line)
    return kept


def _writable(value: Any) -> Any:
    try:
        to_json(value)
    except (ValueError, RecursionError):
        return _whole_within(value, MAX_DEPTH)
    return value


def _whole_within(value: Any, depth: int) -> Any:
    match value:
        case str():
            return whole(value)
        case Mapping() if depth:
            return {whole(str(name)): _whole_within(part, depth - 1) for name, part in value.items()}
        case list() | tuple() if depth:
            return [_whole_within(part, depth - 1) for part in value]
        case bool() | int() | float() | None:
            return value
    return "(nested too deeply)"
