"""One conversation: its messages, in memory and, if it has a file, on disk before the next step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from sandbox import HeldLines, LockBusy

from .endings import CALL_INTERRUPTED
from .history import recent, repaired, unanswered
from .messages import AssistantMessage, Message, ToolAnswer
from .records import header, to_line


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
                self._file = HeldLines(self._path, create=True)
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
            raise ConversationBusy(f'Cannot begin a turn in conversation "{self.id}": another one is under way')
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
