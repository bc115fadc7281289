"""Parse what an MCP server sent as one JSON-RPC message, before the SDK sees any of it."""

from __future__ import annotations

import re

from mcp_types import JSONRPCMessage, JSONRPCResponse, jsonrpc_message_adapter
from pydantic_core import from_json

from cortex.mcp_wire import Line, longer_than
from sandbox import TooComplex

from .unwrap import MAX_PARTS

# The SDK writes ids and methods into its log lines and its answers. Megabytes of those would block the event loop.
MAX_HEAD_CHARACTERS = 1_000
NO_MESSAGE = "the answer is no message"
# One wide character, like an emoji, makes Python keep four bytes for each character of its string. With nine megabytes
# of text the host grew by 80 MB; nine megabytes without such a character are accepted.
MAX_WIDE_BYTES = 5_000_000
_WIDE_BYTES = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
_WIDE_ESCAPE = re.compile(rb"\\u[dD][89abAB]")


def parsed(line: Line) -> JSONRPCMessage | None:
    """The message; None if the line is not one. The line's size was checked before. Pydantic's ValidationError is
    dropped and never printed: it formats the whole line, which takes seconds. Raises TooComplex."""
    if len(line) > MAX_WIDE_BYTES and _is_wide(line):
        raise TooComplex(f"{longer_than(MAX_WIDE_BYTES)}, with characters that take four bytes")
    try:
        # Parsed and validated in two steps: in one, a list of thousands of tools is read four times.
        message = jsonrpc_message_adapter.validate_python(from_json(line), by_name=False)
    except ValueError:
        return None
    heads = (getattr(message, "id", None), getattr(message, "method", None))
    if any(isinstance(head, str) and len(head) > MAX_HEAD_CHARACTERS for head in heads):
        return None
    if isinstance(message, JSONRPCResponse):
        _cut(message.result.get("content"))
    return message


def _is_wide(line: Line) -> bool:
    return any(byte in line for byte in _WIDE_BYTES) or (b"\\u" in line and _WIDE_ESCAPE.search(line) is not None)


def _cut(parts: object) -> None:
    """Drop the parts of a result that are dropped later anyway, before the SDK checks them all."""
    if isinstance(parts, list):
        del parts[MAX_PARTS + 1 :]
