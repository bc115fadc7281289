"""What is asked of the sandbox and what it answers. Plain data: nothing here runs anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .changes import Changes
from .tiers import Tier

LogLevel = Literal["debug", "log", "info", "warn", "error"]


class ExecutionRequest(BaseModel):
    """One piece of code to run, once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    tier: Tier = Tier.ISOLATED
    timeout_ms: Annotated[int, Field(gt=0)] | None = None
    """Wall clock for the code itself; None takes the runtime's default."""
    context: Any = Field(default_factory=dict)
    """JSON that the code finds as the global `context`."""
    max_memory_mb: Annotated[int, Field(ge=16)] | None = None
    """Less than the settings allow: more is never given."""
    deterministic: bool = False
    """Run under a fixed clock and seed, and tell whether the code asked for either."""


class ErrorType(StrEnum):
    """The kinds of failure that a caller may want to tell apart."""

    SYNTAX = "SyntaxError"
    RUNTIME = "RuntimeError"
    TIMEOUT = "TimeoutError"
    MEMORY = "MemoryError"
    PERMISSION = "PermissionError"
    TOOL = "ToolError"
    LIMIT = "LimitError"
    CRASH = "CrashError"


@dataclass(frozen=True, slots=True)
class ExecutionError:
    """Why there is no result, in words that help the author of the code."""

    type: ErrorType
    message: str
    stack: str | None = None


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One call of `console`, or one direct write to stdout or stderr."""

    level: LogLevel
    text: str


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the execution took. Times are in milliseconds, of wall clock but for `cpu_ms`."""

    startup_ms: float = 0.0
    """How long the caller waited for a process: next to nothing when one was warm."""
    execution_ms: float = 0.0
    """From handing over the code to the answer."""
    total_ms: float = 0.0
    """All that the caller waited, the queue included."""
    cpu_ms: float = 0.0
    """What the process computed meanwhile, in all its threads; 0 where the system does not tell."""
    peak_memory_mb: float = 0.0
    tool_calls: int = 0
    fetches: int = 0
    """Requests that the code made, each redirect among them."""
    fetched_bytes: int = 0
    failed_calls: int = 0
    """Calls of tools and of fetch that were answered with an error, also where the code caught it. What a server
    answered is an answer, whatever its status."""
    cached: bool = False
    """Nothing ran: the result of an earlier run of the same code was given again."""
    level: str = "none"
    """How much stood behind Deno's own permissions: "full", "partial" or "none"."""
    layers: tuple[str, ...] = ()
    """And what that was."""


@dataclass(frozen=True, slots=True)
class ExecutionOutcome:
    """What happened. `ok` decides which of `result` and `error` has a meaning."""

    ok: bool
    result: Any = None
    error: ExecutionError | None = None
    logs: tuple[LogEntry, ...] = ()
    metrics: Metrics = field(default_factory=Metrics)
    result_bytes: int | None = None
    """Set when the result's JSON text was too long: its whole size, while `result` is its beginning as text."""
    changes: Changes = field(default_factory=Changes)
    """What the run would change in its workspace. Nothing is changed before `await outcome.changes.commit()`."""
    refused: bool = False
    """True when nothing ran: the request was turned down before a process was used."""
    deterministic: bool = False
    """True when it was run under a fixed clock and seed, as the request wished, asked for neither nor for anything of
    the host, and came to its own end: the same code with the same context gives the same again, be it an error."""

    @property
    def truncated(self) -> bool:
        return self.result_bytes is not None


def mistake_in(code: str, max_code_bytes: int) -> ExecutionError | None:
    """Why the code cannot even be tried, if it cannot."""
    if not code.strip():
        return ExecutionError(ErrorType.SYNTAX, "The code is empty")
    try:
        size = len(code.encode())
    except UnicodeEncodeError:
        return ExecutionError(ErrorType.SYNTAX, "The code is not valid Unicode: it has half of a surrogate pair")
    if size > max_code_bytes:
        return ExecutionError(ErrorType.LIMIT, f"The code is {size} bytes long, more than {max_code_bytes}")
    return None


def refused(type_: ErrorType, message: str) -> ExecutionOutcome:
    """The outcome of a request that was turned down before anything ran."""
    return ExecutionOutcome(ok=False, error=ExecutionError(type_, message), refused=True)
