"""The questions that agents ask their owner as facts for pages: what is asked, and how it stands. Reads only.

`cortex.inbox.QuestionBox.opened` takes answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex.home import Home
from cortex.inbox import QuestionBox
from cortex.tools import Question, as_one, describe, is_core

if TYPE_CHECKING:
    from cortex.inbox import KeptQuestion
    from cortex.settings import Settings
    from cortex.tools import Origin


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
    origin: Origin
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


def together_with(seen: QuestionSeen, found: Sequence[QuestionSeen]) -> list[QuestionSeen]:
    """The open questions about calls of the same tool by the same run, with this one, the oldest first."""
    if not seen.is_open or is_core(seen.tool):
        return [seen]
    about = (seen.tool, seen.pid, seen.turn, seen.run, seen.origin)
    return [one for one in found if one.is_open and (one.tool, one.pid, one.turn, one.run, one.origin) == about]


def hash_of_all(together: Sequence[QuestionSeen]) -> str:
    """The hash of several questions: an answer to all of them repeats it, so that it is to no other."""
    return hashlib.sha256(",".join(seen.shown_hash for seen in together).encode()).hexdigest()


def lines_of_all(together: Sequence[QuestionSeen]) -> list[str] | None:
    """Several questions as one, with what differs between marks; None where they are too long for that."""
    if any(seen.left_out for seen in together):
        return None
    one = as_one([Question(seen.tool, seen.arguments, seen.origin, seen.purpose) for seen in together])
    return None if one is None else describe(one).split("\n")


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
