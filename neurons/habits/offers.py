"""Which habits the model has not been told of, and which process is telling one just now."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from ..contracts import HabitSettings, Json, Storage
from .habit import Habit, Script, is_offered, is_untold

FOLDER = "habits"


class Offers:
    """A habit stays untold until the model was told. All methods may be called from any thread; they block for a lock
    and the disk, and raise what the storage raises."""

    def __init__(self, storage: Storage, settings: HabitSettings, *, now: Callable[[], float] = time.time) -> None:
        self._storage = storage
        self._settings = settings
        self._now = now

    def stamp(self) -> object:
        """A cheap value that changes once any process has noted a run."""
        return self._storage.stamp(FOLDER)

    def untold(self, most: int) -> list[Habit]:
        """At most `most` habits that no process has told or is telling, the latest first. Reads all of them."""
        if not self._settings.enabled:
            return []
        documents = self._storage.read_all(f"{FOLDER}/")
        scripts = [Script.of_json(_id_of(document.key), document.data) for document in documents]
        now = self._now()
        open_ = [one for one in scripts if one is not None and is_untold(one) and not is_offered(one, now)]
        return [script.habit() for script in sorted(open_, key=lambda script: -script.last_at)[:most]]

    def claim(self, habit_id: str) -> bool:
        """Reserve the habit for the caller, which tells the model now. False when another process was quicker, or the
        habit is gone. A claim that is not settled ends after an hour: its process has died."""
        claimed = False

        def offer(data: Json | None) -> Json | None:
            # Checked under the lock: of two processes that would tell it, only one does.
            nonlocal claimed
            script, now = Script.of_json(habit_id, data), self._now()
            claimed = script is not None and is_untold(script) and not is_offered(script, now)
            return replace(script, offered=now).to_json() if script is not None and claimed else None

        self._storage.update(f"{FOLDER}/{habit_id}", offer)
        return claimed

    def told(self, habit_id: str) -> None:
        """Note that the model was told."""
        self._settle(habit_id, lambda script: replace(script, offered=None, hinted=self._now()))

    def given_back(self, habit_id: str) -> None:
        """Note that the model was not told: the next answer of any process may do it."""
        self._settle(habit_id, lambda script: replace(script, offered=None))

    def _settle(self, habit_id: str, settled: Callable[[Script], Script]) -> None:
        def change(data: Json | None) -> Json | None:
            script = Script.of_json(habit_id, data)
            return None if script is None or script.hinted is not None else settled(script).to_json()

        self._storage.update(f"{FOLDER}/{habit_id}", change)


def _id_of(key: str) -> str:
    return key.partition("/")[2]
