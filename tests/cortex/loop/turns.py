"""What tests of turns share: a turn that answers from a table, and what makes a conversation valid."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cortex.loop import Answer, AssistantMessage, Message, ToolAnswer, UserMessage

Tool = Callable[[str], Awaitable[Answer]]


@dataclass
class TableTurn:
    """Answers by name; unknown names get an answer too. `asked` has the calls that reached it."""

    tools: Mapping[str, Tool | str] = field(default_factory=dict)
    id: str = "turn-1"
    asked: list[tuple[str, Any]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, tool: str, reply: str) -> Answer:
        self.refused.append((tool, reply))
        return Answer(reply, ok=False)

    async def answer(self, name: str, arguments: str | Mapping[str, Any]) -> Answer:
        self.asked.append((name, arguments))
        match self.tools.get(name):
            case None:
                return Answer(f'EXECUTION_DENIED: There is no tool "{name}".', ok=False)
            case str(text):
                return Answer(text)
            case tool:
                return await tool(str(arguments))


def assert_valid(messages: Iterable[Message], *, is_ended: bool = True) -> None:
    """As strict endpoints want it: calls answered at once and in order, ids unique, turns begin and end."""
    messages = list(messages)
    ids: set[str] = set()
    waiting: list[str] = []
    for place, message in enumerate(messages):
        match message:
            case UserMessage():
                assert not waiting
                assert place == 0 or _is_last_word(messages[place - 1])
            case AssistantMessage(text, calls):
                assert not waiting
                assert place > 0
                assert not _is_last_word(messages[place - 1])
                assert text or calls
                waiting = [call.id for call in calls]
                assert not ids & set(waiting)
                assert len(set(waiting)) == len(waiting)
                ids |= set(waiting)
            case ToolAnswer(call_id, _, text):
                assert waiting.pop(0) == call_id
                assert text
            case _:
                raise AssertionError(f"{message} does not belong in a conversation")
    assert not waiting
    assert not is_ended or not messages or _is_last_word(messages[-1])


def _is_last_word(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and not message.calls
