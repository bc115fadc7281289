"""Build the request for a chat completion from a conversation, so that strict endpoints accept it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, assert_never

from cortex.loop import AssistantMessage, Message, SystemMessage, ToolAnswer, ToolRequest, UserMessage, parsed_arguments
from cortex.text import whole

if TYPE_CHECKING:
    from cortex.settings import ModelSettings

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME_CHARS = 64


def chat_request(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], settings: ModelSettings, *, with_usage: bool
) -> dict[str, Any]:
    """The body of the request. Settings that are not set are not sent: many endpoints know only some parameters."""
    body: dict[str, Any] = {"model": settings.name, "messages": list(map(chat_message, messages))}
    if tools:
        body["tools"] = list(tools)
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.max_reply_tokens is not None:
        # OpenAI refuses the old name for its newer models; other endpoints know only the old name.
        name = "max_completion_tokens" if settings.base_url is None else "max_tokens"
        body[name] = settings.max_reply_tokens
    if settings.stream:
        body["stream"] = True
        if with_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def chat_message(message: Message) -> dict[str, Any]:
    match message:
        case SystemMessage(text):
            return {"role": "system", "content": whole(text)}
        case UserMessage(text):
            return {"role": "user", "content": whole(text)}
        case AssistantMessage(text, ()):
            return {"role": "assistant", "content": whole(text)}
        case AssistantMessage(text, calls):
            return {"role": "assistant", "content": whole(text) or None, "tool_calls": list(map(_chat_call, calls))}
        case ToolAnswer(call_id, _, text):
            return {"role": "tool", "tool_call_id": call_id, "content": whole(text)}
        case _:
            assert_never(message)


def _chat_call(call: ToolRequest) -> dict[str, Any]:
    # The model wrote name and arguments. One malformed old call would make a strict endpoint refuse every further turn.
    name = _NOT_IN_NAMES.sub("_", call.name)[:_MAX_NAME_CHARS] or "unnamed"
    arguments = whole(call.arguments_json)
    if not isinstance(parsed_arguments(arguments), dict):
        arguments = json.dumps({"malformed": arguments} if arguments.strip() else {})
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}
