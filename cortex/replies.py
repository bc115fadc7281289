"""From what happened to the one string that a model reads. Nothing else makes these strings, and nothing reads
them back: inside, outcomes are values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import to_json

from sandbox import ErrorType, ExecutionOutcome

if TYPE_CHECKING:
    from sandbox import Finding


def reply(outcome: ExecutionOutcome) -> str:
    """Never empty: a result as JSON, or one of the codes with the reason."""
    if outcome.ok:
        return str(outcome.result) if outcome.truncated else to_json(outcome.result).decode()
    error = outcome.error
    assert error is not None
    if outcome.refused:
        return denied(error.message)
    if error.type is ErrorType.TIMEOUT:
        return f"EXECUTION_TIMEOUT: {error.message}"
    return failed(error.type, error.message)


def blocked(finding: Finding) -> str:
    return f"EXECUTION_BLOCKED: Code contains disallowed pattern: {finding.pattern}"


def denied(reason: str) -> str:
    return f"EXECUTION_DENIED: {reason}"


def failed(kind: str, message: str) -> str:
    return f"EXECUTION_ERROR: {kind}: {message}"
