"""How much there is in a value, and how many ways lead through it and its schema. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from .schema_parts import Part, Parts

# To find the words for what does not fit costs a hundred times as much as to find that it does not.
MAX_WAYS = 2_000


class Measure(NamedTuple):
    values: int
    depth: int
    characters: int
    wide: int
    """Integers of more than 64 bits."""
    containers: list[Any]


def measured(value: Any, most: int) -> Measure:
    """How much there is in a value, counted until it is more than so many."""
    values = depth = characters = wide = 0
    containers: list[Any] = []
    level = [value]
    while level and values <= most:
        depth += 1
        values += len(level)
        below: list[Any] = []
        for part in level:
            if isinstance(part, str):
                characters += len(part)
            elif isinstance(part, dict):
                containers.append(part)
                below.extend(part.values())
                characters += sum(map(len, part))
            elif isinstance(part, list):
                containers.append(part)
                below.extend(part)
            elif isinstance(part, int) and part.bit_length() > 64:
                wide += 1
                values += (part.bit_length() // 64) ** 2
        level = below
    return Measure(values, depth, characters, wide, containers)


def are_few_ways(parts: Parts, value: Any) -> bool:
    """Whether all ways through schema and value together are so few that each may be gone."""
    waiting: list[tuple[Part, Any]] = [(parts.root, value)]
    for _ in range(MAX_WAYS):
        if not waiting:
            return True
        part, inner = waiting.pop()
        waiting += [(other, inner) for other in parts.same[id(part)]]
        if isinstance(inner, dict | list) and parts.within[id(part)]:
            waiting += _applied(part, inner)
        if len(waiting) > MAX_WAYS:
            return False
    return False


_FOR_MEMBERS = ("additionalProperties", "unevaluatedProperties")
_FOR_ITEMS = ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains")


def _applied(part: Part, value: dict[str, Any] | list[Any]) -> list[tuple[Part, Any]]:
    """The parts that look at what is in a value, each with what it looks at. Not more than a few thousand."""
    if isinstance(value, list):
        parts = [inner for keyword in _FOR_ITEMS for inner in _parts_of(part.get(keyword))]
        return [(inner, item) for inner in parts for item in value[:MAX_WAYS]][: MAX_WAYS + 1]
    named = part.get("properties")
    named = named if isinstance(named, dict) else {}
    parts = [inner for keyword in _FOR_MEMBERS for inner in _parts_of(part.get(keyword))]
    by_pattern = part.get("patternProperties")
    parts += _parts_of(list(by_pattern.values()) if isinstance(by_pattern, dict) else None)
    found = [(named[name], inner) for name, inner in value.items() if isinstance(named.get(name), dict)]
    return [*found, *((inner, member) for inner in parts for member in value.values())][: MAX_WAYS + 1]


def _parts_of(written: Any) -> list[Part]:
    return [part for part in (written if isinstance(written, list) else [written]) if isinstance(part, dict)]
