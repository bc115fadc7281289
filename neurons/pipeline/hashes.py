"""What names exactly one code, one policy, one question. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ..contracts import Neuron, Policy


def canonical(value: Any) -> bytes:
    """One text for one JSON value, in ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def code_hash(code: str) -> str:
    # A document that was written by hand can hold half a surrogate pair, and has to have a hash all the same.
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


def policy_hash(policy: Policy) -> str:
    """The order in which hosts, tools and signals are named does not count, and nothing else is left out."""
    facts = policy.model_dump(mode="json", by_alias=True)
    return _digest({key: sorted(value) if isinstance(value, list) else value for key, value in facts.items()})


def about_hash(neuron: Neuron) -> str:
    """Of all that the owner reads beside code and policy: a purpose that changes after it was read is another one."""
    # Without what is as it always is: a field that a later version adds must not undo what was agreed to before.
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
        }
    )


def shown_hash(neuron_id: str, code_hash: str, policy_hash: str, nonce: str, about: str = "") -> str:
    """What the owner repeats the beginning of. The nonce is the cortex's: no code can be made to fit a hash."""
    return _digest(["motor-cortex shown 1", neuron_id, code_hash, policy_hash, nonce, about])


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()
