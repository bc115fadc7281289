"""What happens in a cortex, as typed events, each announced once.

The audit hears an event first and may refuse; the watcher of a turn and the listeners of `cortex.subscribe` hear it
afterwards. Events hold what was run and called: code, arguments, results. A listener that passes them on decides what
to leave out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from sandbox import Displayed, ExecutionOutcome

    from .intents import RunCodeIntent


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    """The energy has been taken, and the code is about to run."""

    kind: ClassVar[str] = "code_execution_started"
    intent: RunCodeIntent
    level_before: float
    level: float
    code_hash: str = ""
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    """The code has run. `reply` is what the model reads, without secrets."""

    intent: RunCodeIntent
    outcome: ExecutionOutcome
    reply: str
    level: float
    code_hash: str = ""
    cost: float = 0.0
    displayed: tuple[Displayed, ...] = ()
    """What the code displayed, without secrets, drawings rendered."""

    @property
    def kind(self) -> str:
        return "code_execution_completed" if self.outcome.ok else "code_execution_failed"


@dataclass(frozen=True, slots=True)
class ExecutionCutShort:
    """The code may have run, and has no outcome: the host failed, or the caller cancelled the call."""

    kind: ClassVar[str] = "code_execution_failed"
    intent: RunCodeIntent
    why: str
    """`HOST_FAILED` or `CANCELLED`."""
    level: float
    code_hash: str = ""
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing ran. `intent` is set if the request could be read that far."""

    kind: ClassVar[str] = "refused"
    tool: str
    reply: str
    intent: RunCodeIntent | None = None
    turn: str = ""
    code_hash: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model, code in the sandbox or a neuron called a tool of the toolbox or of an MCP server."""

    kind: ClassVar[str] = "tool_called"
    tool: str
    origin: str
    ok: bool
    duration_ms: float
    turn: str = ""
    """The id of the turn, or `neuron:<id>`."""
    arguments: Any = field(default=None, repr=False)
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class CoreToolCalled:
    """The model called a tool of the cortex that runs nothing, such as `core.energy`."""

    kind: ClassVar[str] = "core_tool_called"
    tool: str
    turn: str
    arguments: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class OwnerAnswered:
    """The owner was asked about a call, and answered."""

    kind: ClassVar[str] = "owner_answered"
    tool: str
    origin: str
    allowed: bool
    reason: str
    turn: str = ""
    arguments: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Said:
    """The agent said something with `core.say`."""

    kind: ClassVar[str] = "said"
    text: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """The agent keeps a sentence with `core.remember`."""

    kind: ClassVar[str] = "remembered"
    text: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """The agent proposes a neuron. Nothing comes of it without the owner."""

    kind: ClassVar[str] = "proposed"
    neuron: str
    """The neuron's id."""
    name: str
    purpose: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """A line of the audit about anything else: a neuron changed, the owner decided, the kill switch was turned."""

    kind: ClassVar[str] = "recorded"
    record: str
    """The kind of the line, such as `owner_decision`."""
    facts: Mapping[str, Any]


# What the watcher of a turn is told.
TurnEvent: TypeAlias = ExecutionStarted | ExecutionEnded | Refused | ToolCalled | Said | Remembered | Proposed
CortexEvent: TypeAlias = TurnEvent | ExecutionCutShort | CoreToolCalled | OwnerAnswered | Recorded
Watch: TypeAlias = Callable[[TurnEvent], None]
Listener: TypeAlias = Callable[[CortexEvent], object]
