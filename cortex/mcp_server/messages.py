"""Parses the JSON-RPC messages of MCP clients. Their size was checked before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import ValidationError, from_json

from cortex.mcp_wire import HEAD_BYTES, RefusedMessage, longer_than

if TYPE_CHECKING:
    from mcp_types import JSONRPCMessage

    from cortex.mcp_wire import Line

MAX_OTHER_BYTES = 65_536
"""Size limit of a message that calls no tool. The SDK copies some of them, and keeps the first notifications until a
request comes."""
# Limit of ids, methods and tool names: the SDK copies them into its answer, its log and its traces.
MAX_NAME_CHARACTERS = 1_000


class NoMessage(RefusedMessage):
    """JSON that is not a JSON-RPC message."""


def message_of(data: Line) -> JSONRPCMessage | RefusedMessage:
    """Parse one message, or say why it is refused. Raises a short ValueError if the data is not JSON.

    Pydantic's error is dropped: it quotes the data, and formatting it takes a second for a few megabytes.
    """
    from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415 - it takes a second to load

    value = from_json(data)
    reason = _too_large(value, len(data)) if isinstance(value, dict) else None
    if reason is not None:
        return RefusedMessage(*_ends(data), reason)
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return NoMessage(*_ends(data), "neither a request nor a notification nor a response")


def _ends(data: Line) -> tuple[bytes, bytes]:
    return bytes(data[:HEAD_BYTES]), bytes(data[-HEAD_BYTES:])


def _too_large(message: dict[str, Any], size: int) -> str | None:
    params = message.get("params")
    called = params.get("name") if isinstance(params, dict) else None
    for name, text in (("id", message.get("id")), ("method", message.get("method")), ("name", called)):
        if isinstance(text, str) and len(text) > MAX_NAME_CHARACTERS:
            return f"more than {MAX_NAME_CHARACTERS} characters in its {name}"
    is_call = message.get("method") == "tools/call" and "id" in message
    return None if is_call or size <= MAX_OTHER_BYTES else f"{longer_than(MAX_OTHER_BYTES)}, and no call of a tool"
