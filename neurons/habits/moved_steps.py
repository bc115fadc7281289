"""Says whether a step that stands elsewhere in another wording does something else there. Pure.

To call a tool after a loop and not in it, or to round a sum and not what is summed, takes the same tokens in another
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_ROUNDING = frozenset({".ceil", ".floor", ".round", ".trunc"})
_SUMMING = frozenset({".reduce", "o+="})
_CALLING = frozenset({"gtools", "gfetch"})


@dataclass(frozen=True, slots=True)
class ChangedPlace:
    """Where two lines differ, with what is gone and what has come."""

    at: int
    gone: tuple[str, ...]
    come: tuple[str, ...]

    @property
    def size(self) -> int:
        return max(len(self.gone), len(self.come))


def is_done_otherwise(places: Sequence[ChangedPlace], line: Sequence[str], callee: str) -> bool:
    """The callee is the function whose arguments stand at the first place."""
    return _is_done_elsewhere(places, line) or _is_order_of_numbers(places, callee)


def _is_done_elsewhere(places: Sequence[ChangedPlace], line: Sequence[str]) -> bool:
    """Whether a block ends on the other side of a call, or a number is rounded on the other side of a sum."""
    gone = [place.gone for place in places if not place.come]
    come = [place.come for place in places if not place.gone]
    if not gone or not come:
        return False
    between = frozenset(line[places[0].at : places[-1].at])
    is_end = {*gone, *come} == {("o}",)}
    is_rounding = any(_ROUNDING.intersection(one) for one in gone) and any(_ROUNDING.intersection(one) for one in come)
    return (is_end and not between.isdisjoint(_CALLING)) or (is_rounding and not between.isdisjoint(_SUMMING))


def _is_order_of_numbers(places: Sequence[ChangedPlace], callee: str) -> bool:
    """Whether one wording sorts numbers as numbers and the other one as texts: `sort((a, b) => a - b)`, `sort()`."""
    is_one_sided = not any(place.gone for place in places) or not any(place.come for place in places)
    is_by_number = any("o-" in (*place.gone, *place.come) for place in places)
    return callee in ("sort", "toSorted") and is_one_sided and is_by_number
