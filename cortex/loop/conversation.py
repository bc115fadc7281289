"""One conversation: its messages in memory and, if it has a file, on disk before the turn goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from sandbox import HeldLines, LockBusy

from .endings import CALL_INTERRUPTED, INTERRUPTED
from .messages import AssistantMessage, Message, ToolAnswer, ToolRequest, UserMessage
from .records import header, to_line


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


# Of a larger file only the end is read; its beginning is left alone.
MAX_READ_BYTES = 16 * 1024 * 1024


class ConversationError(Exception):
    """The conversation cannot be written or read. The message says why."""


class ConversationBusy(ConversationError):
    """Another turn or program is using the conversation."""


class Conversation:
    """The messages of a conversation. Without a path it lives as long as this object. `close`, or leaving a `with`,
    lets other programs open the file."""

    def __init__(
        self,
        id: str = "",  # noqa: A002 - it is the conversation's
        past: Iterable[Message] = (),
        *,
        path: Path | None = None,
        file: HeldLines | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.id = id
        self._path = path
        self._file = file
        self._now = now
        self._messages = repaired(past)
        self._sizes = [len(to_line(message, 0)) for message in self._messages]
        self._in_turn = False
        self._closed = False

    def append(self, message: Message) -> None:
        """Add a message. Raises ConversationError when it cannot be written; in memory it is kept even then."""
        at = self._now()
        line = to_line(message, at)
        self._messages.append(message)
        self._sizes.append(len(line))
        if self._path is None:
            return
        if self._closed:
            raise ConversationError(f'Cannot write conversation "{self.id}": it is closed')
        try:
            if self._file is None:
                # Created with the first message: opening a chat without saying anything leaves no file.
                self._file = HeldLines(self._path, create=True, max_read_bytes=MAX_READ_BYTES)
                line = header(self.id, at) + line
            self._file.append(line)
        except (OSError, LockBusy) as error:
            why = getattr(error, "strerror", None) or error
            raise ConversationError(f'Cannot write conversation "{self.id}": {why}') from error

    def messages(self, max_bytes: int | None = None) -> list[Message]:
        """All messages, or the last turn and as many whole turns before it as fit."""
        return list(self._messages) if max_bytes is None else recent(self._messages, self._sizes, max_bytes)

    def call_ids(self) -> set[str]:
        return {call.id for said in self._messages if isinstance(said, AssistantMessage) for call in said.calls}

    def interrupt(self, last_word: str) -> None:
        """End the present turn so that the conversation can continue. Never raises."""
        missing: list[Message] = [
            ToolAnswer(call.id, call.name, CALL_INTERRUPTED) for call in unanswered(self._messages)
        ]
        for message in (*missing, AssistantMessage(last_word)):
            with suppress(ConversationError):
                self.append(message)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One turn at a time: else the answers of two turns would mix with each other's calls. Raises
        ConversationBusy."""
        if self._in_turn:
            raise ConversationBusy(f'Cannot begin a turn in conversation "{self.id}": another turn is running')
        self._in_turn = True
        try:
            yield
        finally:
            self._in_turn = False

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
