"""The documents of scripts in the storage, `habits/<id>`: read, grown by an occurrence, merged. Blocks for the disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..contracts import DAY_S, HabitSettings, Json, Storage
from .fingerprint import Fingerprint
from .growth import merged, noted, rank
from .habit import MAX_RECENT, RULE, Occurrence, Script, is_due, is_of_later_format

FOLDER = "habits"
PREFIX = f"{FOLDER}/"


class ScriptDocuments:
    def __init__(self, storage: Storage, settings: HabitSettings, now: Callable[[], float]) -> None:
        self._storage = storage
        self._settings = settings
        self._now = now
        self._most = max(MAX_RECENT, settings.min_occurrences)

    def get(self, script_id: str) -> Script | None:
        document = self._storage.read(PREFIX + script_id)
        return Script.of_json(script_id, document.data) if document is not None else None

    def all(self) -> dict[str, Script]:
        scripts = {}
        for document in self._storage.read_all(PREFIX):
            script = Script.of_json(document.key.removeprefix(PREFIX), document.data)
            if script is not None:
                scripts[script.id] = script
        return scripts

    def delete(self, script_id: str) -> None:
        self._storage.delete(PREFIX + script_id)

    def oldest(self) -> float:
        """Occurrences before this time do not count."""
        return self._now() - self._settings.within_days * DAY_S

    def add(self, script_id: str, found: Fingerprint, occurrence: Occurrence) -> tuple[Script | None, bool]:
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
            kept = noted(known, script_id, found, occurrence, since=self.oldest(), most=self._most)
            # Under the lock: of two processes that see it become a habit, only one says so.
            is_new_habit = is_due(kept, self._settings.min_occurrences)
            if is_new_habit:
                kept = replace(kept, told=occurrence.at)
            return kept.to_json()

        self._storage.update(PREFIX + script_id, change)
        return kept, is_new_habit

    def merge(self, one: str, other: str, *, is_seen: bool = True) -> tuple[Script, str, bool] | None:
        """Merge two documents; return the one that is left, the id that is gone, and whether it has just become a
        habit. The other is deleted last: after a crash between the two, it is merged again, and counted twice. With
        `is_seen` an occurrence follows, which says whether it is a habit."""
        with self._storage.alone(FOLDER):
            found = [self.get(script_id) for script_id in (one, other)]
            scripts = [script for script in found if script is not None and script.rule == RULE]
            if len(scripts) < 2:
                return None
            into, gone = sorted(scripts, key=rank, reverse=True)
            is_new_habit = False

            def change(data: Json | None) -> Json | None:
                nonlocal is_new_habit
                script = Script.of_json(into.id, data)
                if script is None:
                    return None
                script = merged(script, gone, self._most)
                is_new_habit = not is_seen and is_due(script, self._settings.min_occurrences)
                kept.append(replace(script, told=self._now()) if is_new_habit else script)
                return kept[-1].to_json()

            kept: list[Script] = []
            self._storage.update(PREFIX + into.id, change)
            if not kept:
                return None
            self.delete(gone.id)
            return kept[-1], gone.id, is_new_habit
