"""What can go wrong with a server, as the errors that code and models see. Texts of servers are bounded here."""

from __future__ import annotations

from pydantic_core import ValidationError, to_json

from sandbox import ToolError

MAX_TEXT = 500
TOO_LARGE = -32_098
"""The JSON-RPC code that this side itself gives to an answer that was too large to be read."""
_TOO_LARGE_TEXT = "the answer is too large: "


def too_large(reason: str) -> str:
    """As in "the answer is too large: more than 25000 objects and arrays"."""
    return _TOO_LARGE_TEXT + reason


def is_too_large(code: int, message: str) -> bool:
    """Over HTTP the SDK makes a code of its own of what we tell it."""
    return code == TOO_LARGE or _TOO_LARGE_TEXT in message


class McpUnavailable(ToolError):
    """The server cannot be used now. The message says why, and when it will be tried again."""

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message, code="unavailable", retryable=retryable)


class LinkFault(Exception):
    """A server cannot be started, or spoken to. The message says what is wrong."""


class NoProgram(LinkFault):
    """What the settings say cannot be started. To try again helps nobody."""


def short(text: object, most: int = MAX_TEXT) -> str:
    said = " ".join(_beginning(text, 4 * most).split())
    return said if len(said) <= most else said[: most - 1] + "…"


def _beginning(text: object, most: int) -> str:
    """Not by `str()` of all of it: to print a list of megabytes takes a third of a second."""
    match text:
        case str():
            return text[:most]
        case ValidationError():
            return validation_text(text)
        case dict() | list():
            return to_json(text, fallback=lambda value: type(value).__name__)[:most].decode(errors="replace")
        case _:
            return str(text)[:most]


def validation_text(error: ValidationError) -> str:
    """As in "3 errors in ListToolsResult". An error of a validation is never printed, and never logged as it is: it
    holds what a server sent, and writes out all of it before it cuts it."""
    return f"{error.error_count()} errors in {short(error.title)}"
