"""Lets scripts that may be one in other styles be run side by side, in the background, and merges those that agree.

Static comparison proposes, behaviour disposes. Each pair is run once; verdicts are kept by the hashes of the code, so
that a restart repeats nothing. Like the nightly comparison it takes processor time and no energy, and one process of a
home does it at a time.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import anyio.to_thread

from ..contracts import HOUR_S, Behaviour, HabitSettings, Json, Lease, Storage, Wording
from .habit import Habit, Script
from .habits import Habits

log = logging.getLogger("motor_cortex")

KEY = "comparisons/pairs"
LOOK_S = 30.0
MAX_REMEMBERED = 2_000
MAX_WAITING = 400
_MAX_WORDINGS = 2
_SAME, _OTHER, _UNKNOWN, _LATER = "same", "other", "unknown", "later"


class Comparing:
    def __init__(
        self,
        habits: Habits,
        behaviour: Behaviour,
        settings: HabitSettings,
        storage: Storage,
        lock: Lease,
        *,
        is_killed: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = time.time,
        on_habit: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_habit` is called when two scripts have become a habit together, and returns at once."""
        self._habits = habits
        self._behaviour = behaviour
        self._settings = settings
        self._storage = storage
        self._lock = lock
        self._is_killed = is_killed
        self._now = now
        self._on_habit = on_habit
        self._waiting: list[tuple[Script, Script]] = []
        """Pairs for which there was no room in the hour."""

    async def run(self) -> None:
        """Compare whenever scripts were noticed, until cancelled. No error ends it."""
        if not (self._settings.enabled and self._settings.compare):
            return
        complaint = ""
        while True:
            await anyio.sleep(LOOK_S)
            try:
                await self.compare()
                complaint = ""
            except Exception as error:  # noqa: BLE001 - no error may end the agent; it is tried again
                if str(error) != complaint:
                    complaint = str(error)
                    log.warning("Cannot compare scripts side by side: %s", error)

    async def compare(self) -> list[Habit]:
        """Compare what was noticed since the last time, as far as the hour allows; return the habits that came of
        it. Raises SandboxUnavailable when no process can be started."""
        if self._is_killed() or not self._lock.try_take():
            return []
        try:
            self._waiting = [*await self._habits.pairs(), *self._waiting][:MAX_WAITING]
            return await self._compare_all()
        finally:
            self._lock.release()

    async def _compare_all(self) -> list[Habit]:
        made: list[Habit] = []
        left: dict[str, str] = {}
        """The ids under which merged scripts are found."""
        while self._waiting and not self._is_killed():
            one, other = self._waiting[0]
            ids = [_found(left, script.id) for script in (one, other)]
            verdict = None if ids[0] == ids[1] else await self._verdict(one, other)
            if verdict == _LATER:
                break
            self._waiting.pop(0)
            if verdict == _SAME:
                kept, habit = await self._habits.join(*ids)
                left |= {script_id: kept for script_id in ids if script_id != kept}
                if habit is not None:
                    made.append(habit)
                    self._on_habit()
        return made

    async def _verdict(self, one: Script, other: Script) -> str:
        """What the first wordings say of which something can be told."""
        for mine in wordings_of(one):
            for theirs in wordings_of(other):
                name = "-".join(sorted((_short(mine), _short(theirs))))
                verdict = await anyio.to_thread.run_sync(self._begun, name)
                if not verdict:
                    found = await self._behaviour.same(mine, theirs)
                    if self._is_killed():
                        return _LATER
                    verdict = _UNKNOWN if found is None else _SAME if found else _OTHER
                    await anyio.to_thread.run_sync(self._remember, name, verdict)
                if verdict != _UNKNOWN:
                    return verdict
        return _UNKNOWN

    def _begun(self, name: str) -> str:
        """The verdict on a pair, if it is known; else it counts for the hour, and is empty if there is room in that."""
        said = ""

        def change(data: Json | None) -> Json | None:
            nonlocal said
            pairs, hour, count = _read(data)
            this_hour = int(self._now() // HOUR_S)
            count = count if hour == this_hour else 0
            said = pairs.get(name, "" if count < self._settings.compared_per_hour else _LATER)
            return None if said else _written(pairs, this_hour, count + 1)

        self._storage.update(KEY, change)
        return said

    def _remember(self, name: str, verdict: str) -> None:
        def change(data: Json | None) -> Json:
            pairs, hour, count = _read(data)
            kept = [*{**pairs, name: verdict}.items()][-MAX_REMEMBERED:]
            return _written(dict(kept), hour, count)

        self._storage.update(KEY, change)


def wordings_of(script: Script) -> list[Wording]:
    """The latest wordings, the newest first."""
    latest = Wording(script.latest.code, script.latest.code_hash)
    older = [Wording(code, hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()) for code in script.codes]
    return [one for one in (latest, *older) if one.code][:_MAX_WORDINGS]


def _short(wording: Wording) -> str:
    return wording.code_hash[:16]


def _found(left: Mapping[str, str], script_id: str) -> str:
    for _ in range(len(left)):
        script_id = left.get(script_id, script_id)
    return script_id


def _read(data: Json | None) -> tuple[dict[str, str], int, int]:
    """The verdicts, the hour and how many pairs were run in it: the document may have been edited by hand."""
    data = data or {}
    pairs = data.get("pairs")
    numbers = [data.get(name) for name in ("hour", "count")]
    hour, count = (one if type(one) is int else 0 for one in numbers)
    known = {_SAME, _OTHER, _UNKNOWN}
    found = pairs.items() if isinstance(pairs, dict) else ()
    return {str(name): said for name, said in found if isinstance(said, str) and said in known}, hour, count


def _written(pairs: Mapping[str, str], hour: int, count: int) -> dict[str, Any]:
    return {"format": 1, "pairs": dict(pairs), "hour": hour, "count": count}
