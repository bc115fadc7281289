"""What can go wrong with a server, as the errors that code and models see. Texts of servers are bounded here."""

from __future__ import annotations

from sandbox import ToolError

MAX_TEXT = 500
TOO_LONG = -32_098
"""The JSON-RPC code that this side itself gives to an answer that was too long to be read."""
_TOO_LONG_TEXT = "the answer is longer than"


def too_long(max_bytes: int) -> str:
    return f"{_TOO_LONG_TEXT} {max_bytes} bytes"


def is_too_long(code: int, message: str) -> bool:
    """Over HTTP the SDK makes a code of its own of what we tell it."""
    return code == TOO_LONG or _TOO_LONG_TEXT in message


class McpUnavailable(ToolError):
    """The server cannot be used now. The message says why, and when it will be tried again."""

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message, code="unavailable", retryable=retryable)


class LinkFault(Exception):
    """A server cannot be started, or spoken to. The message says what is wrong."""


class NoProgram(LinkFault):
    """What the settings say cannot be started. To try again helps nobody."""


def short(text: object, most: int = MAX_TEXT) -> str:
    said = " ".join(str(text)[: 4 * most].split())
    return said if len(said) <= most else said[: most - 1] + "…"
