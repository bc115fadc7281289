"""Turn answers into MCP tool results: a text for the model and the same as data for programs. Bounded in size, and
without lone surrogates, which would break the connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from cortex.text import whole
from cortex.turn import answer_without_result

if TYPE_CHECKING:
    from cortex.contracts import Reason
    from cortex.loop import Answer

    from .ports import CodeAnswer

MAX_DEPTH = 200


def answer_result(answer: Answer) -> dict[str, Any]:
    text, note = whole(answer.text), whole(answer.note) if answer.note else None
    structured = {"text": text} if note is None else {"text": text, "note": note}
    return _result([text] if note is None else [text, note], structured, ok=answer.ok)


def code_result(answer: CodeAnswer) -> dict[str, Any]:
    return _result([whole(answer.text)], answer.structured, ok=answer.ok)


def refusal_result(reason: Reason, *, of_code: bool = False) -> dict[str, Any]:
    """What the server itself refuses, in the form that the tool's own answers have."""
    if of_code:
        return code_result(answer_without_result(reason))
    return _result([whole(reason.text)], {"text": reason.text}, ok=False)


def _result(texts: Sequence[str], structured: Mapping[str, Any], *, ok: bool) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    return {"content": content, "isError": not ok, "structuredContent": _writable(structured)}


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
