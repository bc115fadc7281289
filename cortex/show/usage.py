"""Sums up what the audit and the documents of a home say about its use: hands, habits, neurons, energy. Pure.

Records come from files that other programs can edit: a fact that is not what is expected counts as nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Protocol

MAX_NAMES = 20
"""Names of one kind that are counted apart, at most; the others are counted together."""
OTHERS = "others"
LEARNED = "learned."
_MOST = 1e9
_DECIDED = {"neuron propose": "proposed", "neuron approve": "approved", "neuron reject": "rejected"}
_DECIDED |= {"neuron expire": "expired", "neuron failed": "failed quarantine", "neuron consolidate": "passed the trial"}


class RecordLike(Protocol):
    """A record of the audit."""

    @property
    def at(self) -> datetime: ...

    @property
    def kind(self) -> str: ...

    @property
    def facts(self) -> Mapping[str, Any]: ...


class EntryLike(Protocol):
    """An entry of the energy ledger."""

    @property
    def at(self) -> float: ...

    @property
    def reason(self) -> str: ...

    @property
    def amount(self) -> float: ...


@dataclass(slots=True)
class HomeUse:
    """What was counted. `days` are in order, each with its counts."""

    since: date
    until: date
    runs: Counter[str] = field(default_factory=Counter)
    """Executions by tier."""
    succeeded: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    cached: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    """Executions by the hash of their code."""
    tools: Counter[str] = field(default_factory=Counter)
    learned_calls: int = 0
    """Calls of learned functions that succeeded."""
    decisions: Counter[str] = field(default_factory=Counter)
    emissions: int = 0
    energy: dict[str, float] = field(default_factory=dict)
    """Energy that was taken, by kind."""
    days: dict[date, Counter[str]] = field(default_factory=dict)
    energy_of_days: dict[date, float] = field(default_factory=dict)
    records: int = 0
    habits: Mapping[str, int] = field(default_factory=dict)
    neurons: Mapping[str, int] = field(default_factory=dict)

    def hear(self, record: RecordLike) -> None:
        """Count a record; one from outside of the days is left out."""
        day = record.at.astimezone().date()
        if not self.since <= day <= self.until:
            return
        self.records += 1
        counts = self.days.setdefault(day, Counter())
        match record.kind:
            case "execution":
                self._execution(record.facts, counts)
            case "refusal":
                self.refused += 1
            case "tool_call":
                self._tool_call(record.facts, counts)
            case "emission":
                self.emissions += 1
                counts["emissions"] += 1
            case "neuron" | "owner_decision":
                if found := _DECIDED.get(str(record.facts.get("what"))):
                    self.decisions[found] += 1

    def _execution(self, facts: Mapping[str, Any], counts: Counter[str]) -> None:
        tier = "network" if facts.get("tier") == "network" else "isolated"
        self.runs[tier] += 1
        self.succeeded[tier] += facts.get("ok") is True
        self.cached += facts.get("cached") is True
        _count(self.codes, str(facts.get("code_hash"))[:64], most=100_000)
        counts["runs"] += 1
        counts["succeeded"] += facts.get("ok") is True

    def _tool_call(self, facts: Mapping[str, Any], counts: Counter[str]) -> None:
        tool = str(facts.get("tool"))[:64]
        if tool.startswith(LEARNED):
            # A call that was refused or failed has saved nothing.
            self.learned_calls += facts.get("ok") is True
            counts["learned calls"] += facts.get("ok") is True
        elif facts.get("origin") == "code":
            _count(self.tools, tool)

    def pay(self, entry: EntryLike) -> None:
        """Count an entry of the ledger. What is given back after a run counts against what was taken for it."""
        day = _day(entry.at)
        if day is None or not self.since <= day <= self.until or abs(entry.amount) > _MOST:
            return
        kind = "neurons" if entry.reason.startswith("neuron ") else _KINDS.get(entry.reason, "other")
        if entry.reason not in _OF_THE_LEVEL:
            self.energy[kind] = self.energy.get(kind, 0.0) - entry.amount
            self.energy_of_days[day] = self.energy_of_days.get(day, 0.0) - entry.amount

    def series(self, name: str, points: int) -> list[float]:
        """One number for each of at most `points` spans of the days, the oldest first."""
        days = [self.since + timedelta(days=n) for n in range((self.until - self.since).days + 1)]
        values = [self._of_day(name, day) for day in days]
        size = -(-len(values) // points)
        first = len(values) % size
        spans = [values[:first]] if first else []
        spans += [values[at : at + size] for at in range(first, len(values), size)]
        return [sum(span) for span in spans]

    def _of_day(self, name: str, day: date) -> float:
        return self.energy_of_days.get(day, 0.0) if name == "energy" else float(self.days.get(day, Counter())[name])

    @property
    def all_runs(self) -> int:
        return sum(self.runs.values())

    @property
    def days_with_runs(self) -> int:
        return sum(counts["runs"] > 0 for counts in self.days.values())

    @property
    def repeated_runs(self) -> int:
        """Runs of code that had run before, byte for byte."""
        return sum(count - 1 for count in self.codes.values())

    @property
    def model_calls_saved(self) -> int:
        """At least: each successful call of a learned function, and each emission. A model would have had to look for
        both."""
        return self.learned_calls + max(self.emissions, self.neurons.get("emitted", 0))


_KINDS = {"execution": "runs of code", "settled": "runs of code"}
_OF_THE_LEVEL = frozenset({"set", "top-up", "initial", "recovered", "clock"})


def of_habits(documents: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many scripts are known, became habits, were told to the model, and were learned."""
    found = {"scripts": 0, "noticed": 0, "told": 0, "learned": 0}
    for data in documents:
        found["scripts"] += 1
        found["noticed"] += data.get("told") is not None
        found["told"] += data.get("hinted") is not None
        found["learned"] += data.get("neuron") is not None
    return found


def gates(usage: HomeUse) -> list[tuple[str, str]]:
    """The questions that decide whether each part is worth its place, and what the numbers say."""
    return [("Does the agent use its hands?", _hands(usage)), *_needs(usage)]


def _hands(usage: HomeUse) -> str:
    if not usage.all_runs:
        return "no: no code ran"
    share = sum(usage.succeeded.values()) / usage.all_runs
    days = (usage.until - usage.since).days + 1
    when = f"on {usage.days_with_runs} of {_counted(days, 'day')}"
    return f"yes: {_counted(usage.all_runs, 'run')} {when}, {share:.0%} succeeded"


def _needs(usage: HomeUse) -> Iterable[tuple[str, str]]:
    network, runs = usage.runs["network"], usage.all_runs
    answer = f"yes: {network:,} of {_counted(runs, 'run')}" if network else "no: no run asked for it"
    yield "Is the network needed?", answer
    noticed, learned = usage.habits.get("noticed", 0), usage.habits.get("learned", 0)
    again = f"{_counted(usage.repeated_runs, 'run')} of the very same code"
    answer = "yes" if noticed or usage.repeated_runs else "no"
    yield "Does it write the same again?", f"{answer}: {_counted(noticed, 'habit')}, {learned:,} learned; {again}"
    awake, saved = usage.neurons.get("awake", 0), usage.model_calls_saved
    answer = "yes" if saved else "not yet"
    yield "Is what it learned used?", f"{answer}: {awake:,} awake, at least {_counted(saved, 'model call')} saved"


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _count(names: Counter[str], name: str, most: int = MAX_NAMES) -> None:
    names[name if name in names or len(names) < most else OTHERS] += 1


def _day(at: float) -> date | None:
    try:
        return datetime.fromtimestamp(at).astimezone().date()
    except (ValueError, OverflowError, OSError):
        return None
