"""Computes the hashes that identify one code, one policy and one question to the owner. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ..contracts import Neuron, Policy


def canonical(value: Any) -> bytes:
    """The canonical text of a JSON value, in ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def code_hash(code: str) -> str:
    # A document edited by hand can hold a lone surrogate, and must have a hash all the same.
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


def policy_hash(policy: Policy) -> str:
    """The hash of the whole policy. The order of hosts, tools and signals does not matter."""
    facts = policy.model_dump(mode="json", by_alias=True)
    return _digest({key: _sorted(value) for key, value in facts.items() if not _is_later(key, value)})


# Fields that policies had later, and the values that mean what a policy without them meant: approvals from before them
# stay valid.
_LATER: dict[str, Any] = {
    "kind": "neuron",
    "schedules": [],
    "emission": {"action": "none", "text": ""},
    "parameters": None,
    "returns": None,
}


def _is_later(key: str, value: Any) -> bool:
    return key in _LATER and value == _LATER[key]


def _sorted(value: Any) -> Any:
    # Texts by themselves: what was approved before lists could hold objects keeps its hash.
    return (
        sorted(value, key=lambda one: one if isinstance(one, str) else canonical(one).decode())
        if isinstance(value, list)
        else value
    )


def about_hash(neuron: Neuron) -> str:
    """The hash of all that the owner reads besides code and policy: a purpose that changes after it was read changes
    it."""
    # Without default values: a field that a later version adds must not invalidate earlier approvals.
    report = neuron.report.model_dump(mode="json", by_alias=True, exclude_defaults=True) if neuron.report else None
    return _digest(
        {
            "name": neuron.name,
            "purpose": neuron.metadata.purpose,
            "habit": neuron.metadata.habit,
            "author": neuron.metadata.author,
            "createdAt": neuron.metadata.created_at,
            "version": neuron.version,
            "report": report,
            # Only where there is one: what was sealed before there were any stays valid.
            **({"source": neuron.metadata.source} if neuron.metadata.source else {}),
            # Only when it is so: questions from before it was kept stay valid.
            **({"isHabitNamed": True} if neuron.metadata.is_habit_named else {}),
        }
    )


def shown_hash(neuron_id: str, code_hash: str, policy_hash: str, nonce: str, about: str = "") -> str:
    """The hash that the owner repeats the beginning of. The cortex chooses the nonce, so no code can be made to fit a
    hash."""
    return _digest(["motor-cortex shown 1", neuron_id, code_hash, policy_hash, nonce, about])


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()
