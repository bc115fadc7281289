"""The questions that agents ask their owner as facts for pages: what is asked, and how it stands. Reads only.

`cortex.inbox.QuestionBox.opened` takes answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex.home import Home
from cortex.inbox import QuestionBox

if TYPE_CHECKING:
    from cortex.inbox import KeptQuestion
    from cortex.settings import Settings


@dataclass(frozen=True, slots=True)
class QuestionSeen:
    """A question as its owner sees it. Texts may come from an agent: show them with care."""

    id: str
    shown_hash: str
    """An answer repeats it, or its first 8 characters."""
    state: str
    """open, answered, expired, withdrawn, ended (the program has) or late (the program does not respond)."""
    told: str
    """How it stands, in words."""
    tool: str
    lines: tuple[str, ...]
    """All that is asked, safe to be shown."""
    arguments: dict[str, Any]
    """Without secrets."""
    left_out: int
    """Characters of the arguments that are not kept."""
    arguments_hash: str
    origin: str
    asked_by: str
    purpose: str
    turn: str
    run: int | None
    conversation: str
    code_hash: str | None
    program: str
    pid: int
    asked_at: float
    until: float
    allowed: bool | None
    """What was answered; None if nothing was."""
    by: str
    """Who answered."""

    @property
    def is_open(self) -> bool:
        return self.state == "open"


def questions_of(settings: Settings, now: Callable[[], float]) -> list[QuestionSeen]:
    """All questions that are kept, the oldest first. Creates nothing. Raises HomeError."""
    with QuestionBox.to_read(Home(settings.home), now=now) as box:
        return [] if box is None else [question_seen(kept) for kept in box.all()]


def question_seen(kept: KeptQuestion) -> QuestionSeen:
    asked, answer = kept.asked, kept.answer
    return QuestionSeen(
        asked.id,
        asked.shown_hash,
        kept.state,
        kept.told,
        asked.tool,
        tuple(asked.lines()),
        asked.arguments,
        asked.left_out,
        asked.arguments_hash,
        asked.origin,
        asked.asked_by,
        asked.purpose,
        asked.turn,
        asked.run,
        asked.conversation,
        asked.code_hash,
        asked.program.name,
        asked.program.pid,
        asked.asked_at,
        kept.until,
        None if answer is None else answer.allowed,
        "" if answer is None else answer.by,
    )
