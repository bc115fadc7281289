"""The conversations of a home, one file each: list them, begin one, continue one."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from sandbox import HeldLines, LockBusy, first_lines

from .conversation import MAX_READ_BYTES, Conversation, ConversationBusy, ConversationError
from .messages import Message, UserMessage
from .records import DamagedLine, NewerFormat, from_line

log = logging.getLogger("motor_cortex")

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")
_ENDING = ".jsonl"
_MAX_TITLE_CHARS = 80
# The first message of the user is found within this, or it is too long for a title.
_TITLE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation in a list."""

    id: str
    title: str
    """The first words of the user's first message."""
    changed_at: float
    size_bytes: int


class Conversations:
    """The folder of conversations."""

    def __init__(self, folder: Path, *, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._now = now

    def new(self) -> Conversation:
        """Begin a conversation. Its file is created with its first message."""
        begun = datetime.fromtimestamp(self._now(), UTC)
        conversation_id = f"{begun:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
        return Conversation(conversation_id, path=self._path(conversation_id), now=self._now)

    def open(self, conversation_id: str) -> Conversation:
        """Continue a conversation. Raises ConversationBusy when another program has it open, else ConversationError."""
        path = self._path(conversation_id)
        try:
            file = HeldLines(path, create=False, max_read_bytes=MAX_READ_BYTES, on_torn=partial(_log_torn, path))
        except FileNotFoundError as error:
            raise ConversationError(
                f'Cannot open conversation "{conversation_id}": there is no such conversation'
            ) from error
        except LockBusy as error:
            raise ConversationBusy(
                f'Cannot open conversation "{conversation_id}": another program is talking in it'
            ) from error
        except OSError as error:
            raise ConversationError(f'Cannot open conversation "{conversation_id}": {error.strerror}') from error
        try:
            past = _messages(file.lines, path)
        except NewerFormat as error:
            file.close()
            raise ConversationError(f'Cannot open conversation "{conversation_id}": {error}') from error
        return Conversation(conversation_id, past, path=path, file=file, now=self._now)

    def latest(self) -> Conversation | None:
        """Open the most recently used conversation; None when there is none."""
        known = self.list()
        return self.open(known[0].id) if known else None

    def list(self) -> list[ConversationSummary]:
        """All conversations, the most recently used first."""
        found = []
        for path in self._folder.glob(f"*{_ENDING}"):
            try:
                status = path.stat()
                title = _title(first_lines(path, _TITLE_BYTES))
            except OSError:
                continue  # Deleted meanwhile, or not readable.
            found.append(ConversationSummary(path.name.removesuffix(_ENDING), title, status.st_mtime, status.st_size))
        return sorted(found, key=lambda summary: (summary.changed_at, summary.id), reverse=True)

    def _path(self, conversation_id: str) -> Path:
        if not _ID.fullmatch(conversation_id):
            raise ConversationError(
                f'Cannot open conversation "{conversation_id[:80]}": that is not the id of a conversation'
            )
        return self._folder / f"{conversation_id}{_ENDING}"


def _log_torn(path: Path, torn_bytes: int) -> None:
    log.warning("Cut off %d bytes of an unfinished line at the end of %s", torn_bytes, path)


def _messages(lines: list[bytes], path: Path) -> list[Message]:
    said: list[Message] = []
    for number, line in enumerate(lines, 1):
        try:
            message = from_line(line)
        except DamagedLine as error:
            log.warning("Left out line %d of %s: %s", number, path, error)
            continue
        if message is not None:
            said.append(message)
    return said


def _title(lines: list[bytes]) -> str:
    for line in lines:
        try:
            message = from_line(line)
        except ValueError:
            continue
        if isinstance(message, UserMessage):
            words = " ".join(message.text.split())
            return words if len(words) <= _MAX_TITLE_CHARS else f"{words[: _MAX_TITLE_CHARS - 1]}…"
    return "(untitled)"
