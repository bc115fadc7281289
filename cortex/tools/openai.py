"""Tool definitions for OpenAI's two APIs, byte for byte the same for the same tools."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, Literal

from .definitions import ToolDefinition
from .names import wire_name

Api = Literal["chat", "responses"]


def openai_tools(definitions: Iterable[ToolDefinition], api: Api = "chat") -> list[dict[str, Any]]:
    """A list for `tools=` of chat.completions or of the Responses API. The caller may modify it."""
    match api:
        case "chat":
            return [{"type": "function", "function": _described(tool)} for tool in definitions]
        case "responses":
            # Explicit, because that API is strict by default, and then parameters cannot be optional.
            return [{"type": "function", **_described(tool), "strict": False} for tool in definitions]
    raise ValueError(f'No API {api!r}: there are "chat" and "responses"')


def _described(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "name": wire_name(tool.name),
        "description": tool.description,
        "parameters": deepcopy(dict(tool.parameters)),
    }
