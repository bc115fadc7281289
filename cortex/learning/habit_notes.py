"""Tells the model of its habits, each once. A module of its own, beside the other sources of notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio.to_thread

from cortex.turn import Due

if TYPE_CHECKING:
    from neurons import Habits, Offers

MAX_DUE = 3
"""How many texts are kept ready; the rest waits on disk."""


class HabitNotes:
    """A `cortex.turn.NoteSource`."""

    def __init__(self, habits: Habits, offers: Offers) -> None:
        self._habits = habits
        self._offers = offers
        self.stamp = offers.stamp
        self.claim = offers.claim
        self.told = offers.told
        self.given_back = offers.given_back

    async def look(self) -> Sequence[Due]:
        untold = await anyio.to_thread.run_sync(self._offers.untold, MAX_DUE)
        return [Due(habit.id, self._habits.hint(habit)) for habit in untold]
