"""Compares a candidate with the recorded scripts of its habit: both are given the recorded inputs, and changed ones.

Equal on all of them is no proof. Code could see that it is compared, and an input that nobody thought of may tell the
two apart; the owner, the rights and the trial are for that.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import anyio

from sandbox import BadSchema, TooMuchToCheck, schema_problem

from ..contracts import Difference, Equality
from ..habits import LiteralReader, with_holes
from ..pipeline import canonical
from .arguments import Assignment, assignments, varying_in
from .mutations import in_turn
from .players import Player, candidate_player, script_player
from .validation import plain
from .verdicts import (
    Gave,
    apart,
    asks_for_others,
    carried,
    difference,
    difference_of_calls,
    differs_in_form,
    promises_nothing,
)
from .worlds import World, changed_worlds, world_of

if TYPE_CHECKING:
    from sandbox import HostTools, NetworkPolicy, ResidentHost

    from ..contracts import Neuron, NeuronSettings, Recording
    from ..habits import Place, ReadScript

_MAX_ASKED = 8
_MAX_INPUT = 400
# How a script says that something may be missing.
_MISSING = ("??", "?.", "=== undefined", "== null", "=== null")
_MAX_CONSTANTS = 16
_MAX_BROKEN = 40
_NOT_KEPT = "its scripts were not kept"
_NO_ARGUMENTS = "its arguments are not in the recorded runs"
_BROKE = "the recorded scripts do not work without their surroundings"
_NOTHING_ALIKE = "what it emits is not called as in the scripts' results, and neither asks for anything"


async def compare(
    neuron: Neuron,
    hosts: ResidentHost,
    settings: NeuronSettings,
    *,
    recordings: Sequence[Recording],
    reader: LiteralReader,
    tools: HostTools | None = None,
    network: NetworkPolicy | None = None,
    is_named: bool = True,
    is_killed: Callable[[], bool] = lambda: False,
) -> Equality:
    """Run both on the same inputs. Raises SandboxUnavailable when no process can be started."""
    runs = [each for each in recordings if each.code][: settings.quarantine.equal_runs]
    if not runs:
        return Equality(skipped=len(recordings), is_named=is_named, why=_NOT_KEPT)
    compared = _Comparison(neuron, hosts, settings, tools, network, is_killed)
    with anyio.move_on_after(settings.quarantine.equal_timeout_ms / 1000) as clock:
        await compared.run(runs, reader)
    compared.is_cut |= clock.cancelled_caught
    return compared.result(len(recordings) - len(runs), is_named=is_named)


@dataclass(slots=True)
class _Group:
    """The runs of one wording."""

    script: ReadScript
    varying: list[Any]
    runs: list[tuple[int, Recording]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A recorded run that can be repeated, and what of it are the arguments of the candidate."""

    world: World
    assignment: Assignment
    apart: Literal["", "form", "things"] = ""
    """Where it says nothing of the candidate: its result has another form, or it asked for other things."""


class _Comparison:
    def __init__(
        self,
        neuron: Neuron,
        hosts: ResidentHost,
        settings: NeuronSettings,
        tools: HostTools | None,
        network: NetworkPolicy | None,
        is_killed: Callable[[], bool],
    ) -> None:
        self._neuron = neuron
        self._hosts = hosts
        self._settings = settings
        self._tools = tools
        self._network = network
        self._is_killed = is_killed
        self._left = settings.quarantine.equal_cases
        self._first: Difference | None = None
        self._runs = self._skipped = 0
        self._apart: Counter[str] = Counter()
        self._asked: dict[str, None] = {}
        self._values = 0
        """Inputs on which more than the calls could be compared."""
        self._why = ""
        self.compared = self.equal = 0
        self.is_cut = False

    def result(self, left_out: int, *, is_named: bool) -> Equality:
        only_calls = self.compared > 0 and not self._values
        is_empty = only_calls and not self._asked and self._first is None
        return Equality(
            runs=0 if is_empty else self._runs,
            skipped=self._skipped + left_out,
            other_form=self._apart["form"],
            other_things=self._apart["things"],
            compared=0 if is_empty else self.compared,
            equal=0 if is_empty else self.equal,
            only_calls=only_calls,
            asked=tuple([*self._asked][:_MAX_ASKED]),
            is_named=is_named,
            is_cut=self.is_cut,
            first_difference=self._first,
            why=_NOTHING_ALIKE if is_empty else "" if self.compared else self._why,
        )

    async def run(self, runs: Sequence[Recording], reader: LiteralReader) -> None:
        scripts = {each.code: await reader.read(each.code) for each in runs}
        mine = await reader.read(self._neuron.code)
        constants = _constants([mine.places, *(script.places for script in scripts.values())])
        groups = _groups(runs, scripts)
        async with candidate_player(self._neuron, self._hosts, self._settings, self._tools, self._network) as candidate:
            chosen = [(group, await self._chosen(group, candidate)) for group in groups if not self._is_killed()]
            chosen = self._of_its_form(chosen)
            for number, (group, found) in enumerate(chosen):
                if self._first is not None or self._is_killed():
                    break
                most = max(len(group.runs), self._left // (len(chosen) - number))
                await self._compare_group(group, found, candidate, constants, most)

    def _of_its_form(self, chosen: list[tuple[_Group, list[_Chosen]]]) -> list[tuple[_Group, list[_Chosen]]]:
        """Without the runs that gave their value in another form than the candidate, or asked the same tools and
        servers for other things, if it does the same as some: wordings of one habit may wrap their result in an object,
        and each has other values, which a neuron has as constants."""
        if not any(not one.apart for _, found in chosen for one in found):
            return chosen
        self._apart = Counter(one.apart for _, found in chosen for one in found if one.apart)
        return [(group, [one for one in found if not one.apart]) for group, found in chosen]

    async def _compare_group(
        self, group: _Group, chosen: Sequence[_Chosen], candidate: Player, constants: Sequence[Any], most: int
    ) -> None:
        may_lack = any(mark in group.script.code for mark in _MISSING)
        for holes, worlds in _by_holes([(one.world, one.assignment) for one in chosen]):
            async with self._script(group, holes) as script:
                sources = [changed_worlds(world, constants, may_lack=may_lack) for world in worlds]
                await self._compare_all(group, (script, candidate), holes, [iter(worlds), *sources], most)

    async def _chosen(self, group: _Group, candidate: Player) -> list[_Chosen]:
        """The world of each run that can be repeated, with the arguments of the candidate."""
        found = []
        async with self._script(group, Assignment()) as script:
            for number, recording in group.runs:
                possible = self._possible(group, recording)
                if not possible:
                    self._skip(_NO_ARGUMENTS)
                    continue
                gave = await script.play(world_of(number, recording, {}))
                if promises_nothing(gave, group.script.code):
                    self._skip(_BROKE)
                    continue
                found.append(await self._likeliest(gave, number, recording, possible, candidate))
        return found

    async def _likeliest(
        self, gave: Gave, number: int, recording: Recording, possible: Sequence[Assignment], candidate: Player
    ) -> _Chosen:
        """The first assignment with which the candidate does the same, or does in another form; else the first."""
        apart: _Chosen | None = None
        for each in possible:
            world = world_of(number, recording, each.arguments)
            mine = await candidate.play(world)
            if not self._neuron.is_function:
                return _Chosen(world, each, apart="things" if asks_for_others(gave, mine) else "")
            if difference(gave, mine) is None:
                return _Chosen(world, each)
            if apart is None and differs_in_form(gave, mine):
                apart = _Chosen(world, each, apart="form")
        return apart or _Chosen(world_of(number, recording, possible[0].arguments), possible[0])

    def _skip(self, why: str) -> None:
        self._skipped += 1
        self._why = self._why or why

    def _possible(self, group: _Group, recording: Recording) -> list[Assignment]:
        neuron = self._neuron
        if not neuron.is_function:
            return [Assignment()]
        return assignments(neuron.parameters or {}, recording.context, group.script.places, group.varying)

    async def _compare_all(
        self, group: _Group, pair: tuple[Player, Player], holes: Assignment, sources: list[Any], most: int
    ) -> None:
        """One input of each source in turn; first all recorded ones."""
        most = min(most, self._left)
        broken = 0
        recorded, *changed = sources
        for world in [*recorded, *islice(in_turn(changed), most + _MAX_BROKEN)]:
            if most <= 0 or self._is_killed() or broken > max(_MAX_BROKEN, most):
                break
            is_compared = await self._compare_one(group, pair, holes, world)
            most -= is_compared
            self._left -= is_compared
            broken += not is_compared
            if self._first is not None:
                return

    async def _compare_one(self, group: _Group, pair: tuple[Player, Player], holes: Assignment, world: World) -> bool:
        """Whether the input says anything about the two."""
        if not self._is_allowed(world):
            return False
        script, candidate = await _both(*pair, world)
        if promises_nothing(script, group.script.code):
            return False
        found = self._found(script, candidate)
        if found is not None:
            # The script once more in a fresh process, as each of its runs had one: what an earlier input has left there
            # must not count. What the candidate leaves behind does: its process stays from call to call.
            async with self._script(group, holes) as fresh:
                script = await fresh.play(world)
            found = None if promises_nothing(script, group.script.code) else self._found(script, candidate)
        self.compared += 1
        self._runs += not world.changed
        self.equal += found is None
        self._asked |= dict.fromkeys(sorted(script.calls.asked))
        if found is not None:
            self._first = Difference(input=self._described(world), script=found[0], candidate=found[1])
        return True

    def _is_allowed(self, world: World) -> bool:
        """Whether the schema would let the candidate be called with these arguments."""
        schema = self._neuron.parameters
        if not self._neuron.is_function or not schema:
            return True
        try:
            return schema_problem(canonical(schema), world.arguments) is None
        except (BadSchema, TooMuchToCheck, ValueError):
            return False

    def _found(self, script: Gave, candidate: Gave) -> tuple[str, str] | None:
        if self._neuron.is_function:
            self._values += 1
            return difference(script, candidate)
        if candidate.failed:
            return script.shown, candidate.shown
        if found := difference_of_calls(script.calls, candidate.calls):
            return found
        is_carried = carried(script, candidate)
        self._values += is_carried is not None
        return apart(script, candidate) if is_carried is False else None

    @asynccontextmanager
    async def _script(self, group: _Group, assignment: Assignment) -> AsyncIterator[Player]:
        holes = {place: f"given__[{name!r}]" for place, name in assignment.holes.items()}
        calls = [call for _, recording in group.runs for call in recording.tool_calls]
        exchanges = [exchange for _, recording in group.runs for exchange in recording.exchanges]
        async with script_player(
            with_holes(group.script.code, holes),
            self._hosts,
            self._settings,
            tools=tuple(dict.fromkeys(call.name for call in calls)),
            urls=[exchange.url for exchange in exchanges],
            real=self._tools,
            is_expression=group.script.is_expression,
        ) as player:
            yield player

    def _described(self, world: World) -> str:
        what = f"recorded run {world.run}"
        what += f", {world.changed}" if world.changed else ""
        if self._neuron.is_function and world.arguments:
            what += f"; called with {json.dumps(world.arguments, ensure_ascii=False)[:_MAX_INPUT]}"
        return plain(what, _MAX_INPUT)


async def _both(script: Player, candidate: Player, world: World) -> tuple[Gave, Gave]:
    gave: list[Gave] = [Gave(), Gave()]

    async def play(number: int, player: Player) -> None:
        gave[number] = await player.play(world)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(play, 0, script)
        tasks.start_soon(play, 1, candidate)
    return gave[0], gave[1]


def _groups(runs: Sequence[Recording], scripts: dict[str, ReadScript]) -> list[_Group]:
    places = [script.places for script in scripts.values()]
    groups = {code: _Group(script, varying_in(places, number)) for number, (code, script) in enumerate(scripts.items())}
    for number, recording in enumerate(runs, 1):
        groups[recording.code].runs.append((number, recording))
    return [*groups.values()]


def _by_holes(chosen: Sequence[tuple[World, Assignment]]) -> list[tuple[Assignment, list[World]]]:
    """The worlds by the places of their arguments: one script with holes serves them all."""
    found: dict[frozenset[tuple[int, int, str]], tuple[Assignment, list[World]]] = {}
    for world, assignment in chosen:
        key = frozenset((place.start, place.end, name) for place, name in assignment.holes.items())
        found.setdefault(key, (assignment, []))[1].append(world)
    return [*found.values()]


def _constants(all_places: Sequence[Sequence[Place]]) -> list[Any]:
    """Numbers and words of the programs, each once: bounds and names that they go by."""
    found: dict[tuple[type, Any], None] = {}
    for places in all_places:
        for place in places:
            value = place.value
            is_word = isinstance(value, str) and 0 < len(value) <= 40 and place.form == "value"
            if is_word or (isinstance(value, int | float) and not isinstance(value, bool)):
                found[(type(value), value)] = None
    values = [value for _, value in found]
    numbers = [one for one in values if not isinstance(one, str)]
    words = [one for one in values if isinstance(one, str)]
    return [*numbers[:_MAX_CONSTANTS], *words[:_MAX_CONSTANTS]]
