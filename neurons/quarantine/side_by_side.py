"""Runs two recorded scripts on the same inputs, to see whether they do the same. Implements the port `Behaviour`.

Only scripts that reach for nothing: they run in two isolated processes under a fixed clock and seed, and nothing real
is called. Equal results on inputs that tell something are no proof, but better evidence than how the code looks.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ..habits import with_holes
from .agreement import agree, are_telling, says_something
from .players import script_player
from .shared_inputs import Holes, Inputs, holes_of, inputs_of_contexts, inputs_of_data
from .verdicts import promises_nothing

if TYPE_CHECKING:
    from sandbox import ResidentHost

    from ..contracts import NeuronSettings, Recording, Wording
    from ..habits import LiteralReader, Place, ReadScript, Recordings
    from .players import Player
    from .worlds import World

TIMEOUT_S = 20.0
_MAX_RECORDINGS = 3
_ENOUGH = 6
_MAX_BROKEN = 12
_SLOW_S = 1.0
_FEW_APART = 0.1
_READS_CONTEXT = re.compile(r"\bcontext\b")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
# What two processes may see of the time and of chance is the same, and what they look up may not be.
_OUTSIDE = re.compile(r"\b(?:fetch|tools|store|display|Deno|import|WebSocket|EventSource)\b")


class SideBySide:
    def __init__(
        self,
        hosts: ResidentHost,
        settings: NeuronSettings,
        *,
        recordings: Recordings,
        literals: LiteralReader,
        is_killed: Callable[[], bool] = lambda: False,
    ) -> None:
        self._hosts = hosts
        self._settings = settings
        self._recordings = recordings
        self._literals = literals
        self._is_killed = is_killed

    async def same(self, one: Wording, other: Wording) -> bool | None:
        """Whether they gave the same on inputs that tell something; None when that cannot be told. Raises
        SandboxUnavailable when no process can be started."""
        if _OUTSIDE.search(one.code) or _OUTSIDE.search(other.code):
            return None
        with anyio.move_on_after(TIMEOUT_S):
            return await self._same(one, other)
        return None

    async def _same(self, one: Wording, other: Wording) -> bool | None:
        scripts = [await self._literals.read(code) for code in (one.code, other.code)]
        holes = [holes_of(script, prefix) for script, prefix in zip(scripts, "ab", strict=True)]
        recordings = await anyio.to_thread.run_sync(self._recorded, one, other)
        tries = [*_inputs(scripts, holes, recordings)]
        if not tries:
            return None
        first, second = (
            script_player(
                with_holes(script.code, {place: f"given__[{name!r}]" for place, name in hole.places.items()}),
                self._hosts,
                self._settings,
                tools=(),
                urls=(),
                is_expression=script.is_expression,
            )
            for script, hole in zip(scripts, holes, strict=True)
        )
        async with first as mine, second as theirs:
            for inputs in tries:
                found = await self._judged(inputs, (one, mine), (other, theirs))
                if found is not None:
                    return found
        return None

    def _recorded(self, one: Wording, other: Wording) -> list[Recording]:
        return [
            recording
            for wording in (one, other)
            for recording in self._recordings.of([wording.code_hash], _MAX_RECORDINGS)
            if not _is_redacted(recording.context)
        ]

    async def _judged(self, inputs: Inputs, one: tuple[Wording, Player], other: tuple[Wording, Player]) -> bool | None:
        words = {*_WORD.findall(one[0].code), *_WORD.findall(other[0].code)}
        gave: list[tuple[Any, Any]] = []
        apart = apart_at_first = broken = 0
        for number, world in enumerate(inputs.worlds):
            if self._is_killed() or broken > _MAX_BROKEN:
                return None
            began = time.monotonic()
            pair = await _both(world, one, other)
            if time.monotonic() - began > _SLOW_S:
                # It hangs on what it was never meant for, and would on the next such input.
                break
            is_first = number < inputs.first
            broken += pair is None
            is_same = pair is not None and agree(*pair, words.__contains__)
            if is_first and not is_same and not inputs.is_sure:
                return None
            if pair is not None and (says_something(pair[0]) or says_something(pair[1])):
                gave.append(pair)
                apart += not is_same
                apart_at_first += is_first and not is_same
        return _verdict(gave, apart, apart_at_first)


def _inputs(scripts: Sequence[ReadScript], holes: Sequence[Holes], recordings: Sequence[Recording]) -> list[Inputs]:
    constants = _constants([place for script in scripts for place in script.places])
    read = [_READS_CONTEXT.search(script.code) is not None for script in scripts]
    if all(read):
        recordings = [one for one in recordings if all(_may_read(one.context, script.code) for script in scripts)]
        return [*inputs_of_contexts(recordings, {**holes[0].values, **holes[1].values}, constants)]
    return [] if any(read) else [*inputs_of_data(holes[0], holes[1], constants)]


def _may_read(context: Any, code: str) -> bool:
    """Whether the script names a field of it: with other names it would find nothing there."""
    return isinstance(context, dict) and not {*_WORD.findall(code)}.isdisjoint(context)


async def _both(world: World, *pair: tuple[Wording, Player]) -> tuple[Any, Any] | None:
    """What both gave; None when one of them broke or gave nothing that can be compared."""
    gave = [await player.play(world) for _, player in pair]
    for (wording, _), one in zip(pair, gave, strict=True):
        if one.failed or promises_nothing(one, wording.code):
            return None
    return gave[0].value, gave[1].value


def _verdict(gave: Sequence[tuple[Any, Any]], apart: int, apart_at_first: int) -> bool | None:
    """That they differ is only said of what one of them was really given: at edges that nobody has thought of, two
    authors differ anyway."""
    is_telling = len(gave) >= _ENOUGH and all(are_telling(values) for values in zip(*gave, strict=True))
    if not is_telling:
        return None
    if apart_at_first:
        return False
    return True if apart <= _FEW_APART * len(gave) else None


def _is_redacted(value: Any) -> bool:
    return "[redacted" in repr(value)[:100_000]


def _constants(places: Sequence[Place]) -> list[Any]:
    found = {repr(one.value): one.value for one in places if isinstance(one.value, int | float | str)}
    return [*found.values()][:12]
