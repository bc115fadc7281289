"""Refusals as values, and the string that a model reads about an outcome or a refusal.

Only this module makes these strings, and nothing parses them back: inside the program, outcomes are values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from sandbox import ExecutionOutcome, Finding


@dataclass(frozen=True, slots=True)
class Denied:
    """Energy, the kill switch, the owner, a limit of the turn, or a sandbox without a free place."""

    reason: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """The guard found a pattern in the code."""

    finding: Finding


Refusal: TypeAlias = Denied | Blocked
"""Why nothing was run."""

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


def with_lines(text: str, lines: Sequence[str]) -> str:
    """The reply, and below it what there is to say about files. The first line stays what it is."""
    return "\n".join((text, *lines))


def reply_code(outcome: ExecutionOutcome) -> str:
    """The code at the beginning of the reply."""
    if outcome.ok or outcome.error is None:
        return OK
    if outcome.refused:
        return "EXECUTION_DENIED"
    return "EXECUTION_TIMEOUT" if outcome.error.type == "TimeoutError" else "EXECUTION_ERROR"


class Reason(NamedTuple):
    """Why there is no result: one of the codes, and the detail after its colon."""

    code: str
    message: str

    @property
    def text(self) -> str:
        return f"{self.code}: {self.message}"


def reason_of(refusal: Refusal) -> Reason:
    """Why a call ran nothing."""
    if isinstance(refusal, Denied):
        return Reason("EXECUTION_DENIED", refusal.reason)
    return Reason("EXECUTION_BLOCKED", f"Code contains disallowed pattern: {refusal.finding.pattern}")


def reason_of_fault(error: BaseException) -> Reason:
    """Why the host has no answer: the class alone, because the text may hold a secret."""
    return Reason("EXECUTION_ERROR", f"InternalError: the host failed with {type(error).__name__}")


def blocked(finding: Finding) -> str:
    return reason_of(Blocked(finding)).text


def denied(reason: str) -> str:
    return reason_of(Denied(reason)).text


def failed(kind: str, message: str) -> str:
    """The reply for code or a tool that failed."""
    return f"EXECUTION_ERROR: {kind}: {message}"


def _json(value: object) -> str:
    from pydantic_core import to_json  # noqa: PLC0415 - the loop makes replies too, and is light

    return to_json(value).decode()
