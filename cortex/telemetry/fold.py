"""Sums up the records of the audit and the entries of the energy ledger into series. Pure, and in any number of steps:
the same records in the same order give the same series.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import metric_names as names
from .samples import Samples, number

if TYPE_CHECKING:
    from cortex.audit import Record
    from cortex.energy import Entry

_CODE_TOOL = "core.execute"
_GROUP = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNGROUPED = "toolbox"
_MS, _MIB = 1_000, 1_048_576
# Changes of the level that nobody spent: what the owner set, and repairs.
_OF_THE_LEVEL = frozenset({"set", "top-up", "initial", "recovered", "clock"})
_OF_REPLY_CODES = {
    "EXECUTION_TIMEOUT": "timeout",
    "EXECUTION_DENIED": "denied",
    "EXECUTION_BLOCKED": "blocked",
    "CANCELLED": "cancelled",
}


def zeros() -> Samples:
    """Every series whose labels are known beforehand: a counter that appears with its first event hides that event."""
    samples = Samples()
    for tier in names.TIERS:
        for outcome in names.OUTCOMES if tier != names.NO_TIER else ("denied", "error"):
            samples.put(names.EXECUTIONS, tier, outcome, value=0)
    for metric, labels in (
        (names.ERRORS, names.ERROR_TYPES),
        (names.ENERGY_SPENT, names.ORIGINS),
        (names.FETCHES, ("sent", "failed")),
        (names.ANSWERS, ("allowed", "denied")),
    ):
        for label in labels:
            samples.put(metric, label, value=0)
    return samples


@dataclass(slots=True)
class Fold:
    """The series so far."""

    samples: Samples = field(default_factory=zeros)
    spent: dict[str, float] = field(default_factory=dict)
    """What each origin has spent, less what it got back. A counter never falls, so it stands at the most of this."""

    def hear(self, record: Record) -> None:
        """Count a record of the audit."""
        facts = record.facts
        match record.kind:
            case "intent":
                self.samples.observe(names.LENT, value=facts.get("lent"))
            case "execution":
                self._execution(facts)
            case "refusal" if facts.get("tool") == _CODE_TOOL:
                self._refusal(facts)
            case "tool_call":
                self._tool_call(facts)
            case "owner_decision" if facts.get("what") == "tool call":
                self.samples.add(names.ANSWERS, "allowed" if facts.get("allowed") is True else "denied")

    def pay(self, entry: Entry) -> None:
        """Count an entry of the ledger."""
        if entry.reason in _OF_THE_LEVEL or entry.by is not None:
            return
        if entry.reason in {"execution", "settled"}:
            origin = entry.tier.value if entry.tier is not None else names.OTHER
        else:
            origin = "neuron" if entry.reason.startswith("neuron ") else names.OTHER
        # A run pays its price first and gets back what it did not need.
        net = self.spent[origin] = self.spent.get(origin, 0.0) - entry.amount
        counted = self.samples.values[names.ENERGY_SPENT.name].get((origin,), 0.0)
        self.samples.put(names.ENERGY_SPENT, origin, value=round(max(net, counted), 9))

    def _execution(self, facts: Mapping[str, Any]) -> None:
        tier, outcome = _tier(facts), _outcome(facts)
        self.samples.add(names.EXECUTIONS, tier, outcome)
        if facts.get("ok") is not True:
            self._error(facts.get("error_type"), facts.get("reply_code"))
        self.samples.add(names.FETCHES, "sent", by=facts.get("fetches"))
        self.samples.add(names.FETCHES, "failed", by=facts.get("failed_fetches"))
        if facts.get("cached") is True:
            return
        ms, mib = facts.get("total_ms", facts.get("execution_ms")), facts.get("peak_memory_mb")
        self.samples.observe(names.DURATION, tier, value=_scaled(ms, 1 / _MS))
        if mib:
            self.samples.observe(names.MEMORY, tier, value=_scaled(mib, _MIB))

    def _refusal(self, facts: Mapping[str, Any]) -> None:
        """The reason begins with its code."""
        reason = str(facts.get("reason", ""))
        code = next((code for code in _OF_REPLY_CODES if reason.startswith(f"{code}: ")), "EXECUTION_ERROR")
        self.samples.add(names.EXECUTIONS, _tier(facts), _OF_REPLY_CODES.get(code, "error"))
        self._error(None, code)

    def _error(self, error_type: object, reply_code: object) -> None:
        found = next((one for one in (error_type, reply_code) if one in names.ERROR_TYPES), names.OTHER)
        self.samples.add(names.ERRORS, str(found))

    def _tool_call(self, facts: Mapping[str, Any]) -> None:
        server = self._server(facts.get("tool"))
        code = facts.get("error_code")
        outcome = "ok" if facts.get("ok") is True else code if code in names.CALL_OUTCOMES else "error"
        self.samples.add(names.TOOL_CALLS, server, str(outcome))
        if outcome != "denied":
            self.samples.observe(names.TOOL_DURATION, server, value=_scaled(facts.get("duration_ms"), 1 / _MS))

    def _server(self, tool: object) -> str:
        group, dot, _ = str(tool).partition(".")
        if not dot:
            return _UNGROUPED
        known = {labels[0] for labels in self.samples.labels_of(names.TOOL_CALLS)}
        is_counted = group in known or (len(known) < names.MAX_SERVERS and _GROUP.fullmatch(group) is not None)
        return group if is_counted else names.OTHER


def _tier(facts: Mapping[str, Any]) -> str:
    tier = facts.get("tier")
    return tier if tier in names.TIERS else names.NO_TIER


def _outcome(facts: Mapping[str, Any]) -> str:
    if facts.get("ok") is True:
        return "cached" if facts.get("cached") is True else "ok"
    if facts.get("stopped") is True:
        return "killed"
    return _OF_REPLY_CODES.get(str(facts.get("reply_code")), "error")


def _scaled(value: Any, factor: float) -> Any:
    amount = number(value)  # also one of 400 digits, which is no float
    return None if amount is None else amount * factor
