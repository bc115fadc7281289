"""Events of a turn, for a watcher such as the chat.

The whole last word is sent as events, too: the model's words as `TextArrived`, and the loop's as `Notice`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .messages import ToolRequest, Usage
from .ports import Answer


@dataclass(frozen=True, slots=True)
class TextArrived:
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Words of the loop, not of the model: why there is no answer, or an incomplete one. Comes last in a turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The model has not answered yet. Sent by models and their wrappers, not by the loop."""

    reason: str = ""
    """What went wrong in the last attempt; empty when nothing did, but nothing came either."""
    again_in_s: float | None = None
    """Seconds until the next attempt."""


@dataclass(frozen=True, slots=True)
class CallStarted:
    call: ToolRequest


@dataclass(frozen=True, slots=True)
class CallEnded:
    """Comes once for each `CallStarted`, unless the turn is cancelled. Refused calls have both."""

    call: ToolRequest
    answer: Answer


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """The model has replied and its calls are answered."""

    rounds: int
    usage: Usage
    """Tokens used in the turn so far."""


Event = TextArrived | Notice | Waiting | CallStarted | CallEnded | RoundEnded
