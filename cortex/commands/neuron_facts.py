"""Neurons and habits as JSON objects, for `--json`. Keys are those of the document; keys are added, never removed."""

from __future__ import annotations

from typing import Any

from cortex.show import Nerve
from neurons import Habit, Neuron, Off, On, Status, progress

_ALSO_SHOWN = frozenset({"code", "state", "report", "approvals", "versions", "history"})
_NEVER = frozenset({"seal", "watch"})


def facts_of(
    neuron: Neuron, now: float, switch: On | Off, nerve: Nerve | None = None, *, in_full: bool = False
) -> dict[str, Any]:
    """The document, the progress of its trial, its kill switch, and its state where it runs. Without `in_full` the long
    parts are left out."""
    hidden = _NEVER if in_full else _NEVER | _ALSO_SHOWN
    document = neuron.model_dump(mode="json", by_alias=True, exclude=set(hidden))
    return {
        **document,
        "progress": _progress(neuron, now),
        "killed": {"at": switch.at, "reason": switch.reason} if isinstance(switch, On) else None,
        "layer": nerve.model_dump() if nerve is not None else None,
    }


def _progress(neuron: Neuron, now: float) -> dict[str, float] | None:
    if neuron.status is not Status.TRIAL:
        return None
    found = progress(neuron, now)
    return {"hoursLeft": found.hours_left, "signalsLeft": found.signals_left, "share": found.share}


def history_of(neuron: Neuron) -> dict[str, Any]:
    document = neuron.model_dump(mode="json", by_alias=True, include={"id", "name", "version", "versions", "history"})
    approved = {(one.code_hash, one.policy_hash) for one in neuron.approvals}
    for version, facts in zip(neuron.versions, document["versions"], strict=True):
        facts["approved"] = (version.code_hash, version.policy_hash) in approved
    return document


def habit_facts(habit: Habit, *, in_full: bool = False) -> dict[str, Any]:
    return {
        "id": habit.id,
        "purpose": habit.purpose,
        "occurrences": habit.occurrences,
        "firstAt": habit.first_at,
        "lastAt": habit.last_at,
        "tier": habit.tier,
        "tools": list(habit.tools),
        "hosts": list(habit.hosts),
        "parameters": [{"place": one.place, "kind": one.kind, "values": list(one.values)} for one in habit.parameters],
        "neuron": habit.neuron,
        **({"code": habit.code, "codeHashes": list(habit.code_hashes)} if in_full else {}),
    }
