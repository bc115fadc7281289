"""The events of a cortex: one class for each kind of thing that happens. Each event is announced once.

The audit log gets an event first and may refuse it; then the watcher of a turn and the listeners of `cortex.subscribe`
get it. Events hold code, arguments and results in full. A listener that passes them on decides what to leave out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

if TYPE_CHECKING:
    from sandbox import Displayed, ExecutionOutcome

    from .intents import RunCodeIntent

_VALUE_BYTES = 64
_NO_MORE = object()


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    """The energy has been taken, and the code is about to run."""

    kind: ClassVar[str] = "code_execution_started"
    intent: RunCodeIntent
    level_before: float
    level: float
    code_hash: str = ""
    cost: float = 0.0
    reservation: int = 0
    """The number of the ledger's entry that has taken the energy."""
    tools: int = 0
    """How many tools are lent to the code."""
    discovery_ms: float = 0.0
    """How long it took to find them."""
    run: Any = field(default=None, repr=False, compare=False)
    """The `cortex.runs.ObservedRun` that watches this run; None where none does."""


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    """The code has run. `reply` is what the model reads, without secrets."""

    intent: RunCodeIntent
    outcome: ExecutionOutcome
    reply: str
    level: float
    code_hash: str = ""
    cost: float = 0.0
    stored: Mapping[str, Any] | None = None
    """What the run has changed in the store of its conversation: how many keys, and a hash; None for nothing."""
    displayed: tuple[Displayed, ...] = ()
    """What the code displayed, without secrets, drawings rendered."""
    run: Any = field(default=None, repr=False, compare=False)
    """As in `ExecutionStarted`."""

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
    run: Any = field(default=None, repr=False, compare=False)
    """As in `ExecutionStarted`."""


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
    call: int | None = None
    """The number of the run within its turn, for a call by code."""
    asked_ms: float | None = None
    """How long the owner was asked; None if the owner was not."""


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
    """What the owner was asked about, without secrets."""
    arguments_hash: str = ""
    """The hash of what the owner was asked about, as the owner saw it."""
    by: str = ""
    """Who decided, and where; empty if that is not known."""


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


@dataclass(frozen=True, slots=True)
class FilesChanged:
    """A run proposes changes for its workspace: announced before they are committed, and when it is settled whether
    they were."""

    kind: ClassVar[str] = "files_changed"
    intent: RunCodeIntent
    state: Literal["committing", "committed", "not committed"]
    counts: Mapping[str, int]
    """How many files and folders are added, changed and removed."""
    content_hashes: tuple[str, ...] = ()
    """The SHA-256 of the new contents, the first fifty."""
    changes_hash: str = ""
    """The SHA-256 of all of the changes, with their names and contents."""
    reason: str = ""
    """Why they were not committed."""
    code_hash: str = ""


@dataclass(frozen=True, slots=True)
class WorkflowStepped:
    """Something happened in a run of a workflow, and its journal has it."""

    kind: ClassVar[str] = "workflow_stepped"
    run: str
    seq: int
    """Its number among the events of that run, from 1 and without gaps."""
    event: str
    """`run_*`, `layer_*`, `task_*`, `code_execution_*`, `decision_*`, `checkpoint_saved` or `replanned`."""
    data: Mapping[str, Any]
    at: float
    saved_ms: float = 0.0
    """How long it took to save the step that it belongs to."""


# What the watcher of a turn is told.
TurnEvent: TypeAlias = ExecutionStarted | ExecutionEnded | Refused | ToolCalled | Said | Remembered | Proposed
CortexEvent: TypeAlias = (
    TurnEvent | ExecutionCutShort | CoreToolCalled | OwnerAnswered | Recorded | FilesChanged | WorkflowStepped
)
Watch: TypeAlias = Callable[[TurnEvent], None]
Listener: TypeAlias = Callable[[CortexEvent], object]


def weight_of_value(value: Any, most: int) -> int:
    """About how many bytes of memory a JSON value takes. Stops counting at `most`, so that it costs little for any
    value."""
    weight, pending = 0, [iter((value,))]
    while pending and weight < most:
        one = next(pending[-1], _NO_MORE)
        if one is _NO_MORE:
            pending.pop()
            continue
        weight += _VALUE_BYTES
        if isinstance(one, str | bytes):
            weight += len(one)
        elif isinstance(one, Mapping):
            pending += (iter(one.values()), iter(one))
        elif isinstance(one, list | tuple):
            pending.append(iter(one))
    return weight


def weight_of_event(event: CortexEvent, most: int) -> int:
    """About how many bytes of memory an event holds, counted up to `most`."""
    parts = [getattr(event, name, None) for name in ("arguments", "reply", "text", "data")]
    outcome = getattr(event, "outcome", None)
    if outcome is not None:
        parts += (outcome.result, [entry.text for entry in outcome.logs])
    return weight_of_value(parts, most)
