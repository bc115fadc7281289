"""What is asked of a process that stays, and what it answers. Plain data: nothing here runs anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .outcomes import ExecutionError, LogEntry
from .tiers import Tier

KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentProgram:
    """The body of an async function with `signal`, `state` and `emit(type, data)`, and its limits."""

    code: str
    name: str = ""
    """By which it can be killed alone; small letters, digits and -."""
    tier: Tier = Tier.ISOLATED
    timeout_ms: int = 1_000
    """For one signal. A batch may take as many of these as it has signals."""
    max_state_bytes: int = 16 * KIB
    """Of its JSON text. A signal that leaves more has failed."""
    max_emitted: int = 16
    """By one signal. All signals of a batch may emit a mebibyte together, unless it is the first that emits more."""
    max_signal_bytes: int = 16 * KIB
    """Of the JSON text of a signal that is given, and of the data of one that is emitted."""
    max_memory_mb: int = 256
    """Or what the settings of the sandbox allow, if that is less."""


@dataclass(frozen=True, slots=True)
class SignalAnswer:
    """What became of one signal. One that failed has emitted nothing and left the state as it was."""

    ok: bool
    emitted: tuple[tuple[str, Any], ...] = ()
    """Type and data, in the order in which they were emitted."""
    error: ExecutionError | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """What a batch took, all its signals together."""

    ms: float = 0.0
    cpu_ms: float = 0.0
    """With what the process has computed since the batch before, and what loading took beyond the usual; 0 where the
    system does not tell."""
    fetches: int = 0
    fetched_bytes: int = 0
    tool_calls: int = 0
    restarts: int = 0
    """Processes that crashed, hung or went beyond a limit, and made way for another."""
    hosts: tuple[str, ...] = ()
    """That were asked for, allowed or not."""
    tools: tuple[str, ...] = ()
    """Likewise."""
    logs: tuple[LogEntry, ...] = ()

    @property
    def restarted(self) -> bool:
        return self.restarts > 0


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    answers: tuple[SignalAnswer, ...]
    """As many as there were signals, in their order."""
    state: dict[str, Any]
    """To be handed in with the next batch."""
    work: Work = field(default_factory=Work)
