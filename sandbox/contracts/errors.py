"""Faults. Below `runtime.py` they are raised; `runtime.py` turns each into an outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .outcomes import ExecutionError


class SandboxError(Exception):
    """Anything that this package raises."""


class SandboxUnavailable(SandboxError):
    """The sandbox cannot start on this machine. The message says what to do about it."""


class NothingMayRun(SandboxUnavailable):
    """Somebody has forbidden it. That is no fault of the machine, and nothing to warn of."""


class ToolError(SandboxError):
    """Raise it in a tool to tell the agent's code what went wrong.

    Its message reaches the code; that of any other exception does not, because it may hold what the code must not
    see (paths, secrets, parts of a query).
    """

    def __init__(self, message: str, *, code: str = "tool_error", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


class MalformedFrame(SandboxError):
    """The process sent something that is not a frame."""


class RunFault(SandboxError):
    """A run ended without a result."""

    def __init__(self, error: ExecutionError) -> None:
        super().__init__(error.message)
        self.error = error
