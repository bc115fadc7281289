"""Tries a proposed function: calls it with recorded, usual and odd arguments. Nothing of it has an effect outside.

With arguments that were recorded it has to give the result that it promises. With those that were made from its schema
it may throw an error, which is an answer; but one set of usual arguments has to give a result. With no arguments that
the schema allows may it hang, crash or cost more than its budget: those would disable it later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from pydantic_core import to_json

from ..contracts import ScenarioResult, cost_of, program_of
from ..functions import call_function, result_problem
from . import function_arguments
from .rehearsed import Missed, ToolsOf, named, network_of
from .reports import report_of
from .scenarios import EDGES, FAILURES, RECORDED, Scenario
from .validation import Seen, audit, hangs_on, need_of_files, plain

if TYPE_CHECKING:
    from sandbox import HostTools, NetworkPolicy, ResidentHost

    from ..contracts import Neuron, NeuronSettings, Recording, Report
    from ..functions import FunctionAnswer
    from .function_arguments import Arguments
    from .validation import Named

USUAL = "usual arguments"
# CPU time is noisy on a busy machine: a call is over budget only when all of these attempts are.
_ATTEMPTS = 3
_MAX_SHOWN = 100
_MAX_SAID = 240
_NO_FILES = "uses files: a function has none. Let its caller read them, and pass what they hold as an argument"
_NO_RESULT = (
    "gave no result for any usual arguments: return a value, and give the parameters a default or an enum, from which "
    "usual arguments are made"
)
_LEAKS = "answered the same arguments differently the second time: keep nothing from one call to the next"
_UNPROMISED = "returns what it does not promise for"
_NARROW = "Do less, or allow less in its parameters, with minimum, maximum, maxLength or maxItems"


@dataclass(slots=True)
class _Group:
    """Sets of arguments that are tried in one process, and what must come of them."""

    name: str
    sets: Sequence[Arguments]
    scenario: Scenario
    must_give: bool = False
    may_give: bool = True
    results: list[Any] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    energy: float = 0.0
    ms: float = 0.0


async def rehearse_function(
    neuron: Neuron,
    hosts: ResidentHost,
    settings: NeuronSettings,
    *,
    recordings: Sequence[Recording] = (),
    read: Callable[[str], Awaitable[Named | None]] | None = None,
    tools: HostTools | None = None,
    network: NetworkPolicy | None = None,
    began: float,
) -> Report:
    """Call the candidate in all groups and audit it. Never raises for anything that its code does. Raises
    SandboxUnavailable when no process can be started: that says nothing about the candidate."""
    tried = _Tried(neuron, hosts, settings, tools, network, recordings)
    try:
        groups = _groups(neuron, recordings)
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        # The agent wrote the schema: a minimum may be a text.
        return report_of(neuron, began, problems=[f"its parameters cannot be used: {plain(str(error))}"])
    done: list[_Group] = []
    with anyio.move_on_after(settings.quarantine.timeout_ms / 1000) as clock:
        for group in groups:
            done.append(group)
            await tried.run(group)
            if group.problems and tried.has_fault:
                break
    problems = [f"{group.name}: {problem}" for group in done for problem in group.problems]
    problems += tried.problems(done)
    if clock.cancelled_caught:
        what = f"{len(done) - 1} of {len(groups)} groups of arguments were tried"
        problems.append(f"took longer than {settings.quarantine.timeout_ms} ms for all arguments: {what}")
    mentioned = await read(neuron.code) if read is not None else None
    if need_of_files(neuron, tried.seen, mentioned):
        problems.append(_NO_FILES)
    found = audit(neuron, tried.seen, named=mentioned, is_whole=not problems)
    results = [_result_of(group) for group in done]
    return report_of(neuron, began, results, [*tried.findings, *found.findings], [*problems, *found.problems])


def _groups(neuron: Neuron, recordings: Sequence[Recording]) -> list[_Group]:
    exchanges = tuple(each for one in recordings for each in one.exchanges)
    calls = tuple(each for one in recordings for each in one.tool_calls)
    usual, groups = function_arguments.typical(neuron), list[_Group]()
    for number, (arguments, one) in enumerate(function_arguments.recorded(neuron, recordings), 1):
        name = f"{RECORDED} {number}"
        groups.append(
            _Group(name, [arguments], Scenario(name, (), tuple(one.exchanges), tuple(one.tool_calls)), must_give=True)
        )
    groups.append(_Group(USUAL, usual, Scenario(USUAL, (), exchanges, calls)))
    odd = function_arguments.edges(neuron)
    groups.append(_Group(EDGES, odd, Scenario(EDGES, (), exchanges, calls), may_give=False))
    if neuron.hosts or neuron.tools:
        groups.append(_Group(FAILURES, usual[:1], Scenario(FAILURES, ()), may_give=False))
    return groups


class _Tried:
    """What the candidate did in all groups so far."""

    def __init__(
        self,
        neuron: Neuron,
        hosts: ResidentHost,
        settings: NeuronSettings,
        tools: HostTools | None,
        network: NetworkPolicy | None,
        recordings: Sequence[Recording],
    ) -> None:
        self._neuron = neuron
        self._hosts = hosts
        self._settings = settings
        self._tools = tools
        self._network = network
        self._recorded = {named(one.method, one.url) for recording in recordings for one in recording.exchanges}
        self._threw: dict[str, str] = {}
        """Errors that it threw for arguments that were made, with the first of these."""
        self._has_missed = False
        self.has_fault = False
        self.seen = Seen()
        self.findings: list[str] = []

    async def run(self, group: _Group) -> None:
        neuron, missed = self._neuron, Missed()
        tools = ToolsOf(neuron, group.scenario, missed, self._tools)
        network = network_of(neuron, group.scenario, missed, self._network)
        program = program_of(neuron, self._settings)
        try:
            async with self._hosts.resident(program, tools, network=network) as resident:
                for arguments in group.sets:
                    answer = await call_function(resident, arguments)
                    energy = self._note(group, answer)
                    for _ in range(_ATTEMPTS - 1):
                        if answer.is_fault or energy <= neuron.energy_budget:
                            break
                        energy = min(energy, self._note(group, await call_function(resident, arguments)))
                    group.energy = max(group.energy, energy)
                    is_answered = not (missed.requests or missed.tools)
                    group.problems += self._judged(group, arguments, answer, energy, is_answered=is_answered)
                    if answer.is_fault:
                        self.has_fault = True
                        break
                if group.name == USUAL and group.results and not self._may_vary:
                    again = await call_function(resident, group.sets[0])
                    first = group.results[0]
                    if again.ok and first[0] is group.sets[0] and again.result != first[1]:
                        group.problems.append(_LEAKS)
        finally:
            if group.name != FAILURES:  # that group has no recordings, on purpose
                requests = [request for request in missed.requests if request not in self._recorded]
                self._has_missed |= bool(requests or missed.tools)
                self.seen.miss(requests, missed.tools)

    def problems(self, groups: Sequence[_Group]) -> Iterator[str]:
        """What only all groups together show."""
        usual = [group for group in groups if group.may_give]
        has_result = any(result is not None for group in usual for _, result in group.results)
        # Without recorded answers of the network and of tools there may be no result to give.
        is_known = not self._has_missed and not any(group.problems for group in groups)
        if usual and not has_result and is_known:
            why = next(iter(self._threw), "")
            yield f"{_NO_RESULT}{f'. It threw: {why}' if why else ''}"
        for said, arguments in [*self._threw.items()][:3]:
            self.findings.append(f"throws for {arguments}: {said}")

    @property
    def _may_vary(self) -> bool:
        neuron = self._neuron
        return bool(neuron.hosts or neuron.tools or [*hangs_on(neuron)])

    def _note(self, group: _Group, answer: FunctionAnswer) -> float:
        work = answer.work
        self.seen.hosts.update(work.hosts)
        self.seen.tools.update(work.tools)
        self.seen.files.update(work.files)
        group.ms += work.ms
        return cost_of(work, 1, self._settings.cost)

    def _judged(
        self, group: _Group, arguments: Arguments, answer: FunctionAnswer, energy: float, *, is_answered: bool
    ) -> Iterator[str]:
        shown = f"the arguments {plain(to_json(arguments).decode(), _MAX_SHOWN)}"
        if answer.error is not None:
            said = plain(answer.error.message, _MAX_SAID)
            if answer.is_fault:
                yield f"failed on {shown}: {answer.error.type}: {said}. {_NARROW}"
            elif group.must_give:
                yield f"failed on {shown}, which were recorded: {said}"
            elif group.name != FAILURES:
                self._threw.setdefault(said, shown)
        else:
            group.results.append((arguments, answer.result))
            problem = result_problem(self._neuron, answer.result)
            if problem is not None and group.may_give and is_answered:
                yield f"returned what it does not promise for {shown}: {plain(problem, _MAX_SAID)}"
            elif problem is not None and not any(_UNPROMISED in finding for finding in self.findings):
                # Its caller gets an error then, as when it throws.
                self.findings.append(f"{_UNPROMISED} {shown}: {plain(problem, _MAX_SAID)}")
        if energy > self._neuron.energy_budget:
            yield (
                f"a call with {shown} cost {energy:.4f} of energy, and the budget is {self._neuron.energy_budget:g}. "
                f"{_NARROW}, or declare a larger energyBudget"
            )


def _result_of(group: _Group) -> ScenarioResult:
    return ScenarioResult(
        name=group.name,
        signals=len(group.sets),
        ok=not group.problems,
        energy=round(group.energy, 6),
        ms=round(group.ms, 3),
        problem=plain(next(iter(group.problems), "")),
    )
