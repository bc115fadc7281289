"""Says whether the results of two scripts are the same but for their form. Pure.

A result in an object, under other names, rounded otherwise or with its unit is the same result: what counts are the
values in it and, in lists, their order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from .same_values import same

MAX_DEPTH = 12
MAX_LIST = 2_000
MAX_FIELDS = 12
"""An object with more members than these is a table, whose names are data."""
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?![\d.])")
_DIGITS = 9
_NOTHING: tuple[Any, ...] = (None, "", [], {}, False)

IsField = Callable[[str], bool]
"""Whether a member's name is the author's, and no data."""


def agree(one: Any, other: Any, is_field: IsField, depth: int = 0) -> bool:
    """Whether the results say the same."""
    if depth > MAX_DEPTH:
        return False
    match one, other:
        case (dict(), dict()):
            return _objects(one, other, is_field, depth)
        case (list(), list()):
            is_short = len(one) == len(other) <= MAX_LIST
            return is_short and all(agree(a, b, is_field, depth + 1) for a, b in zip(one, other, strict=True))
        case (dict(), list()) | (list(), dict()):
            table, rows = (one, other) if isinstance(one, dict) else (other, one)
            as_rows = [list(pair) for pair in table.items()]
            return agree(as_rows, rows, is_field, depth + 1) or _is_wrapped(table, rows, is_field, depth)
        case (dict(), _) | (_, dict()):
            wrapped, value = (one, other) if isinstance(one, dict) else (other, one)
            return _is_wrapped(wrapped, value, is_field, depth)
        case _:
            return _scalars(one, other)


def _is_wrapped(wrapped: dict[str, Any], value: Any, is_field: IsField, depth: int) -> bool:
    """Whether the value is a member of an object that the script has put around its results."""
    if not 0 < len(wrapped) <= MAX_FIELDS or not all(map(is_field, wrapped)):
        return False
    return any(agree(inner, value, is_field, depth + 1) for inner in wrapped.values())


def _objects(one: dict[str, Any], other: dict[str, Any], is_field: IsField, depth: int) -> bool:
    if one.keys() == other.keys():
        return all(agree(one[name], other[name], is_field, depth + 1) for name in one)
    few, many = sorted((one, other), key=len)
    if not few or len(many) > MAX_FIELDS or not all(map(is_field, (*few, *many))):
        return False
    # Under other names, or with some more of them.
    left = list(many.values())
    for value in few.values():
        found = next((at for at, inner in enumerate(left) if agree(value, inner, is_field, depth + 1)), None)
        if found is None:
            return False
        del left[found]
    return True


def _scalars(one: Any, other: Any) -> bool:
    if same(one, other):
        return True
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    a, b = _number(one), _number(other)
    if a is None or b is None or (isinstance(one, str) and isinstance(other, str)):
        return isinstance(one, str) and isinstance(other, str) and one.split() == other.split()
    return _is_rounded(a, b) or _is_rounded(b, a)


def _number(value: Any) -> float | None:
    """The number, or the only number in a text such as `12.60 EUR`."""
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1e300 else None
    found = _NUMBER.findall(value[:60]) if isinstance(value, str) else []
    return float(found[0].replace(",", "")) if len(found) == 1 and len(found[0]) < 30 else None


def _is_rounded(exact: float, rounded: float) -> bool:
    """Whether one number is the other one with fewer decimals, up or down, and not only nothing of it."""
    for digits in range(_DIGITS):
        if math.isclose(round(rounded, digits), rounded, rel_tol=1e-12, abs_tol=1e-12):
            return abs(exact - rounded) < 1.0 / 10**digits and (rounded != 0 or abs(exact) < 0.5 / 10**digits)
    return False


def says_something(value: Any) -> bool:
    """Whether the result is more than nothing at all."""
    return value not in _NOTHING and value != 0


def are_telling(values: Sequence[Any]) -> bool:
    """Whether results vary enough that two scripts do not agree on all of them by chance."""
    shown = {repr(value) for value in values}
    if all(isinstance(value, bool) for value in values):
        return len(shown) == 2 and min(values.count(True), values.count(False)) >= 3
    return len(shown) >= 4 and len(values) >= 6
