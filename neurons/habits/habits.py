"""Notices scripts that are run again and again. Each script is kept as one document, `habits/<id>`."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import anyio
import anyio.to_thread

from sandbox import SandboxError

from ..contracts import DAY_S, HabitSettings, Json, NeuronError, Storage
from .fingerprint import Fingerprint
from .growth import merged, new_id, noted, rank
from .habit import (
    MAX_RECENT,
    RULE,
    Habit,
    Occurrence,
    Script,
    forgotten,
    hint_of,
    is_due,
    is_of_later_format,
)
from .index import Index, enough_of
from .sketch import Sketch, purposes_alike

log = logging.getLogger("motor_cortex")

FOLDER = "habits"
PREFIX = f"{FOLDER}/"
MAX_REGROUPED = 16
"""Documents of an older rule that are brought up to date at one time."""
_ALIKE_PURPOSES = 0.5
_TIE = 0.1
"""Of scripts that are alike within this, the stated purpose decides."""


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
        self._index = Index()
        self._enough = enough_of(settings.similarity_effects, settings.similarity_pure)
        self._stamp: object = None
        self._is_grouped = False

    async def noticed(
        self,
        code: str,
        *,
        code_hash: str,
        purpose: str = "",
        tier: str = "isolated",
        tools: Sequence[str] = (),
        hosts: Sequence[str] = (),
        requests: Sequence[tuple[str, str]] = (),
        clean: bool = True,
    ) -> Habit | None:
        """Note a run. Returns the habit if this run made the script one: from then on `Offers` has it to tell.

        `tools`, `hosts` and `requests` (method and address) are those that were used; `clean` says whether everything
        worked. Raises nothing but a cancellation: failing to notice a habit must not make anything else fail.
        """
        if not self._settings.enabled or not clean:
            return None
        try:
            found = await self._read(code)
            if found is None:
                return None
            found = found.using(tools, hosts, requests).saying(purpose)
            occurrence = Occurrence(
                self._now(), code_hash, found.literals, code, purpose, str(tier), tuple(tools), tuple(hosts)
            )
            async with self._one_at_a_time:
                await self._regroup()
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
        if not found and habit_id:
            # It was merged into another one after its id was told.
            found = [script.habit() for script in self._load().values() if habit_id in script.absorbed]
        return exact[0] if exact else found[0] if len(found) == 1 else None

    def hint(self, habit: Habit, ready: str = "") -> str:
        """The hint that the model gets about it. `ready` is a sentence about its draft."""
        return hint_of(habit, self._settings.min_occurrences, self._settings.within_days, ready)

    def learned(self, habit_id: str, neuron_id: str) -> None:
        """Note that a neuron came of the habit."""

        def change(data: Json | None) -> Json | None:
            script = Script.of_json(habit_id, data)
            return None if script is None else replace(script, neuron=neuron_id).to_json()

        habit = self.get(habit_id)
        habit_id = habit.id if habit is not None else habit_id
        self._storage.update(PREFIX + habit_id, change)

    async def _regroup(self) -> None:
        """Take new sketches for documents of an older rule from the wordings that are kept, a few at a time, and merge
        those that are the same script by the rule of today."""
        if self._is_grouped:
            return
        await anyio.to_thread.run_sync(self._reload)
        old = sorted((one for one in self._known.values() if one.rule != RULE), key=lambda one: one.first_at)
        for script in old[:MAX_REGROUPED]:
            sketches = await self._sketched(script)
            await anyio.to_thread.run_sync(self._resketch, script.id, sketches)
        self._is_grouped = len(old) <= MAX_REGROUPED

    async def _sketched(self, script: Script) -> tuple[Sketch, ...]:
        document = await anyio.to_thread.run_sync(self._storage.read, PREFIX + script.id)
        kept = Script.of_json(script.id, document.data) if document is not None else None
        codes = kept.habit().codes if kept is not None else ()
        found = [(await self._read(code), code) for code in codes]
        return tuple(
            one.using(script.tools, script.hosts).sketch.worded(code) for one, code in found if one is not None
        )

    def _resketch(self, script_id: str, sketches: tuple[Sketch, ...]) -> None:
        def change(data: Json | None) -> Json | None:
            script = Script.of_json(script_id, data)
            if script is None or script.rule == RULE:
                return None
            kept.append(replace(script, sketches=sketches, rule=RULE))
            return kept[-1].to_json()

        kept: list[Script] = []
        self._storage.update(PREFIX + script_id, change)
        for script in kept[-1:]:
            self._know(script)
            for sketch in sketches[:1]:
                self._merge(script_id, self._index.alike(sketch, self._enough))

    def _note(self, found: Fingerprint, occurrence: Occurrence) -> Habit | None:
        """In a thread, one at a time."""
        found = found.worded(occurrence.code)
        alike = self._alike(found.sketch)
        if not alike:
            # Other processes may have seen it: read their scripts before calling it new.
            self._reload()
            alike = self._alike(found.sketch)
        script_id = self._merge(self._best(alike, occurrence.purpose), alike) or new_id(found.sketch, self._known)
        script, is_new_habit = self._kept(script_id, found, occurrence)
        if script is None:
            return None
        self._know(script)
        self._forget(script_id)
        return script.habit() if is_new_habit else None

    def _alike(self, sketch: Sketch) -> dict[str, float]:
        return self._index.alike(sketch, self._enough)

    def _best(self, alike: Mapping[str, float], purpose: str) -> str | None:
        """The script that is most alike; of several that are nearly so, the one with the same purpose."""
        most = max(alike.values(), default=0.0)
        near = [script_id for script_id, much in alike.items() if much >= most - _TIE]
        return max(
            near,
            key=lambda one: (purposes_alike(self._known[one].latest.purpose, purpose), alike[one], one),
            default=None,
        )

    def _merge(self, script_id: str | None, alike: Iterable[str]) -> str | None:
        """Merge the scripts that an occurrence has joined, and return the id that they have now."""
        for other in alike:
            if script_id is not None and other in self._known and other != script_id and self._is_one(script_id, other):
                script_id = self._merged(script_id, other)
        return script_id

    def _is_one(self, script_id: str, other: str) -> bool:
        neurons = {self._known[script_id].neuron, self._known[other].neuron} - {None}
        return len(neurons) < 2 and self._index.may_be_one(script_id, other)

    def _merged(self, one: str, other: str) -> str:
        """Merge two documents; return the id of the one that is left. The other is deleted last: after a crash between
        the two, it is merged again, and counted twice."""
        most = max(MAX_RECENT, self._settings.min_occurrences)
        with self._storage.alone(FOLDER):
            found = [self._fresh(script_id) for script_id in (one, other)]
            scripts = [script for script in found if script is not None and script.rule == RULE]
            if len(scripts) < 2:
                return one
            into, gone = sorted(scripts, key=rank, reverse=True)

            def change(data: Json | None) -> Json | None:
                script = Script.of_json(into.id, data)
                if script is None:
                    return None
                kept.append(merged(script, gone, most))
                return kept[-1].to_json()

            kept: list[Script] = []
            self._storage.update(PREFIX + into.id, change)
            if kept:
                self._storage.delete(PREFIX + gone.id)
                self._know(kept[-1])
                self._unknow(gone.id)
        return into.id

    def _fresh(self, script_id: str) -> Script | None:
        document = self._storage.read(PREFIX + script_id)
        return Script.of_json(script_id, document.data) if document is not None else None

    def _know(self, script: Script) -> None:
        self._known[script.id] = script.without_code()
        self._index.put(script.id, script.sketches)

    def _unknow(self, script_id: str) -> None:
        self._known.pop(script_id, None)
        self._index.drop(script_id)

    def _reload(self) -> None:
        stamp = self._storage.stamp(FOLDER)
        if stamp == self._stamp:
            return
        scripts = self._load()
        for script_id in self._known.keys() - scripts.keys():
            self._unknow(script_id)
        for script in scripts.values():
            self._know(script)
        self._stamp = stamp

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
            now = self._fresh(script.id)
            if now is not None and now.last_at > script.last_at:
                # Another process has seen it since.
                self._know(now)
            else:
                self._unknow(script.id)
                self._storage.delete(PREFIX + script.id)
