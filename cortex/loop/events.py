"""What happens in a turn, for whoever watches. All of the last word comes as events too: what the model said as
`TextArrived`, and what the loop says of it as `Notice`."""

from __future__ import annotations

from dataclasses import dataclass

from .messages import ToolRequest, Usage
from .ports import Answer


@dataclass(frozen=True, slots=True)
class TextArrived:
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Words of ours and not of the model: why there is no answer, or no whole one. Comes last in a turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The model keeps us waiting. Told by models and by those who watch over them, and not by the loop."""

    reason: str = ""
    """What went wrong with the last attempt; empty when nothing did, and nothing came either."""
    again_in_s: float | None = None
    """So long it takes until the next attempt."""


@dataclass(frozen=True, slots=True)
class CallStarted:
    call: ToolRequest


@dataclass(frozen=True, slots=True)
class CallEnded:
    """Comes once for each `CallStarted`, unless the turn is cancelled. Calls that were refused have both."""

    call: ToolRequest
    answer: Answer


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """The model has replied and its calls are answered."""

    rounds: int
    usage: Usage
    """Of the turn so far."""


Event = TextArrived | Notice | Waiting | CallStarted | CallEnded | RoundEnded
