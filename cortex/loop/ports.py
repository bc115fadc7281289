"""What the loop needs of others: a model that replies, and a turn that answers calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .messages import Message, ModelReply


class ModelError(Exception):
    """The model gave no usable reply. The message says what happened and what to do, and holds no secret."""

    def __init__(self, message: str, retryable: bool = False, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable
        """The same request may succeed later."""
        self.retry_after_s = retry_after_s
        """What the endpoint asks for, if it does."""


def ignore(_: object) -> None:
    """For whoever does not want to know."""


class LanguageModel(Protocol):
    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        on_text: Callable[[str], None] = ignore,
    ) -> ModelReply:
        """One reply to the conversation. `on_text` gets its text as it comes. Raises ModelError."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call came to, for the model. Never empty."""

    text: str
    note: str | None = None
    """For a line of its own below the text."""
    ok: bool = True


class Turn(Protocol):
    """One turn as the loop sees it: something that answers calls by the name that the model used."""

    @property
    def id(self) -> str: ...

    @property
    def said(self) -> Sequence[str]:
        """What the agent has said to the user by a tool. After that, an empty reply is the end of a turn."""
        ...

    def refuse(self, tool: str, reply: str) -> Answer:
        """The answer to a call that the loop itself does not let through: written down, and never raising."""
        ...

    async def answer(self, name: str, arguments: str | Mapping[str, Any]) -> Answer:
        """Never raises but when it is cancelled: unknown tools and malformed arguments are answered too."""
        ...
