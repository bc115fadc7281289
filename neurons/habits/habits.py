"""Notices scripts that are run again and again. Each script is kept as one document, `habits/<id>`."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import anyio
import anyio.to_thread

from sandbox import SandboxError

from ..contracts import DAY_S, HabitSettings, Json, NeuronError, Storage
from .fingerprint import Fingerprint
from .habit import (
    MAX_RECENT,
    Habit,
    Occurrence,
    Script,
    forgotten,
    hint_of,
    is_due,
    is_of_later_format,
    noted,
)
from .similarity import similarity

log = logging.getLogger("motor_cortex")

PREFIX = "habits/"
ID_CHARS = 16


class Habits:
    """One object for all turns of a process; other processes on the same storage see the same habits.

    `read` takes a fingerprint where hostile code can do no harm, and returns None for code that has none.
    """

    def __init__(
        self,
        storage: Storage,
        settings: HabitSettings,
        *,
        read: Callable[[str], Awaitable[Fingerprint | None]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._storage = storage
        self._settings = settings
        self._read = read
        self._now = now
        self._one_at_a_time = anyio.Lock()
        self._known: dict[str, Script] = {}
        """Scripts as last read. Used only to find similar ones: decisions are made on a fresh read under the lock."""

    async def noticed(
        self,
        code: str,
        *,
        code_hash: str,
        purpose: str = "",
        tier: str = "isolated",
        tools: Sequence[str] = (),
        hosts: Sequence[str] = (),
        clean: bool = True,
    ) -> Habit | None:
        """Note a run. Returns the habit if this run made the script one: from then on `Offers` has it to tell.

        `tools` and `hosts` are those that were used; `clean` says whether everything worked. Raises nothing but a
        cancellation: failing to notice a habit must not make anything else fail.
        """
        if not self._settings.enabled or not clean:
            return None
        try:
            found = await self._read(code)
            if found is None:
                return None
            found = found.using(tools, hosts)
            occurrence = Occurrence(
                self._now(), code_hash, found.literals, code, purpose, str(tier), tuple(tools), tuple(hosts)
            )
            async with self._one_at_a_time:
                return await anyio.to_thread.run_sync(self._note, found, occurrence)
        except (SandboxError, NeuronError, OSError) as error:
            log.warning("Cannot look for a habit: %s", error)
            return None

    def all(self) -> list[Habit]:
        """All habits, the latest first. Reads the disk."""
        habits = [script.habit() for script in self._load().values() if script.told is not None]
        return sorted(habits, key=lambda habit: -habit.last_at)

    def get(self, habit_id: str) -> Habit | None:
        """The habit with this id, or the only one whose id begins with it."""
        found = [habit for habit in self.all() if habit.id.startswith(habit_id)] if habit_id else []
        exact = [habit for habit in found if habit.id == habit_id]
        return exact[0] if exact else found[0] if len(found) == 1 else None

    def hint(self, habit: Habit) -> str:
        """The hint that the model gets about it."""
        return hint_of(habit, self._settings.min_occurrences, self._settings.within_days)

    def learned(self, habit_id: str, neuron_id: str) -> None:
        """Note that a neuron came of the habit."""

        def change(data: Json | None) -> Json | None:
            script = Script.of_json(habit_id, data)
            return None if script is None else replace(script, neuron=neuron_id).to_json()

        self._storage.update(PREFIX + habit_id, change)

    def _note(self, found: Fingerprint, occurrence: Occurrence) -> Habit | None:
        """In a thread, one at a time."""
        script_id = self._most_like(found)
        if script_id is None:
            # Other processes may have seen it: read their scripts before calling it new.
            self._known = self._load()
            script_id = self._most_like(found) or found.shape[:ID_CHARS]
        script, is_new_habit = self._kept(script_id, found, occurrence)
        if script is None:
            return None
        self._known[script_id] = script.without_code()
        self._forget(script_id)
        return script.habit() if is_new_habit else None

    def _kept(self, script_id: str, found: Fingerprint, occurrence: Occurrence) -> tuple[Script | None, bool]:
        """Add the occurrence to the document on disk; return the script, and whether it has just become a habit. None
        when the document has a later format."""
        kept: Script | None = None
        is_new_habit = False

        def change(data: Json | None) -> Json | None:
            nonlocal kept, is_new_habit
            kept = None
            if is_of_later_format(data):
                return None
            known = Script.of_json(script_id, data)
            most = max(MAX_RECENT, self._settings.min_occurrences)
            kept = noted(known, script_id, found, occurrence, since=self._oldest(), most=most)
            # Under the lock: of two processes that see it become a habit, only one says so.
            is_new_habit = is_due(kept, self._settings.min_occurrences)
            if is_new_habit:
                kept = replace(kept, told=occurrence.at)
            return kept.to_json()

        self._storage.update(PREFIX + script_id, change)
        return kept, is_new_habit

    def _most_like(self, found: Fingerprint) -> str | None:
        alike = [(similarity(script.fingerprint, found), script.id) for script in self._known.values()]
        best, script_id = max(alike, default=(0.0, ""))
        return script_id if best >= self._settings.similarity else None

    def _load(self) -> dict[str, Script]:
        scripts = {}
        for document in self._storage.read_all(PREFIX):
            script = Script.of_json(document.key.removeprefix(PREFIX), document.data)
            if script is not None:
                scripts[script.id] = script
        return scripts

    def _oldest(self) -> float:
        return self._now() - self._settings.within_days * DAY_S

    def _forget(self, newest: str) -> None:
        """Delete scripts that were not seen again in time, and the oldest when there are too many. Habits stay as long
        as there is room, so that the model is not told of them again."""
        for script in forgotten(self._known.values(), newest, self._oldest(), self._settings.max_occurrences):
            document = self._storage.read(PREFIX + script.id)
            now = Script.of_json(script.id, document.data) if document is not None else None
            if now is not None and now.last_at > script.last_at:
                # Another process has seen it since.
                self._known[script.id] = now.without_code()
            else:
                del self._known[script.id]
                self._storage.delete(PREFIX + script.id)
