"""Events of a turn, sent as they happen to a watcher: a chat shows them, a program may count them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from sandbox import ExecutionOutcome

    from .intents import RunCodeIntent


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    """The energy has been taken, and the code is about to run."""

    intent: RunCodeIntent
    level_before: float
    level: float


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    intent: RunCodeIntent
    outcome: ExecutionOutcome
    reply: str
    level: float


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing ran. `intent` is set if the request could be read that far."""

    tool: str
    reply: str
    intent: RunCodeIntent | None = None


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool of the toolbox was called, by the model or by code in the sandbox."""

    tool: str
    origin: str
    ok: bool
    duration_ms: float


@dataclass(frozen=True, slots=True)
class Said:
    text: str


@dataclass(frozen=True, slots=True)
class Remembered:
    text: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """The agent proposes a neuron. Nothing comes of it without the owner."""

    neuron: str
    """The neuron's id."""
    name: str
    purpose: str


TurnEvent: TypeAlias = ExecutionStarted | ExecutionEnded | Refused | ToolCalled | Said | Remembered | Proposed
Watch: TypeAlias = Callable[[TurnEvent], None]
