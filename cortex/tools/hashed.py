"""Finds parameters open to hash collision attacks: sets, and dictionaries whose keys are not texts. Pure.

Python's hash of numbers, and of what is made of numbers, is predictable: an attacker can choose thousands that all
collide, and putting those into a set takes quadratic time. Texts are hashed with a secret.
"""

from __future__ import annotations

from typing import Any

from .core_schemas import Schema, parts, taken_apart

# For all parameters of a call. 1,000 colliding UUIDs, the slowest of the common types, take 70 ms; 20,000 would take
# half a minute. Objects that are compared in Python take four times as long, so only half as many are accepted.
MAX_HASHED = 1_000

_IN_PYTHON = frozenset({"model", "dataclass", "definition-ref", "call"})
_WITH_SECRET = frozenset({"any", "bool", "bytes", "date", "enum", "literal", "none", "str"})


def hashed_fields(model: Schema) -> dict[str, int]:
    """The fields of a pydantic model, by its core schema, whose values are hashed, with the weight of one value."""
    fields, definitions = taken_apart(model)
    # A type that refers to itself is defined apart, and may be meant by any field with a reference.
    is_any_defined = any(map(_is_hashed, parts(definitions)))

    def is_hashed(part: Schema) -> bool:
        return _is_hashed(part) or (is_any_defined and part.get("type") == "definition-ref")

    return {
        name: 2 if any(part.get("type") in _IN_PYTHON for part in parts(field)) else 1
        for name, field in fields.items()
        if any(map(is_hashed, parts(field)))
    }


def _is_hashed(part: Schema) -> bool:
    if part.get("type") in {"set", "frozenset"}:
        # JSON has numbers: a set of anything may be a set of numbers.
        return part.get("items_schema", {}).get("type", "any") not in _WITH_SECRET - {"any"}
    # Member names are texts, and stay texts where any type is accepted.
    return "keys_schema" in part and part["keys_schema"].get("type") not in _WITH_SECRET


def counted(value: Any, most: int) -> int:
    """The number of values in a JSON value, counted up to `most`."""
    found, waiting = 0, [value]
    while waiting and found < most:
        part = waiting.pop()
        found += 1
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return found
