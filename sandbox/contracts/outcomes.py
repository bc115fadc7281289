"""Request and outcome of one execution. Plain data: nothing here runs anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .changes import Changes
from .displays import Displayed
from .tiers import Tier

LogLevel = Literal["debug", "log", "info", "warn", "error"]


class ExecutionRequest(BaseModel):
    """One piece of code to run, once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    tier: Tier = Tier.ISOLATED
    timeout_ms: Annotated[int, Field(gt=0)] | None = None
    """Wall-clock limit for the code itself; None takes the runtime's default."""
    context: Any = Field(default_factory=dict)
    """JSON value that the code sees as the global `context`."""
    max_memory_mb: Annotated[int, Field(ge=16)] | None = None
    """Lowers the limit of the settings; it can never raise it."""
    deterministic: bool = False
    """Run under a fixed clock and seed, and report whether the code used either."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    """What `Math.random` is drawn from, so that a later run can draw the same; None leaves it to chance, or, in a
    deterministic run, to the seed of all such runs. `crypto` is drawn from it only in a deterministic run."""
    clock_ms: Annotated[float, Field(ge=0, lt=8.64e15, allow_inf_nan=False)] | None = None
    """Where the clock of a deterministic run begins, in milliseconds since 1970; None takes that of all such runs."""


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
    where: str | None = None
    """Line and column in the author's code, and that line; of errors that the running code raised."""
    stopped: bool = False
    """True when the kill switch ended the run."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One call of `console`, or one direct write to stdout or stderr."""

    level: LogLevel
    text: str
    at_ms: float | None = field(default=None, compare=False)
    """When the host heard of it, in milliseconds from sending the code; None where that was not measured."""


@dataclass(frozen=True, slots=True)
class CallCount:
    """What the calls of one tool, or the requests of one method to one host, led to."""

    name: str
    done: int = 0
    failed: int = 0
    under_way: int = 0
    """Begun, and without an answer when the run ended: they may have taken effect, or may still."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the execution cost. Times are wall-clock milliseconds, except `cpu_ms`."""

    startup_ms: float = 0.0
    """How long the caller waited for a process: almost nothing when a warm one was ready."""
    execution_ms: float = 0.0
    """From sending the code to the answer."""
    total_ms: float = 0.0
    """The caller's whole wait, including the queue."""
    cpu_ms: float = 0.0
    """CPU time of all threads of the process meanwhile; 0 where the system does not report it."""
    peak_memory_mb: float = 0.0
    tool_calls: int = 0
    fetches: int = 0
    """Network requests that the code made; each redirect counts."""
    fetched_bytes: int = 0
    failed_calls: int = 0
    """Tool calls and fetches that were answered with an error, even if the code caught it. An HTTP response of any
    status is not an error."""
    failed_fetches: int = 0
    """Those of them that were fetches. Some were never sent, so they are not a part of `fetches`."""
    cached: bool = False
    """Nothing ran: this is the cached result of an earlier run of the same code."""
    level: str = "none"
    """How much of the operating-system wall stood behind Deno's own permissions: "full", "partial" or "none"."""
    layers: tuple[str, ...] = ()
    """The layers of that wall, by name."""


@dataclass(frozen=True, slots=True)
class ExecutionOutcome:
    """What happened in one execution. `ok` tells whether to read `result` or `error`."""

    ok: bool
    result: Any = None
    error: ExecutionError | None = None
    logs: tuple[LogEntry, ...] = ()
    metrics: Metrics = field(default_factory=Metrics)
    result_bytes: int | None = None
    """Set when the result's JSON text was too long: its full size; `result` then is the beginning of that text."""
    changes: Changes = field(default_factory=Changes)
    """The changes that the run proposes for its workspace. `await outcome.changes.commit()` makes them."""
    refused: bool = False
    """True when nothing ran: the request was refused before a process was used."""
    deterministic: bool = False
    """True when the same code with the same context gives the same outcome again, even an error: the request wanted a
    fixed clock and seed, the code used neither, asked nothing of the host, and ended by itself."""
    has_value: bool = True
    """False when the code ended without a value: `result` is None then."""
    calls: tuple[CallCount, ...] = ()
    """The tools that the code called, and its requests that were no plain reads."""
    displayed: tuple[Displayed, ...] = ()
    """What the code showed with `display`, in order, also when it failed later. Drawings are still SVG text:
    `render_svg` makes pictures of them."""

    @property
    def truncated(self) -> bool:
        return self.result_bytes is not None


def mistake_in(code: str, max_code_bytes: int) -> ExecutionError | None:
    """Why the code cannot be run at all (empty, not Unicode, too long); None if it can."""
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
    """The outcome of a request that was refused before anything ran."""
    return ExecutionOutcome(ok=False, error=ExecutionError(type_, message), refused=True)
