"""Runs a proposed neuron (a candidate) on invented and recorded signals; nothing that it does has an effect outside.

What it does wrong is a problem, in words that tell its author what to change; what could not be tried is a finding.
Code that behaves here but not later cannot be excluded: that is what the owner, the policy and the trial are for.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from sandbox import Workspace

from ..contracts import Report, ScenarioResult, as_given, may_use_files, new_id, program_of
from .attempt import Attempt
from .function_rehearsal import rehearse_function
from .rehearsed import ToolsOf, named, network_of
from .reports import report_of
from .scenarios import FAILURES, Scenario, scenarios_for
from .validation import Seen, audit, hangs_on, need_of_files, of_guard

if TYPE_CHECKING:
    from sandbox import BatchAnswer, ErrorType, Finding, HostTools, NetworkPolicy, Resident, ResidentHost

    from ..contracts import Neuron, NeuronSettings, Recording
    from .validation import Named

# CPU time is noisy on a busy machine: a candidate is over budget only when all of these attempts are.
_ATTEMPTS = 3

_KEPT_ELSEWHERE = (
    "answered the same signals with the same state differently the second time: "
    "keep what is to be remembered in state, and nowhere else"
)


class CodeGuard(Protocol):
    """`sandbox.Guard` is one."""

    async def inspect(self, code: str, *, is_kept: bool = False) -> Sequence[Finding]: ...


@dataclass(frozen=True, slots=True)
class _World:
    """The tools, network and clock that a neuron will have."""

    tools: HostTools | None
    network: NetworkPolicy | None
    now: Callable[[], float]
    folder: Workspace | None
    """An empty folder, for code that may use files. Nothing is ever committed to it."""


async def rehearse(
    neuron: Neuron,
    hosts: ResidentHost,
    settings: NeuronSettings,
    *,
    recordings: Sequence[Recording] = (),
    guard: CodeGuard | None = None,
    read: Callable[[str], Awaitable[Named | None]] | None = None,
    tools: HostTools | None = None,
    network: NetworkPolicy | None = None,
    now: Callable[[], float] = time.time,
) -> Report:
    """Run the candidate on all scenarios and audit it. Never raises for anything that its code does.

    `read` takes the fingerprint of the code, which also names what was never reached. `tools` and `network` are those
    that the neuron will have: they only say what is allowed, and are never called. Raises SandboxUnavailable when no
    process can be started: that says nothing about the candidate.
    """
    began = now()
    patterns = await guard.inspect(neuron.code, is_kept=True) if guard is not None else ()
    if patterns:
        # As in `core.execute`: what the guard rejects does not run.
        return report_of(neuron, began, problems=[*of_guard(patterns)])
    if neuron.is_function:
        return await rehearse_function(
            neuron, hosts, settings, recordings=recordings, read=read, tools=tools, network=network, began=began
        )
    recorded = {named(one.method, one.url) for recording in recordings for one in recording.exchanges}
    scenarios = scenarios_for(neuron, recordings, settings, at=began)
    with ExitStack() as stack, anyio.move_on_after(settings.quarantine.timeout_ms / 1000) as clock:
        folder = None
        if may_use_files(neuron.code):
            folder = Workspace(stack.enter_context(tempfile.TemporaryDirectory(prefix="motor-cortex-")))
        tried = _Tried(neuron, hosts, settings, _World(tools, network, now, folder), recorded)
        for scenario in scenarios:
            if not await tried.run(scenario):
                break
        if not tried.problems:
            await tried.run_twice(scenarios[0])
    problems = tried.problems
    if clock.cancelled_caught:
        what = f"{len(tried.results)} of {len(scenarios)} scenarios were tried"
        problems.append(f"took longer than {settings.quarantine.timeout_ms} ms for all scenarios: {what}")
    mentioned = await read(neuron.code) if read is not None else None
    found = audit(neuron, tried.seen, named=mentioned, is_whole=not problems)
    findings = [*found.findings, *tried.findings()]
    need = need_of_files(neuron, tried.seen, mentioned)
    return report_of(neuron, began, tried.results, findings, [*problems, *found.problems], need)


def _done(batch: BatchAnswer) -> list[tuple[Any, ...]]:
    """What each signal did. What it cost is another amount each time, and left out."""
    return [(one.ok, one.emitted, one.error, one.changes) for one in batch.answers]


class _Tried:
    """The results of the scenarios so far."""

    def __init__(
        self,
        neuron: Neuron,
        hosts: ResidentHost,
        settings: NeuronSettings,
        world: _World,
        recorded: Collection[str],
    ) -> None:
        self._neuron = neuron
        self._recorded = recorded
        self._hosts = hosts
        self._settings = settings
        self._world = world
        self._program = program_of(neuron, settings)
        self._told: set[tuple[ErrorType, str]] = set()
        self.seen = Seen()
        self.results: list[ScenarioResult] = []
        self.problems: list[str] = []

    async def run(self, scenario: Scenario) -> bool:
        """Run a scenario; return whether it makes sense to go on."""
        attempt = await self._attempt(scenario)
        for _ in range(_ATTEMPTS - 1):
            # If the candidate has failed already, its budget does not matter any more.
            if attempt.faults or not attempt.is_over_budget or self.problems:
                break
            attempt = min(attempt, await self._attempt(scenario), key=lambda each: (not each.faults, each.energy))
        self.problems += [f"{scenario.name}: {problem}" for problem in attempt.problems(self._told)]
        self._told.update(attempt.faults)
        self.results.append(attempt.result())
        return not attempt.is_fatal

    async def run_twice(self, scenario: Scenario) -> None:
        """Run the same signals with the same state twice. Different answers are a problem: something is kept outside of
        the state, where the owner cannot see it and a restart loses it."""
        neuron = self._neuron
        if neuron.hosts or neuron.tools or self._world.folder is not None or any(hangs_on(neuron)):
            return  # their answers may differ for good reasons
        at = self._world.now()
        given = [as_given(replace(each, id=new_id(), at=at)) for each in scenario.signals]
        tools, network = self._around(Attempt(neuron, self._program, scenario, self._settings.cost))
        async with self._hosts.resident(self._program, tools, network=network) as resident:
            first, second = await resident.handle(given, {}), await resident.handle(given, {})
        if (_done(first), first.state) != (_done(second), second.state):
            self.problems.append(_KEPT_ELSEWHERE)

    def findings(self) -> Iterator[str]:
        limit = self._settings.trial.max_emitted_per_minute
        most = max((sum(each.emitted.values()) for each in self.results), default=0)
        if most > limit:
            yield f"emitted {most} signals in one scenario: a trial ends at more than {limit} in a minute"

    async def _attempt(self, scenario: Scenario) -> Attempt:
        attempt = Attempt(self._neuron, self._program, scenario, self._settings.cost)
        tools, network = self._around(attempt)
        has_files = self._world.folder is not None
        size = self._settings.autonomic.max_batch if scenario.at_once and not has_files else 1
        state = dict(scenario.state)
        try:
            async with self._opened(tools, network) as resident:
                for start in range(0, len(scenario.signals), size):
                    at = self._world.now()
                    batch = [replace(each, id=new_id(), at=at) for each in scenario.signals[start : start + size]]
                    answer = await resident.handle([as_given(signal) for signal in batch], state)
                    attempt.note(batch, answer, state)
                    state = answer.state
                    if attempt.is_fatal:
                        break
        finally:
            # Also after a timeout: what it has done until then counts.
            self.seen.absorb(attempt.seen)
            if scenario.name != FAILURES:  # that scenario has no recordings, on purpose
                # A request that another scenario has an answer for was tried there.
                missed = [request for request in attempt.missed.requests if request not in self._recorded]
                self.seen.miss(missed, attempt.missed.tools)
        return attempt

    def _opened(self, tools: HostTools, network: NetworkPolicy) -> AbstractAsyncContextManager[Resident]:
        folder = self._world.folder
        if folder is None:
            return self._hosts.resident(self._program, tools, network=network)
        return self._hosts.resident(self._program, tools, network=network, workspace=folder)

    def _around(self, attempt: Attempt) -> tuple[HostTools, NetworkPolicy]:
        neuron, scenario, missed, world = self._neuron, attempt.scenario, attempt.missed, self._world
        return ToolsOf(neuron, scenario, missed, world.tools), network_of(neuron, scenario, missed, world.network)
