"""The messages of a conversation, and a model's reply. Plain values that do not depend on any endpoint's format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sandbox import Displayed

Finish = Literal["stop", "tools", "length", "filter"]


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call that the model wants. The arguments are what the model wrote, which need not be JSON."""

    id: str
    name: str
    arguments_json: str


@dataclass(frozen=True, slots=True)
class SystemMessage:
    text: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    text: str
    calls: tuple[ToolRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer to a tool call of the model's last message."""

    call_id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class PicturesMessage:
    """Pictures that code displayed in this turn, for a model that takes pictures. Not kept: made for each reply."""

    text: str
    pictures: tuple[Displayed, ...]


Message = SystemMessage | UserMessage | AssistantMessage | ToolAnswer | PicturesMessage


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens used."""

    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    """The endpoint did not count tokens; the numbers are estimated from the sizes."""

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One reply of a model, with its cost and why it ended."""

    message: AssistantMessage
    usage: Usage
    finish: Finish
