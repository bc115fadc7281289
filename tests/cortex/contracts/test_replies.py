from __future__ import annotations

import pytest

from cortex import blocked, reply
from sandbox import ErrorType, ExecutionError, ExecutionOutcome, Finding
from sandbox.contracts.outcomes import refused


def succeeded(result, **details):
    return ExecutionOutcome(ok=True, result=result, **details)


def failed(kind, message):
    return ExecutionOutcome(ok=False, error=ExecutionError(kind, message))


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (succeeded({"a": [1, None, "é"]}), '{"a":[1,null,"é"]}'),
        (succeeded(None), "null"),
        (succeeded(""), '""'),
        (succeeded('"xx… [truncated: 99 bytes in all]', result_bytes=99), '"xx… [truncated: 99 bytes in all]'),
        (failed(ErrorType.TIMEOUT, "Code exceeded 5000ms limit."), "EXECUTION_TIMEOUT: Code exceeded 5000ms limit."),
        (failed(ErrorType.RUNTIME, "TypeError: x"), "EXECUTION_ERROR: RuntimeError: TypeError: x"),
        (failed(ErrorType.LIMIT, "Output exceeds 5 bytes"), "EXECUTION_ERROR: LimitError: Output exceeds 5 bytes"),
        (refused(ErrorType.LIMIT, "The code is too long"), "EXECUTION_DENIED: The code is too long"),
    ],
)
def test_each_outcome_has_its_string(outcome, text):
    assert reply(outcome) == text


def test_a_blocked_script_names_the_pattern():
    finding = Finding("eval", "runs text as code", 1, 1)
    assert blocked(finding) == "EXECUTION_BLOCKED: Code contains disallowed pattern: eval"


@pytest.mark.parametrize("kind", list(ErrorType))
def test_no_reply_is_empty(kind):
    assert reply(failed(kind, "")).startswith("EXECUTION_")
