"""Makes the string that a model reads from an outcome. Only this module makes these strings.

Nothing parses them back: inside the program, outcomes are values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox import ExecutionOutcome, Finding

OK = "OK"
"""The code of a result, which has none of its own, where a code is recorded."""


def reply(outcome: ExecutionOutcome) -> str:
    """The reply to an outcome: a result as JSON, or one of the codes with the reason. Never empty."""
    if outcome.ok:
        return str(outcome.result) if outcome.truncated else _json(outcome.result)
    error = outcome.error
    assert error is not None
    match reply_code(outcome):
        case "EXECUTION_DENIED":
            return denied(error.message)
        case "EXECUTION_TIMEOUT":
            return f"EXECUTION_TIMEOUT: {error.message}"
        case _:
            return failed(error.type, error.message)


def reply_code(outcome: ExecutionOutcome) -> str:
    """The code at the beginning of the reply."""
    if outcome.ok or outcome.error is None:
        return OK
    if outcome.refused:
        return "EXECUTION_DENIED"
    return "EXECUTION_TIMEOUT" if outcome.error.type == "TimeoutError" else "EXECUTION_ERROR"


def blocked(finding: Finding) -> str:
    """The reply for code that the guard blocked."""
    return f"EXECUTION_BLOCKED: Code contains disallowed pattern: {finding.pattern}"


def denied(reason: str) -> str:
    """The reply for a request that was refused."""
    return f"EXECUTION_DENIED: {reason}"


def failed(kind: str, message: str) -> str:
    """The reply for code or a tool that failed."""
    return f"EXECUTION_ERROR: {kind}: {message}"


def _json(value: object) -> str:
    from pydantic_core import to_json  # noqa: PLC0415 - the loop makes replies too, and is light

    return to_json(value).decode()
