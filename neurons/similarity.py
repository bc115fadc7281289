"""How much alike two scripts are. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .fingerprint import Fingerprint, Literal

MAX_VALUES = 5
MAX_PARAMETERS = 16


def similarity(a: Fingerprint, b: Fingerprint) -> float:
    """1 for the same shape, 0 for nothing in common. Scripts that use other tools or hosts have nothing in common: what
    one of them may do says nothing about the other."""
    if a.tools != b.tools or a.hosts != b.hosts:
        return 0.0
    if a.shape == b.shape:
        return 1.0
    common = sum(min(count, b.parts.get(part, 0)) for part, count in a.parts.items())
    both = sum(a.parts.values()) + sum(b.parts.values())
    return 2 * common / both if both else 1.0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A literal that was another one from time to time: a neuron would have to be told it."""

    path: str
    """What it is given to, like `call:fetch 1` or `tool:github.list owner 1`."""
    kind: str
    values: tuple[str, ...]
    """The latest first."""

    @property
    def place(self) -> str:
        """What it is given to, as one would write it: `fetch()`, `owner of tools.github.list()`."""
        words = self.path.split(" ")
        label, keys = words[0], words[1:-1]
        kind, _, name = label.partition(":")
        match kind:
            case "call" | "new" if name:
                place = f"{'new ' if kind == 'new' else ''}{name}()"
            case "tool":
                place = f"tools.{name}()"
            case "op":
                place = f"operand of {name}"
            case _:
                place = label
        return f"{'.'.join(keys)} of {place}" if keys else place


def parameters(occurrences: Sequence[Sequence[Literal]]) -> tuple[Parameter, ...]:
    """What differs between the occurrences, which are given in the order in which they happened."""
    seen: dict[str, tuple[str, list[str]]] = {}
    for literals in reversed(occurrences):
        for literal in literals:
            _, values = seen.setdefault(literal.path, (literal.kind, []))
            if literal.text not in values:
                values.append(literal.text)
    return tuple(
        Parameter(path, kind, tuple(values[:MAX_VALUES]))
        for path, (kind, values) in list(seen.items())
        if len(values) > 1
    )[:MAX_PARAMETERS]
