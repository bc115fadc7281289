"""Says whether two wordings of a script differ in what they do because a step stands at another place. Pure.

To call a tool after a loop and not in it, or to round a sum and not what is summed, takes the same tokens in another
order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from .fingerprint_vocabulary import MEMBERS
from .token_line import TEXT

_SAME = {"o**": "o*", "o+=": "o+", "o-=": "o-", "o*=": "o*", "o/=": "o/", "o%=": "o%"}
MAX_OTHER = 2
"""Places with other steps: in more, an author who writes alike may have chosen another formula."""
# What is done to a sum is not what is done to each part of it.
_OF_EACH = frozenset({".ceil", ".floor", ".round", ".trunc", ".max", ".min", ".abs", ".sqrt"})
_SUMMING = frozenset({".reduce", "o+="})
# Syntax, checks of what is given, and what only changes how a value is written.
_HARMLESS_TEXT = """
    o; o, o. o... o( o) o[ o] o{ o} o= o=> o: o? o?? o&& o|| o! wif welse wreturn wthrow wtry wcatch wtypeof wnew wnull
    wfunction gcontext gArray gObject gNumber gString gBoolean gMath gNaN gInfinity gisFinite gparseFloat gparseInt
    gundefined gstructuredClone .length .isArray .isFinite .trim .toString .toFixed .round .from .freeze .localeCompare
    .text .searchParams
"""
_HARMLESS = frozenset(_HARMLESS_TEXT.split())
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
    """Whether a block ends on the other side of a call, or something is added, rounded or chosen on the other
    side of a product or sum."""
    gone = [place.gone for place in places if not place.come]
    come = [place.come for place in places if not place.gone]
    if not gone or not come:
        return False
    between = frozenset(line[places[0].at : places[-1].at])
    is_end = {*gone, *come} == {("o}",)}
    is_of_each = any(_OF_EACH.intersection(one) for one in gone) and any(_OF_EACH.intersection(one) for one in come)
    is_term = any(_is_term(one) for one in gone) and any(_is_term(one) for one in come)
    return (
        (is_end and not between.isdisjoint(_CALLING))
        or (is_of_each and not between.isdisjoint(_SUMMING))
        or (is_term and not between.isdisjoint(("o*", "o/")) and any("o)" in one for one in (*gone, *come)))
    )


def _is_term(tokens: Sequence[str]) -> bool:
    """Whether it is `+ shipping`, which a bracket that has moved with it makes another part of a product."""
    return tokens[0] in ("o+", "o-") and all(one[0] in "n.#" or one in ("gcontext", "o)") for one in tokens[1:])


def _is_order_of_numbers(places: Sequence[ChangedPlace], callee: str) -> bool:
    """Whether one wording sorts numbers as numbers and the other one as texts: `sort((a, b) => a - b)`, `sort()`."""
    is_one_sided = not any(place.gone for place in places) or not any(place.come for place in places)
    is_by_number = any("o-" in (*place.gone, *place.come) for place in places)
    return callee in ("sort", "toSorted") and is_one_sided and is_by_number


def has_other_steps(places: Sequence[ChangedPlace]) -> bool:
    """Whether one wording computes with an operator or a method that the other one does not, or not as often: one more
    guard, a name for what is in between and steps that have only moved are none of that."""
    if len(places) > MAX_OTHER:
        # Other ways to write a formula, perhaps.
        return False
    if any(_is_field(place.gone) or _is_field(place.come) for place in places):
        return False
    gone, come = _all(place.gone for place in places), _all(place.come for place in places)
    return not _has_guard(gone) and not _has_guard(come) and _steps(places, gone) != _steps(places, come)


def _all(tokens: Iterable[Sequence[str]]) -> list[str]:
    return [one for some in tokens for one in some]


def _has_guard(tokens: Collection[str]) -> bool:
    return "wif" in tokens and ("wreturn" in tokens or "wthrow" in tokens)


def _is_field(tokens: Sequence[str]) -> bool:
    """Whether it is one more field of an object: `, total` or `total: sum,`."""
    is_named = len(tokens) > 1 and tokens[0] == "o," and tokens[1][0] == "k"
    is_short = len(tokens) == 2 and tokens[0] == "o," and tokens[1][0] == "n"
    return is_named or is_short or (len(tokens) > 2 and tokens[0][0] == "k" and tokens[-1] == "o,")


def _steps(places: Iterable[ChangedPlace], tokens: Iterable[str]) -> Counter[str]:
    both = [(*place.gone, *place.come) for place in places]
    if any(one[:1] == ("o:",) or one[:3] == (".filter", "o(", "gBoolean") for one in both):
        # A type, or without what is empty.
        return Counter()
    # Pieces of a text: one author puts an address together, and another writes it in one.
    ignored = {*_HARMLESS, *(("o+",) if any(token[0] == TEXT for one in both for token in one) else ())}
    steps = (one for one in tokens if one[0] in "owg" or (one[0] == "." and one[1:] in MEMBERS))
    return Counter(_SAME.get(one, one) for one in steps if one not in ignored)


def are_texts_swapped(pairs: Iterable[tuple[str, str]]) -> bool:
    """Whether each of two texts stands where the other one stood: `ok ? "pass" : "fail"`, `ok ? "fail" : "pass"`."""
    texts = {(mine, other) for mine, other in pairs if mine != other and mine[0] == other[0] == TEXT}
    return any((other, mine) in texts for mine, other in texts)
