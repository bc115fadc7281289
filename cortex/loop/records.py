"""Writes a message as one line of JSON, and reads it back. An invalid line counts as damaged; nothing is guessed."""

from __future__ import annotations

import json
from typing import Any

from .messages import AssistantMessage, Message, ToolAnswer, ToolRequest, UserMessage

FORMAT = 1


class DamagedLine(ValueError):
    """The line was not written by this program."""


class NewerFormat(ValueError):
    """A later version of this program wrote the file."""


def header(conversation_id: str, at: float) -> bytes:
    return _line({"role": "conversation", "format": FORMAT, "id": conversation_id, "at": at})


def to_line(message: Message, at: float) -> bytes:
    match message:
        case UserMessage(text):
            return _line({"role": "user", "at": at, "text": text})
        case AssistantMessage(text, calls):
            wanted = [{"id": call.id, "name": call.name, "arguments": call.arguments_json} for call in calls]
            return _line({"role": "assistant", "at": at, "text": text, "calls": wanted})
        case ToolAnswer(call_id, name, text):
            return _line({"role": "tool", "at": at, "id": call_id, "name": name, "text": text})
        case _:
            raise TypeError(f"{type(message).__name__} is not kept: it is made anew for each reply")


def from_line(line: bytes) -> Message | None:
    """The message on a line; None for the header. Raises DamagedLine, and NewerFormat for a header of a later
    version."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DamagedLine("it is not JSON") from error
    match data:
        case {"role": "user", "text": str(text)}:
            return UserMessage(text)
        case {"role": "assistant", "text": str(text), "calls": list(calls)}:
            return AssistantMessage(text, tuple(map(_call, calls)))
        case {"role": "tool", "id": str(call_id), "name": str(name), "text": str(text)}:
            return ToolAnswer(call_id, name, text)
        case {"role": "conversation", "format": int(version)}:
            if version > FORMAT:
                raise NewerFormat(f"format {version}, and this version reads up to {FORMAT}")
            return None
        case _:
            raise DamagedLine("it is no message")


def _call(data: Any) -> ToolRequest:
    match data:
        case {"id": str(call_id), "name": str(name), "arguments": str(arguments)}:
            return ToolRequest(call_id, name, arguments)
        case _:
            raise DamagedLine("one of its calls is not a tool call")


def _line(data: dict[str, Any]) -> bytes:
    # Escaped to ASCII: a lone surrogate that a user typed or pasted is kept, and breaks nothing.
    return json.dumps(data, separators=(",", ":")).encode("ascii") + b"\n"
