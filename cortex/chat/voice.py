"""What neurons say in a chat: notices for the person, and answers, which become part of the conversation.

Filled in the agent's thread, and emptied there or by the dialogue, between two turns. Nothing here waits for long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from cortex.channels import line_of, outcome_line

if TYPE_CHECKING:
    from neurons import Emitted, Notice, Outcome, Signal

MAX_WAITING = 50
ANSWER_S = 3.0
"""A neuron has this long to answer what the user says, before the model is asked."""
COMING_S = 1.0
EVENT = "(A neuron says the following by itself; the user has said nothing.)"


class Voice:
    """An owner channel, and a `neurons.Wake` for answers. `nudge` interrupts an idle prompt."""

    name = "chat"

    def __init__(self, nudge: Callable[[], None] = lambda: None) -> None:
        self._nudge = nudge
        self._lines: deque[str] = deque(maxlen=MAX_WAITING)
        self._answers: deque[Signal] = deque(maxlen=MAX_WAITING)
        self._awaited = ""
        self._given: Signal | None = None
        self._coming = ""
        """The id of the answer that was taken from the home to be said here."""
        self._news = anyio.Event()

    async def notify(self, notice: Notice) -> None:
        """A proposal waits: the dialogue offers it at the prompt."""
        del notice
        self._nudge()

    async def emitted(self, emitted: Emitted) -> None:
        self._lines.append(line_of(emitted))
        self._nudge()

    async def outcome(self, outcome: Outcome) -> None:
        """What became of a neuron is a line, too: there is nothing to decide."""
        self._lines.append(outcome_line(outcome))
        self._nudge()

    async def answer(self, signal: Signal) -> None:
        """Say this: in place of the model, if it is the answer to what the user has just said."""
        if signal.correlation == self._awaited and self._given is None:
            self._given = signal
            self._news.set()
            return
        self._answers.append(signal)
        self._nudge()

    def awaits(self, signal: Signal) -> bool:
        """Whether this is the first answer to what the user has just said. In any thread."""
        if not self._awaited or signal.correlation != self._awaited or self._coming not in {"", signal.id}:
            return False
        self._coming = signal.id
        return True

    @property
    def waits(self) -> bool:
        return bool(self._lines or self._answers)

    def take_line(self) -> str | None:
        return self._lines.popleft() if self._lines else None

    def take_answer(self) -> Signal | None:
        return self._answers.popleft() if self._answers else None

    def expect(self, signal: Signal) -> None:
        """From now on an answer to this signal is for `answer_in_time`."""
        self._awaited, self._given, self._coming, self._news = signal.id, None, "", anyio.Event()

    async def answer_in_time(self) -> Signal | None:
        """The answer to the expected signal, or None when it takes too long. Later it is said between two turns."""
        with anyio.move_on_after(ANSWER_S):
            await self._news.wait()
        if self._coming:
            # It was taken in the last moment, and comes in the next: left here it would be lost.
            with anyio.move_on_after(COMING_S):
                await self._news.wait()
        given, self._awaited, self._given = self._given, "", None
        return given


class ExpectedAnswers:
    """A `neurons.Wake` of a chat without a dialogue: it says what answers its user, and leaves all else to others."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice

    async def __call__(self, signal: Signal) -> None:
        await self._voice.answer(signal)

    def can_say(self, signal: Signal) -> bool:
        return self._voice.awaits(signal)
