"""Whether two JSON values are the same for whoever uses them. Pure.

A module of its own: it knows nothing of scripts and candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

TOLERANCE = 1e-9
MAX_DEPTH = 60
MAX_VALUES = 100_000


def same(a: Any, b: Any, depth: int = 0) -> bool:
    """Order of members does not count, nor whether a member is missing or null; numbers may differ by a billionth of
    themselves, because sums in another order do."""
    if depth > MAX_DEPTH:
        return False
    match a, b:
        case (bool(), _) | (_, bool()):
            return a is b
        case (int() | float(), int() | float()):
            return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE * 1e-3)
        case (dict(), dict()):
            names = {name for one in (a, b) for name, inner in one.items() if inner is not None}
            return all(same(a.get(name), b.get(name), depth + 1) for name in names)
        case (list(), list()):
            return len(a) == len(b) and all(same(one, two, depth + 1) for one, two in zip(a, b, strict=True))
        case _:
            return type(a) is type(b) and bool(a == b)


def is_other_form(a: Any, b: Any) -> bool:
    """Whether the values say their thing in another form: one wraps what the other gives as it is, or both name it
    otherwise. Null has no form."""
    if a is None or b is None:
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        mine, other = ({name for name, inner in one.items() if inner is not None} for one in (a, b))
        return bool(mine and other) and not mine & other
    return any(isinstance(a, kind) != isinstance(b, kind) for kind in (dict, list))


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """All values within, each with the name of the member that it is; the value itself has none."""
    stack: list[tuple[str, Any, int]] = [("", value, 0)]
    for _ in range(MAX_VALUES):
        if not stack:
            return
        name, part, depth = stack.pop()
        yield name, part
        if depth < MAX_DEPTH:
            if isinstance(part, dict):
                stack += [(str(key), inner, depth + 1) for key, inner in part.items()]
            elif isinstance(part, list):
                stack += [("", inner, depth + 1) for inner in part]
