"""The interfaces (ports) of the loop: a model that replies, a turn that answers tool calls, and events for a watcher.

The final answer is also sent as events: the model's text as `TextArrived`, the loop's own text as `Notice`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .messages import Message, ModelReply, ToolRequest, Usage

if TYPE_CHECKING:
    from sandbox import Displayed


class ModelError(Exception):
    """The model gave no usable reply. The message says what happened and what to do, and holds no secret."""

    def __init__(self, message: str, retryable: bool = False, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable
        """The same request may succeed later."""
        self.retry_after_s = retry_after_s
        """The wait that the endpoint asks for, if any."""


def ignore(_: object) -> None:
    """A callback that does nothing."""


class LanguageModel(Protocol):
    """A language model, at any endpoint."""

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        on_text: Callable[[str], None] = ignore,
    ) -> ModelReply:
        """Reply once to the conversation. `on_text` gets the text as it arrives. Raises ModelError."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call, for the model. Never empty."""

    text: str
    note: str | None = None
    """Shown on a separate line below the text."""
    ok: bool = True
    ends: str | None = None
    """Why the model need not reply to this answer, for the user: what it waits for starts a turn of its own."""
    displayed: tuple[Displayed, ...] = ()
    """What code displayed, and pictures that a tool returned."""


class AnsweringTurn(Protocol):
    """One turn as the loop sees it: something that answers calls by the name that the model used."""

    @property
    def id(self) -> str: ...

    @property
    def said(self) -> Sequence[str]:
        """What the agent has said to the user with a tool. After that, an empty reply ends the turn."""
        ...

    def refuse(self, tool: str, reply: str) -> Answer:
        """Record a call that the loop itself refuses, and return its answer. Never raises."""
        ...

    async def answer(self, name: str, arguments: str | Mapping[str, Any]) -> Answer:
        """Answer a call; unknown tools and malformed arguments are answered, too. Raises nothing but a cancellation."""
        ...


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
