"""The exceptions of the sandbox. Modules below `runtime.py` raise them; `runtime.py` turns each into an outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .outcomes import ExecutionError


class SandboxError(Exception):
    """Base class of every exception that this package raises."""


class SandboxUnavailable(SandboxError):
    """The sandbox cannot start on this machine. The message says what to do about it."""


class NothingMayRun(SandboxUnavailable):
    """Running is forbidden now, as by the owner's kill switch. The machine is not at fault: log no warning."""


class ToolError(SandboxError):
    """Raise this in a tool to tell the agent's code what went wrong.

    The code sees its message. It does not see the message of any other exception, which may contain things that the
    code must not see (paths, secrets, parts of a query).
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
