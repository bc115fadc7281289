"""What a journal keeps as JSON text: bounded when it is written, so that all of it can be read again, as it was."""

from __future__ import annotations

import json
import re
from typing import Any

from sandbox import JsonLimits, TooComplex, bounded_json, check_json

from .journal import JournalError
from .json_pieces import pieces

MAX_ROW_BYTES = 1_048_576
"""A longer result lies in a file."""
MAX_RESULT_BYTES = 16 * 1_048_576
MAX_SHOWN_CHARACTERS = 4 * 1_048_576
# As much as a run can answer at all, and a tool in one message.
_LIMITS = JsonLimits(containers=200_000, values=500_000, digits=20_000_000)
# Too short to be too deep for the parser, or too much of anything.
_SHORT = 200
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
# Half of a surrogate pair: Python's own parser reads it, the fast one does not.
_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def text_of(value: Any, what: str, most: int = MAX_ROW_BYTES) -> str:
    """The value as JSON, in ASCII. Raises JournalError for what cannot be kept."""
    try:
        text = "".join(pieces(value, _ENCODER))
    except (TypeError, ValueError, RecursionError) as error:
        raise JournalError(f"{what} cannot be saved: it is not JSON, or is nested too deeply") from error
    if len(text) <= _SHORT:
        return text
    if len(text) > most:
        raise JournalError(f"{what} cannot be saved: it has {len(text)} bytes, and at most {most} are allowed")
    try:
        # Read again as it will be: what is too deep for the parser must not be found out after a restart.
        bounded_json(_HALF.sub(r"\\u0020", text) if "\\ud" in text else text, _LIMITS)
    except TooComplex as error:
        raise JournalError(f"{what} cannot be saved: it has {error}") from error
    except (ValueError, RecursionError) as error:
        raise JournalError(f"{what} cannot be saved: it is nested too deeply") from error
    return text


def value_of(text: str | bytes, what: str) -> Any:
    """The value of a text that was kept. Raises JournalError for a text that is damaged."""
    try:
        try:
            return bounded_json(text, _LIMITS)
        except TooComplex:
            raise
        except ValueError:
            check_json(text, _LIMITS)
            return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise JournalError(f"{what} cannot be read: the journal is damaged there") from error
