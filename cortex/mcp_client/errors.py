"""The errors of MCP servers, as code and models see them. Error texts of the servers are shortened here."""

from __future__ import annotations

from pydantic_core import ValidationError, to_json

from sandbox import ToolError

MAX_TEXT = 500
TOO_LARGE = -32_098
"""The JSON-RPC code that this client sets for an answer that was too large to be read."""
_TOO_LARGE_TEXT = "the answer is too large: "


def too_large(reason: str) -> str:
    """Like "the answer is too large: more than 25000 objects and arrays"."""
    return _TOO_LARGE_TEXT + reason


def is_too_large(code: int, message: str) -> bool:
    """Whether the error says that an answer was too large. Over HTTP the SDK replaces our code, so the text counts."""
    return code == TOO_LARGE or _TOO_LARGE_TEXT in message


class McpUnavailable(ToolError):
    """The server cannot be used now. The message says why, and when it can be started again."""

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message, code="unavailable", retryable=retryable)


class LinkFault(Exception):
    """The server cannot be started or reached. The message says why."""


class NoProgram(LinkFault):
    """The program in the settings cannot be started. A retry does not help."""


def short(text: object, most: int = MAX_TEXT) -> str:
    said = " ".join(_beginning(text, 4 * most).split())
    return said if len(said) <= most else said[: most - 1] + "…"


def _beginning(text: object, most: int) -> str:
    """The first characters. Not by `str()` of the whole: to print a list of megabytes takes a third of a second."""
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
    """Like "3 errors in ListToolsResult". A ValidationError is never printed or logged itself: it holds what the server
    sent, and formats all of it before it shortens it."""
    return f"{error.error_count()} errors in {short(error.title)}"
