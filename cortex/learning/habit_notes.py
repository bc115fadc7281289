"""Tells the model of its habits, each once, with what it needs to know of the draft."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import anyio.to_thread

from cortex.turn import Due
from neurons import NeuronError
from sandbox import SandboxError

if TYPE_CHECKING:
    from neurons import Draft, Habit, Habits, Offers

log = logging.getLogger("motor_cortex")

MAX_DUE = 3
"""How many texts are kept ready; the rest waits on disk."""
_NAME = re.compile(r"[A-Za-z_]\w{0,40}", re.ASCII)


class HabitNotes:
    """A `cortex.turn.NoteSource`. `draft` makes the draft of a habit, by its id."""

    def __init__(
        self, habits: Habits, offers: Offers, draft: Callable[[str], Awaitable[Draft | None]] | None = None
    ) -> None:
        self._habits = habits
        self._offers = offers
        self._draft = draft
        self.stamp = offers.stamp
        self.claim = offers.claim
        self.told = offers.told
        self.given_back = offers.given_back

    async def look(self) -> Sequence[Due]:
        untold = await anyio.to_thread.run_sync(self._offers.untold, MAX_DUE)
        return [Due(habit.id, await self.text_of(habit)) for habit in untold]

    async def text_of(self, habit: Habit) -> str:
        """What the model is told of the habit."""
        return self._habits.hint(habit, await self._ready(habit))

    async def _ready(self, habit: Habit) -> str:
        if self._draft is None:
            return ""
        try:
            draft = await self._draft(habit.id)
        except (NeuronError, SandboxError, OSError) as error:
            log.warning("Cannot make the draft of a habit: %s", error)
            return ""
        return "" if draft is None else told_of(draft, habit.id)


def told_of(draft: Draft, habit_id: str) -> str:
    """The sentences about a draft. The model may be in another conversation than the one that wrote the code, so they
    hold names of parameters, and no value, purpose or code."""
    names = [name for name in draft.parameters if _NAME.fullmatch(name)]
    if draft.kind == "function":
        shape = f"a function of {', '.join(names)}" if names else "a function"
    else:
        shape = f"a neuron with the schedule {draft.arguments['schedules'][0]}, which notifies the owner of a change"
    return (
        f'A draft is ready: {shape}. core.consolidate({{"habit": "{habit_id}"}}) proposes it as it is; a '
        'field that you give beside it replaces that of the draft, and "show": true only shows it.'
    )
