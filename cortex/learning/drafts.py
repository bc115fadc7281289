"""Makes the draft of a habit, under a name that is free. A module of its own: proposals and notes both ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from neurons import drafted, name_of, name_problem, recorded_runs

if TYPE_CHECKING:
    from neurons import (
        Draft,
        DraftReader,
        Habit,
        Habits,
        NeuronSettings,
        NeuronStore,
        RecordedRuns,
        Recordings,
        Shape,
    )

MAX_NUMBER = 20
MAX_RECORDINGS = 10


class Drafts:
    """One for all turns of a process."""

    def __init__(
        self,
        habits: Habits,
        store: NeuronStore,
        reader: DraftReader,
        recordings: Recordings,
        settings: NeuronSettings,
    ) -> None:
        self._habits = habits
        self._recordings = recordings
        self._settings = settings
        self._store = store
        self._reader = reader

    async def of(self, habit_id: str, kind: Shape | None = None) -> Draft | None:
        """The draft, with all arguments of a proposal. None where there is no such habit, or its code cannot be one.
        Raises NeuronError, SandboxError and OSError."""
        habit = await anyio.to_thread.run_sync(self._habits.get, habit_id)
        if habit is None:
            return None
        read = [await self._reader.read(code) for code in habit.codes]
        if read[:1] == [None]:
            return None
        runs = await anyio.to_thread.run_sync(self._runs, habit)
        draft = drafted(habit, [one for one in read if one is not None], kind, runs)
        if draft is None:
            return None
        neurons = await anyio.to_thread.run_sync(self._store.load_all)
        taken = [name for neuron in neurons for name in (neuron.name, neuron.id)]
        name = name_of(habit)
        numbered = (name if number == 1 else f"{name} {number}" for number in range(1, MAX_NUMBER))
        free = next((one for one in numbered if name_problem(one, taken) is None), None)
        return None if free is None else draft.named(free)

    def _runs(self, habit: Habit) -> RecordedRuns:
        recordings = self._recordings.of(habit.code_hashes, MAX_RECORDINGS)
        return recorded_runs(recordings, self._settings.cost)
