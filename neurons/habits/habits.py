"""Notices scripts that are run again and again. Each script is kept as one document, `habits/<id>`."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import anyio
import anyio.to_thread

from sandbox import SandboxError

from ..contracts import HabitSettings, Json, NeuronError, Storage
from .documents import FOLDER, PREFIX, ScriptDocuments
from .fingerprint import Fingerprint
from .growth import new_id
from .habit import (
    RULE,
    Habit,
    Occurrence,
    Script,
    forgotten,
    hint_of,
)
from .index import Index, enough_of
from .sketch import Sketch, is_pure, purposes_alike

log = logging.getLogger("motor_cortex")

MAX_UNLIKE = 64
MAX_PAIRS = 200
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
        self._documents = ScriptDocuments(storage, settings, now)
        self._one_at_a_time = anyio.Lock()
        self._known: dict[str, Script] = {}
        """Scripts as last read. Used only to find similar ones: decisions are made on a fresh read under the lock."""
        self._index = Index()
        self._enough = enough_of(settings.similarity_effects, settings.similarity_pure)
        self._stamp: object = None
        self._is_grouped = False
        self._unlike: deque[str] = deque(maxlen=MAX_UNLIKE)
        """Pure scripts that were seen lately and may be a known one in another style."""

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
        habits = [script.habit() for script in self._documents.all().values() if script.told is not None]
        return sorted(habits, key=lambda habit: -habit.last_at)

    def get(self, habit_id: str) -> Habit | None:
        """The habit with this id, or the only one whose id begins with it."""
        found = [habit for habit in self.all() if habit.id.startswith(habit_id)] if habit_id else []
        exact = [habit for habit in found if habit.id == habit_id]
        if not found and habit_id:
            # It was merged into another one after its id was told.
            found = [script.habit() for script in self._documents.all().values() if habit_id in script.absorbed]
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

    async def pairs(self) -> list[tuple[Script, Script]]:
        """Pure scripts that were noticed since the last call, each with one that it may be in another style, the most
        alike first. Their documents say what is known of them now."""
        return await anyio.to_thread.run_sync(self._pairs)

    def _pairs(self) -> list[tuple[Script, Script]]:
        found: dict[frozenset[str], float] = {}
        while self._unlike:
            script_id = self._unlike.popleft()
            for other, much in self._index.resembling(script_id, self._settings.similarity_compared).items():
                pair = frozenset((script_id, other))
                found[pair] = max(much, found.get(pair, 0.0))
        ranked = sorted(found, key=lambda pair: -found[pair])[:MAX_PAIRS]
        read = [tuple(self._documents.get(script_id) for script_id in sorted(pair)) for pair in ranked]
        return [(one, other) for one, other in read if one is not None and other is not None]

    async def join(self, one: str, other: str) -> tuple[str, Habit | None]:
        """Merge two scripts that do the same, however different they look; return the id of the one that is left, and
        the habit if they have just become one. Two that have a neuron each stay two."""
        async with self._one_at_a_time:
            return await anyio.to_thread.run_sync(self._join, one, other)

    def _join(self, one: str, other: str) -> tuple[str, Habit | None]:
        scripts = [self._documents.get(script_id) for script_id in (one, other)]
        if len({script.neuron for script in scripts if script is not None} - {None}) > 1:
            return one, None
        return self._merged(one, other, is_seen=False)

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
        kept = await anyio.to_thread.run_sync(self._documents.get, script.id)
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
        script, is_new_habit = self._documents.add(script_id, found, occurrence)
        if script is None:
            return None
        self._know(script)
        if is_pure(found.sketch) and script.id not in self._unlike:
            self._unlike.append(script.id)
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
                script_id, _ = self._merged(script_id, other)
        return script_id

    def _is_one(self, script_id: str, other: str) -> bool:
        neurons = {self._known[script_id].neuron, self._known[other].neuron} - {None}
        return len(neurons) < 2 and self._index.may_be_one(script_id, other)

    def _merged(self, one: str, other: str, *, is_seen: bool = True) -> tuple[str, Habit | None]:
        """Merge two documents; return the id of the one that is left, and the habit if it has just become one."""
        done = self._documents.merge(one, other, is_seen=is_seen)
        if done is None:
            return one, None
        script, gone, is_new_habit = done
        self._know(script)
        self._unknow(gone)
        return script.id, script.habit() if is_new_habit else None

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
        scripts = self._documents.all()
        for script_id in self._known.keys() - scripts.keys():
            self._unknow(script_id)
        for script in scripts.values():
            self._know(script)
        self._stamp = stamp

    def _forget(self, newest: str) -> None:
        """Delete scripts that were not seen again in time, and the oldest when there are too many. Habits stay as long
        as there is room, so that the model is not told of them again."""
        for script in forgotten(self._known.values(), newest, self._documents.oldest(), self._settings.max_occurrences):
            now = self._documents.get(script.id)
            if now is not None and now.last_at > script.last_at:
                # Another process has seen it since.
                self._know(now)
            else:
                self._unknow(script.id)
                self._documents.delete(script.id)
