"""What happens in a turn, for whoever watches. All text of the agent's last word comes as `TextArrived` too."""

from __future__ import annotations

from dataclasses import dataclass

from .messages import ToolRequest, Usage
from .ports import Answer


@dataclass(frozen=True, slots=True)
class TextArrived:
    text: str


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


Event = TextArrived | CallStarted | CallEnded | RoundEnded
