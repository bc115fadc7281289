"""Asks the person at the terminal for consent: the agent's thread sends the question, the main thread shows it and
returns the answer."""

from __future__ import annotations

import os
import selectors
import termios
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

import anyio

from cortex.channels import set_in
from cortex.text import READING_S, styled, terminal_columns
from cortex.tools import COMMIT, DECISION, PLAN, Decision, Question, describe, numbers_in

if TYPE_CHECKING:
    from typing import Any

NO_TERMINAL = "there is no terminal to ask the owner at; the owner can set this tool's policy to allow or deny"
NO_TERMINAL_FOR_FILES = "there is no terminal to ask the owner at; --commit can say auto or never"
NO = Decision(allowed=False)
LEFT = Decision(allowed=False, is_answer=False)
AT_THE_TERMINAL = "owner (terminal)"
CONSENT = "Allow it this once? [y/N] "
CONSENT_TO_ALL = "Allow all of them, this once? [y/N, or the numbers of some: 1,3-5] "
ANSWER = "Yes, or no? [y/n, Enter leaves it for later] "
_ACKNOWLEDGED_S = 2
_MAX_ANSWER_BYTES = 1_024


@dataclass(slots=True, eq=False)
class Asked:
    """A question to the main thread, which answers it or notices that it was withdrawn."""

    text: str
    decision: Decision = NO
    """What silence means; then what the owner said."""
    words: str = CONSENT
    count: int = 1
    """Of the calls that are asked about."""
    closed: anyio.Event = field(default_factory=anyio.Event)
    """Set in the agent's thread when the main thread is done with the question."""
    _ends: tuple[int, int] = field(default_factory=os.pipe)

    def withdraw(self) -> None:
        os.write(self._ends[1], b".")

    def fileno(self) -> int:
        """A descriptor that becomes readable when the question is withdrawn."""
        return self._ends[0]

    def close(self) -> None:
        for end in self._ends:
            os.close(end)


class ConsoleOwner:
    """An owner who answers at the terminal. `send` hands a question to the main thread; `held` keeps other output off
    the terminal meanwhile."""

    def __init__(
        self, send: Callable[[Asked], None], held: Callable[[], AbstractContextManager[Any]], *, is_there: bool
    ) -> None:
        self._send = send
        self._held = held
        self.is_there = is_there

    async def decide(self, question: Question) -> Decision:
        is_left = question.tool in {DECISION, PLAN}  # silence is no answer to it: it can be answered later
        if not self.is_there:
            reason = NO_TERMINAL_FOR_FILES if question.tool == COMMIT else NO_TERMINAL
            return Decision(allowed=False, reason=reason, is_answer=False)
        if is_left:
            asked = Asked(describe(question), LEFT, ANSWER)
        elif question.others:
            asked = Asked(describe(question), words=CONSENT_TO_ALL, count=1 + len(question.others))
        else:
            asked = Asked(describe(question))
        with self._held():
            self._send(asked)
            try:
                await asked.closed.wait()
            except BaseException:
                asked.withdraw()
                with anyio.CancelScope(shield=True), anyio.move_on_after(_ACKNOWLEDGED_S):
                    await asked.closed.wait()
                raise
            finally:
                if asked.closed.is_set():
                    asked.close()
        return asked.decision


def ask(asked: Asked, keyboard: TextIO, screen: TextIO, reading_s: float = READING_S) -> Decision:
    """Show the question and read the answer: "y" or "yes" allows, all else denies; a question that may stay open is
    denied by "n" or "no" only. Returns at once when the question is withdrawn."""
    lines = set_in(asked.text.split("\n"), terminal_columns(screen))
    screen.write("\n" + "\n".join([styled(lines[0], "bold", screen), *lines[1:]]) + "\n")
    screen.flush()
    if _readable(reading_s, asked.fileno()):
        return _withdrawn(screen)
    # Discard keys typed before the person could have read the question: they may have been meant for an earlier
    # question that was withdrawn in the same moment.
    termios.tcflush(keyboard, termios.TCIFLUSH)
    screen.write(styled(asked.words, "bold", screen))
    screen.flush()
    if asked.fileno() in _readable(None, asked.fileno(), keyboard.fileno()):
        screen.write("\n")
        return _withdrawn(screen)
    answer = os.read(keyboard.fileno(), _MAX_ANSWER_BYTES).decode(errors="replace")
    if not answer.endswith("\n"):
        screen.write("\n")
        screen.flush()
    said = answer.strip().lower()
    if not asked.decision.is_answer and said not in {"y", "yes", "n", "no"}:
        return asked.decision
    only = numbers_in(said, asked.count) if asked.count > 1 else None
    return Decision(only is not None or said in {"y", "yes"}, by=AT_THE_TERMINAL, only=only)


def _readable(timeout_s: float | None, *ends: int) -> set[int]:
    # Not `select`: it takes no descriptor above 1023, and an agent may have that many open.
    with selectors.DefaultSelector() as selector:
        for end in ends:
            selector.register(end, selectors.EVENT_READ)
        return {key.fd for key, _ in selector.select(timeout_s)}


def _withdrawn(screen: TextIO) -> Decision:
    screen.write("(withdrawn)\n")
    screen.flush()
    return Decision(allowed=False, reason="the question was withdrawn", is_answer=False)
