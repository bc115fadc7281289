"""One run of one scenario, and its problems, in words that tell the neuron's author what to change. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from sandbox import ErrorType, ResidentProgram

from ..contracts import BUILT_IN, ScenarioResult, Signal, cost_of
from .rehearsed import Missed
from .scenarios import EDGES, FAILURES, ODD_ANSWERS, Scenario
from .validation import Seen, plain, quoted

if TYPE_CHECKING:
    from sandbox import BatchAnswer, SignalAnswer, Work

    from ..contracts import CostSettings, Neuron

UNDECLARED = "(undeclared)"

_MAX_DATA = 60
_MAX_MESSAGE = 240

# After one of these errors the rest is not tried: each signal would end the same way, and take long.
_FATAL = frozenset({ErrorType.SYNTAX, ErrorType.TIMEOUT, ErrorType.MEMORY, ErrorType.CRASH})

_BODY = "The code is the body of an async function with signal, state and emit(type, data)"
_LESS = "Do less for each signal"
_ADVICE = {
    ErrorType.SYNTAX: _BODY,
    ErrorType.TIMEOUT: f"{_LESS}, and do not wait: the next signal comes by itself",
    ErrorType.MEMORY: _LESS,
    ErrorType.CRASH: "The code has to return, and not to end its process",
    ErrorType.LIMIT: "Keep less in state, emit fewer and smaller signals, and print less",
    ErrorType.PERMISSION: "Use only what is declared: signal, state, emit, fetch for its hosts, and its tools",
}
_ADVICE_IN = {
    FAILURES: "Requests and tools fail now and then: put them into try and catch, and go on without the answer",
    ODD_ANSWERS: "Servers answer with errors now and then: check response.ok and all that the answer holds",
}
_CHECK_DATA = "Data may be missing or of another type: check signal.data before it is used"
_ORDINARY = "That was an ordinary signal: correct the code, or catch what may fail"


@dataclass(slots=True)
class Attempt:
    """What one run of a scenario did."""

    neuron: Neuron
    program: ResidentProgram
    scenario: Scenario
    prices: CostSettings
    seen: Seen = field(default_factory=Seen)
    missed: Missed = field(default_factory=Missed)
    faults: dict[tuple[ErrorType, str], list[Signal]] = field(default_factory=dict)
    """Failed signals, by error."""
    energy: float = 0.0
    """The energy of its most expensive signal."""
    most: Work | SignalAnswer | None = None
    """What that signal took."""
    ms: float = 0.0

    @property
    def is_fatal(self) -> bool:
        return any(kind in _FATAL for kind, _ in self.faults)

    @property
    def is_over_budget(self) -> bool:
        return self.energy > self.neuron.energy_budget

    def note(self, batch: Sequence[Signal], answer: BatchAnswer, before: dict[str, Any]) -> None:
        """Note the answers to a batch; `before` is the state that the signals found."""
        work, seen = answer.work, self.seen
        for signal, each in zip(batch, answer.answers, strict=True):
            seen.emitted.update(type_ for type_, _ in each.emitted)
            if not each.ok:
                self.faults.setdefault(_fault(each), []).append(signal)
            # In a batch it is not known which signal caused the work.
            asked = work.hosts or work.tools or work.files
            if each.emitted or (len(batch) == 1 and (asked or answer.state != before)):
                seen.inputs.add(signal.type)
        seen.hosts.update(work.hosts)
        seen.tools.update(work.tools)
        seen.files.update(work.files)
        seen.state_bytes = max(seen.state_bytes, len(to_json(answer.state)))
        costs: list[tuple[float, Work | SignalAnswer]] = [(cost_of(work, len(batch), self.prices) / len(batch), work)]
        costs += [(cost_of(one, 1, self.prices), one) for one in answer.answers]
        energy, most = max(costs, key=lambda cost: cost[0])
        if energy >= self.energy:
            self.energy, self.most = energy, most
        self.ms += work.ms

    def problems(self, told: Container[tuple[ErrorType, str]] = ()) -> Iterator[str]:
        """The problems of this run, without the faults in `told`: the same one comes back in most scenarios."""
        for (kind, message), signals in self.faults.items():
            if (kind, message) in told:
                continue
            more = f" and {len(signals) - 1} more" if len(signals) > 1 else ""
            what = (
                f"{kind}: {message}" if kind is not ErrorType.TIMEOUT else f"no answer in {self.program.timeout_ms} ms"
            )
            yield f"failed on {_described(signals[0])}{more}: {what}. {self._advice(kind, message, signals[0])}"
        if self.is_over_budget and self.most is not None:
            work = self.most
            took = f"{work.cpu_ms:.0f} ms of CPU, {work.fetches} requests, {work.tool_calls} tool calls"
            yield (
                f"a signal cost {self.energy:.4f} of energy ({took}), and the budget is "
                f"{self.neuron.energy_budget:g}. {_LESS}, or declare a larger energyBudget"
            )

    def result(self) -> ScenarioResult:
        declared = set(self.neuron.output_signals)
        emitted = Counter({type_ if type_ in declared else UNDECLARED: 0 for type_ in self.seen.emitted})
        for type_, count in self.seen.emitted.items():
            emitted[type_ if type_ in declared else UNDECLARED] += count
        problem = next(self.problems(), "emitted what it does not declare" if UNDECLARED in emitted else "")
        return ScenarioResult(
            name=self.scenario.name,
            signals=len(self.scenario.signals),
            ok=not problem,
            emitted=dict(emitted),
            energy=round(self.energy, 6),
            ms=round(self.ms, 3),
            problem=plain(problem),
        )

    def _advice(self, kind: ErrorType, message: str, signal: Signal) -> str:
        if advice := _ADVICE.get(kind) or _ADVICE_IN.get(self.scenario.name):
            return advice
        if missed := [*self.missed.requests, *self.missed.tools]:
            return f"Nothing was recorded for {quoted(missed)}, so that it failed, as it may at any time: catch that"
        if self.seen.files and "NotFound" in message:
            return "The folder was empty here, and a file may be missing at any time: catch that"
        is_known = signal.type in BUILT_IN or not self.scenario.is_guess
        return _ORDINARY if is_known and self.scenario.name != EDGES else _CHECK_DATA


def _fault(answer: SignalAnswer) -> tuple[ErrorType, str]:
    error = answer.error
    return (ErrorType.CRASH, "no answer") if error is None else (error.type, plain(error.message, _MAX_MESSAGE))


def _described(signal: Signal) -> str:
    return f'signal "{signal.type}" with the data {plain(to_json(signal.data).decode(), _MAX_DATA)}'
