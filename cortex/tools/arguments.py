"""Parses the arguments that a model sent, and fixes common mistakes of models that are weak at JSON.

Fixed are null for an omitted argument, `camelCase` for `snake_case`, "5" for 5, JSON in a string, a text where an
object belongs. All input is hostile: it is bounded before it is parsed, and every error is a `ToolError` that says what
to send instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from sandbox import JsonLimits, TooComplex, ToolError, bounded_json, check_json

MAX_ARGUMENT_CHARACTERS = 1_048_576
# Each invalid value becomes a separate error before the first can be reported.
ARGUMENT_LIMITS = JsonLimits(containers=20_000, values=20_000)

_FENCE = "```"


def invalid(message: str) -> ToolError:
    return ToolError(message[:1_000], code="invalid_arguments")


def unfenced(text: str) -> str:
    """The text without the fences of a code block around it, if any."""
    # No regular expression: a megabyte of blanks must not take quadratic time.
    first, line_end, rest = text.strip().partition("\n")
    if not line_end or not first.startswith(_FENCE) or not rest.endswith(_FENCE):
        return text
    return rest.removesuffix(_FENCE).rstrip()


def object_of(raw: Any, tool: str, bare: str | None = None) -> dict[str, Any]:
    """The arguments as one new object of plain JSON. Text that is not JSON becomes the parameter `bare`, if given.
    Raises ToolError."""
    value = _parsed(raw, tool, bare) if isinstance(raw, str) else raw
    match value:
        case None:
            return {}
        case str() if bare is not None:
            value = {bare: value}
        case [Mapping() as only]:
            value = only
    if not isinstance(value, Mapping):
        raise invalid(f"{tool} takes one object with its arguments, not {_kind(value)}")
    return _plain(value, tool)


def _parsed(text: str, tool: str, bare: str | None) -> Any:
    if len(text) > MAX_ARGUMENT_CHARACTERS:
        raise invalid(f"The arguments of {tool} are {len(text)} characters long, more than {MAX_ARGUMENT_CHARACTERS}")
    if not text.strip():
        return None
    inside = unfenced(text)
    try:
        value = _loaded(inside)
    except (ValueError, RecursionError) as error:
        # Text that begins like an object was meant as one; taken for code, half a message would be run.
        if bare is not None and not inside.lstrip().startswith("{"):
            return text
        if isinstance(error, TooComplex):
            raise invalid(f"The arguments of {tool} hold {error}") from error
        raise invalid(
            f"The arguments of {tool} are not JSON: {str(error)[:200]}. Send one whole object, and escape quotes and "
            "line ends inside its texts"
        ) from error
    if isinstance(value, str) and value.lstrip().startswith("{"):
        # JSON inside JSON. A text that only begins like that may be code.
        try:
            return _loaded(value)
        except (ValueError, RecursionError):
            return value
    return value


def _loaded(text: str) -> Any:
    check_json(text, ARGUMENT_LIMITS)
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        # Line ends and tabs inside strings, which JSON forbids but models write.
        if not any(character in text for character in "\n\r\t"):
            raise
    return json.loads(text, strict=False, parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise ValueError(f"JSON has no {name}")


def _plain(value: Mapping[Any, Any], tool: str) -> dict[str, Any]:
    """A copy that contains only JSON, within the limits."""
    try:
        text = to_json(dict(value), inf_nan_mode="null")
    except (ValueError, TypeError, RecursionError, AttributeError) as error:
        raise invalid(f"The arguments of {tool} are not JSON: {str(error)[:200]}") from error
    if len(text) > 4 * MAX_ARGUMENT_CHARACTERS:
        raise invalid(f"The arguments of {tool} are {len(text)} bytes long, more than {4 * MAX_ARGUMENT_CHARACTERS}")
    try:
        plain: dict[str, Any] = bounded_json(text, ARGUMENT_LIMITS)
    except TooComplex as error:
        raise invalid(f"The arguments of {tool} hold {error}") from error
    except ValueError as error:
        raise invalid(f"The arguments of {tool} cannot be read: {str(error)[:200]}") from error
    return plain


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list() | tuple():
            return "an array"
        case _:
            return f"a {type(value).__name__}"
