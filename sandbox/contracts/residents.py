"""Request and answer types of a resident process, which stays and handles signals. Plain data: runs nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .changes import Changes
from .outcomes import ExecutionError, LogEntry
from .tiers import Tier

KIB = 1024
RESULT = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentProgram:
    """A program that handles signals, and its limits. `code` is the body of an async function with the parameters
    `signal`, `state` and `emit(type, data)`; or of a function, with the parameter `args`."""

    code: str
    name: str = ""
    """Lets the owner kill this program alone; lower-case letters, digits and -."""
    tier: Tier = Tier.ISOLATED
    timeout_ms: int = 1_000
    """For one signal. A batch may take this long times its number of signals."""
    max_state_bytes: int = 16 * KIB
    """Limit on the JSON text of the state. A signal that leaves a larger state has failed."""
    max_emitted: int = 16
    """At most this many emitted by one signal. All signals of a batch together may emit at most one mebibyte; only the
    first signal that emits may exceed it."""
    max_signal_bytes: int = 16 * KIB
    """Limit on the JSON text of a received signal, and on that of an emitted signal's data."""
    max_memory_mb: int = 256
    """The sandbox settings may lower this."""
    deterministic: bool = False
    """Give each signal a clock that stands at its own time `at`, and chance from a fixed seed: two programs that are
    given the same signals differ only in what they do."""
    is_function: bool = False
    """Each signal is `{"args": …}`, a call, and emits the one signal RESULT, with what the code returned."""


@dataclass(frozen=True, slots=True)
class SignalAnswer:
    """The result of one signal. A failed signal has emitted nothing and left the state unchanged."""

    ok: bool
    emitted: tuple[tuple[str, Any], ...] = ()
    """Type and data, in the order in which they were emitted."""
    error: ExecutionError | None = None
    changes: Changes = field(default_factory=Changes)
    """What it would change in the workspace, for the caller to commit or to roll back."""
    cpu_ms: float = 0.0
    """Its part of what the batch computed: of all signals together as much as of the batch."""
    fetches: int = 0
    fetched_bytes: int = 0
    tool_calls: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """What one batch cost, all its signals together."""

    ms: float = 0.0
    cpu_ms: float = 0.0
    """Includes what the process computed since the previous batch, and what loading took beyond the usual; 0 where the
    system does not report it."""
    fetches: int = 0
    fetched_bytes: int = 0
    tool_calls: int = 0
    restarts: int = 0
    """Processes that crashed, hung or exceeded a limit, and were replaced."""
    hosts: tuple[str, ...] = ()
    """Hosts that the code asked for, allowed or not."""
    tools: tuple[str, ...] = ()
    """Tools that the code asked for, allowed or not."""
    files: tuple[str, ...] = ()
    """Operations on files that the code asked for, such as "readFile", allowed or not."""
    logs: tuple[LogEntry, ...] = ()

    @property
    def restarted(self) -> bool:
        return self.restarts > 0


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The answers to one batch, the new state, and what the batch cost."""

    answers: tuple[SignalAnswer, ...]
    """One per signal, in the same order."""
    state: dict[str, Any]
    """The caller passes this in with the next batch."""
    work: Work = field(default_factory=Work)
