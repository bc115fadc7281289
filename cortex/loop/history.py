"""Selects the messages that the model sees: a valid conversation, cut between turns. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .endings import CALL_INTERRUPTED, INTERRUPTED
from .messages import AssistantMessage, Message, ToolAnswer, ToolRequest, UserMessage


def repaired(messages: Iterable[Message]) -> list[Message]:
    """The same conversation in the form that endpoints accept: every call answered right after it, every turn ended.

    What a killed program left incomplete stays in its file as it is, and is completed here each time it is read. So a
    repair can neither fail nor be done twice.
    """
    result: list[Message] = []
    waiting: dict[str, str] = {}

    def end_calls() -> None:
        result.extend(ToolAnswer(call_id, name, CALL_INTERRUPTED) for call_id, name in waiting.items())
        waiting.clear()

    def end_turn() -> None:
        end_calls()
        if result and not _ends_turn(result[-1]):
            result.append(AssistantMessage(INTERRUPTED))

    for message in messages:
        match message:
            case UserMessage():
                end_turn()
                result.append(message)
            case AssistantMessage(_, calls):
                end_calls()
                if not result:
                    continue  # The beginning is missing. A conversation begins with the user.
                result.append(message)
                waiting.update({call.id: call.name for call in calls})
            case ToolAnswer(call_id) if waiting.pop(call_id, None) is not None:
                result.append(message)
            case _:
                pass  # An answer to a call that was never made, or was answered before.
    end_turn()
    return result


def unanswered(messages: Sequence[Message]) -> list[ToolRequest]:
    """Calls in the model's last message that have no answer yet."""
    answered = set()
    for message in reversed(messages):
        match message:
            case ToolAnswer(call_id):
                answered.add(call_id)
            case AssistantMessage(_, calls):
                return [call for call in calls if call.id not in answered]
            case _:
                break
    return []


def _ends_turn(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and not message.calls


def recent(messages: Sequence[Message], sizes: Sequence[int], max_bytes: int) -> list[Message]:
    """The whole last turn, and as many whole turns before it as fit into `max_bytes`."""
    starts = [place for place, message in enumerate(messages) if isinstance(message, UserMessage)]
    if not starts:
        return list(messages)
    begin = starts[-1]
    left = max_bytes
    for start in reversed(starts[:-1]):
        left -= sum(sizes[start:begin])
        if left < 0:
            break
        begin = start
    return list(messages[begin:])
