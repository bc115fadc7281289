"""Says whether two wordings are one script but for one thing, and that thing decides what is done. Pure.

Who writes a script again writes much of it in another way. Where nearly every token is the same and one is not, that
one is meant: `<` in place of `>`, another member, another order of arguments. Values such as a city, an id or a limit
are parameters, and make no other script.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .fingerprint_vocabulary import MEMBERS
from .moved_steps import ChangedPlace, are_texts_swapped, has_other_steps, is_done_otherwise
from .token_line import CHOICES, DATA, GLOBAL, KEY, MEMBER, NAME, NUMBER, PARAMETER, REGEX, SIGN, TEXT, WORD

MAX_DIFFERENT = 24
"""Tokens that are gone or have come, in all: with more, the scripts are not written alike."""
MAX_PLACES = 4
MAX_SMALL = 14
_PLAIN = frozenset({"o(", "o)", "o,"})
_VALUE_KINDS = frozenset({NUMBER, TEXT, REGEX, DATA, PARAMETER, NAME})
_DECIDING = frozenset(
    {"<", ">", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "**", "+=", "-=", "*=", "/="}
)
_EQUALS = (
    frozenset({"substring", "slice", "substr"}),
    frozenset({"replace", "replaceAll"}),
    frozenset({"forEach", "map"}),
    frozenset({"sort", "toSorted"}),
    frozenset({"reverse", "toReversed"}),
    frozenset({"test", "match", "exec", "matchAll"}),
    frozenset({"toString", "toLocaleString", "toFixed"}),
    frozenset({"toLowerCase", "toLocaleLowerCase"}),
    frozenset({"toUpperCase", "toLocaleUpperCase"}),
    frozenset({"from", "of"}),
    frozenset({"length", "size"}),
    frozenset({"Number", "parseFloat", "parseInt"}),
)
_ARITHMETIC = frozenset({"o+", "o-", "o*", "o/", "o%", "o**"})
_CHOICES = frozenset({"o&&", "o||", "o??", "o?", "o:"})
_STATEMENTS = frozenset({"o=", "o=>", "o{", "o}"})
_STATEMENT_WORDS = frozenset({"return", "if", "else", "for", "of", "while", "function", "throw", "try", "catch"})
# Wrapped around a value or called on it, these change how it is written, and not what it is.
_HARMLESS_TEXT = """
    trim toString toFixed filter String Number Boolean Math round parseFloat Array from structuredClone flat values json
    sort toSorted join slice then catch Object freeze
"""
_HARMLESS = frozenset(_HARMLESS_TEXT.split())
_OUTSIDE = frozenset({GLOBAL + "tools", GLOBAL + "fetch"})
_PIECES = frozenset({"slice", "substring", "substr", "splice", "at"})
# Numbers to count in other units with.
_UNITS_TEXT = "7 12 24 30 52 60 365 1000 1024 1440 3600 10000 60000 86400 1000000 1048576 3600000 86400000 604800000"
_UNITS = frozenset(_UNITS_TEXT.split())


@lru_cache(maxsize=512)
def differ_in_one(a: str, b: str) -> bool:
    """Whether the lines differ in so little that it is meant, and in something that decides."""
    if a == b or not a or not b:
        return False
    mine, others = tuple(a.split(" ")), tuple(b.split(" "))
    return _is_meant(mine, others) and _is_meant(others, mine)


def _is_meant(mine: tuple[str, ...], others: tuple[str, ...]) -> bool:
    runs = _aligned([_kind(one) for one in mine], [_kind(one) for one in others])
    if runs is None:
        return False
    found = list(_places(mine, others, runs))
    if 0 < len(found) <= MAX_PLACES and is_done_otherwise(found, mine, _callee(mine, found[0].at)):
        return True
    places = _without_moved(found)
    if len(places) > MAX_PLACES:
        return False
    if any(_is_exchanged(place, mine) for place in places) or (
        len(places) == 1 and _reads_other(places[0], mine, others)
    ):
        return True
    if sum(place.size for place in places) > MAX_SMALL:
        return False
    is_rewritten = any(_is_statement(one) for place in places for one in (*place.gone, *place.come))
    equal = [(start + step, other + step) for start, other, length in runs for step in range(length)]
    return (_OUTSIDE.isdisjoint(mine) and has_other_steps(places)) or (
        not is_rewritten
        and (
            any(_is_added(place, mine) for place in places)
            or any(_is_other_value(mine, i, others[j]) for i, j in equal if mine[i] != others[j])
            or are_texts_swapped((mine[i], others[j]) for i, j in equal)
            or (len(equal) == len(mine) == len(others) and _are_swapped(mine, others, equal))
        )
    )


def _kind(token: str) -> str:
    """What must be equal for two tokens to stand for the same: names and values may be others."""
    kind = token[0]
    return TEXT if kind == DATA else kind if kind in _VALUE_KINDS else token


def _aligned(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int, int]] | None:
    """The runs of equal tokens, each with where it starts and how long it is; None when too many differ. The shortest
    way from one to the other (Myers), in a number of steps that is bounded by the difference."""
    if abs(len(a) - len(b)) > MAX_DIFFERENT or (Counter(a) - Counter(b)).total() > MAX_DIFFERENT:
        return None
    ends: dict[int, tuple[int, _Run | None]] = {1: (0, None)}
    for cost in range(MAX_DIFFERENT + 1):
        for way in range(-cost, cost + 1, 2):
            is_down = way == -cost or (way != cost and ends[way - 1][0] < ends[way + 1][0])
            at, runs = ends[way + 1] if is_down else (ends[way - 1][0] + 1, ends[way - 1][1])
            start = at
            while at < len(a) and at - way < len(b) and a[at] == b[at - way]:
                at += 1
            if at > start:
                runs = _Run(start, start - way, at - start, runs)
            ends[way] = at, runs
            if at >= len(a) and at - way >= len(b):
                return list(_in_order(runs))
    return None


@dataclass(frozen=True, slots=True)
class _Run:
    start: int
    other: int
    length: int
    before: _Run | None


def _in_order(run: _Run | None) -> Iterable[tuple[int, int, int]]:
    found = []
    while run is not None:
        found.append((run.start, run.other, run.length))
        run = run.before
    return reversed(found)


def _places(a: tuple[str, ...], b: tuple[str, ...], runs: Iterable[tuple[int, int, int]]) -> Iterator[ChangedPlace]:
    x = y = 0
    for start, other, length in (*runs, (len(a), len(b), 0)):
        if start > x or other > y:
            yield ChangedPlace(x, a[x:start], b[y:other])
        x, y = start + length, other + length


def _without_moved(places: Iterable[ChangedPlace]) -> list[ChangedPlace]:
    """Without what has only moved, such as `60 *` and `* 60`, and without brackets."""
    found = [place for place in places if not {*place.gone, *place.come} <= _PLAIN]
    gone = [_counted(place.gone) for place in found if not place.come]
    come = [_counted(place.come) for place in found if not place.gone]
    return [
        place
        for place in found
        if (place.gone and place.come) or _counted(place.gone or place.come) not in (come if place.gone else gone)
    ]


def _counted(tokens: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(one for one in tokens if one not in _PLAIN))


def _is_statement(token: str) -> bool:
    return token in _STATEMENTS or (token[0] == WORD and token[1:] in _STATEMENT_WORDS)


def _is_exchanged(place: ChangedPlace, line: Sequence[str]) -> bool:
    """Whether one thing stands in the place of another one: an operator, a member, a function."""
    gone, come = ([one for one in some if one not in _PLAIN] for some in (place.gone, place.come))
    if not gone or not come or place.size > 6 or any(_is_statement(one) for one in (*gone, *come)):
        return False
    if {gone[0], come[0]} in ({"wtrue", "wfalse"}, {"wbreak", "wcontinue"}):
        return True
    kinds = {gone[0][0], come[0][0]}
    is_single = len(gone) == len(come) == 1
    if is_single and kinds == {KEY}:
        return _is_given_to_a_tool(line, place.at)
    if is_single and kinds == {SIGN}:
        return _DECIDING.issuperset((gone[0][1:], come[0][1:]))
    # `sum += x` and `sum += 1`.
    is_step = line[place.at - 1 : place.at] in (("o+=",), ("o-=",)) and ["#1"] in (gone, come)
    is_called = kinds <= {MEMBER, GLOBAL} if is_single else kinds == {MEMBER}
    is_choice = any(one in _CHOICES for one in (*gone, *come))
    return not is_choice and (is_step or (is_called and not _mean_the_same(gone[0][1:], come[0][1:])))


def _is_given_to_a_tool(line: Sequence[str], at: int) -> bool:
    depth = 0
    for position in range(min(at, len(line)) - 1, 0, -1):
        if line[position] in ("o)", "o]", "o}"):
            depth += 1
        elif line[position] in ("o(", "o[", "o{"):
            if depth == 0 and line[position] == "o(":
                return "gtools" in line[max(0, position - 3) : position]
            depth = max(0, depth - 1)
    return False


def _reads_other(place: ChangedPlace, mine: Sequence[str], others: Sequence[str]) -> bool:
    """Whether one wording reads a member of the data that the other one does not know, in place of something else."""
    if not place.gone or not place.come or any(_is_statement(one) and one != "o=>" for one in place.gone + place.come):
        return False
    new = {one for one in place.gone if one not in others} | {one for one in place.come if one not in mine}
    return any(one[0] == MEMBER and one[1:] not in MEMBERS for one in new)


def _mean_the_same(one: str, other: str) -> bool:
    return one == other or any(one in names and other in names for names in _EQUALS)


def _is_added(place: ChangedPlace, line: Sequence[str]) -> bool:
    """Whether something is there in one of the lines only, and changes the value that it is done to."""
    if place.gone and place.come:
        return False
    tokens = [one for one in (*place.gone, *place.come) if one not in _PLAIN]
    kinds = {one[0] for one in tokens}
    if any(one in _CHOICES for one in tokens) or KEY in kinds:
        # One more condition, a default, one more field.
        return False
    if tokens == ["o!"]:
        return True
    if any(one in _ARITHMETIC for one in tokens):
        return TEXT not in kinds
    called = [one[1:] for one in tokens if one[0] in (MEMBER, GLOBAL)]
    if called:
        return not _HARMLESS.issuperset(called)
    return kinds == {NUMBER} and _callee(line, place.at) in _PIECES


def _callee(line: Sequence[str], at: int) -> str:
    """The name of the function whose arguments stand here."""
    depth = 0
    for position in range(min(at, len(line)) - 1, 0, -1):
        if line[position] in ("o)", "o]", "o}"):
            depth += 1
        elif line[position] in ("o(", "o[", "o{"):
            if depth == 0:
                return line[position - 1][1:] if line[position] == "o(" else ""
            depth -= 1
    return ""


def _is_other_value(line: Sequence[str], at: int, other: str) -> bool:
    """Whether another value at this place does something else: another index, unit, pattern or state."""
    mine = line[at]
    before, after = line[at - 1] if at else "", line[at + 1] if at + 1 < len(line) else ""
    match mine[0]:
        case "#":
            return other[0] == NUMBER and _is_other_number(line, at, other)
        case '"':
            is_state = mine[1:2] == other[1:2] == "=" and before in ("o==", "o!=", "o(") and not _is_given(line, at)
            is_choice = line[at - 2].lower() in CHOICES and before == "o:"
            # `"aeiou".includes(letter)`: a set of letters.
            return is_state or is_choice or (other[0] == TEXT and after in (".includes", ".indexOf"))
        case "d":
            # A flag in what is given to a tool.
            return other[0] == DATA and before == "o(" and len(mine) == len(other) and line[at - 2 : at - 1] != ("",)
        case _:
            return False


def _is_given(line: Sequence[str], at: int) -> bool:
    """Whether it is given to a request, a tool, or nothing."""
    return _callee(line, at) in ("fetch", "") or "gtools" in line[max(0, at - 8) : at]


def _is_other_number(line: Sequence[str], at: int, other: str) -> bool:
    before, after = line[at - 1] if at else "", line[at + 1] if at + 1 < len(line) else ""
    if before == "o[" and after == "o]":
        return True
    if before in ("o==", "o!="):
        return "o%" in line[max(0, at - 4) : at]
    if before in ("o*", "o/") or after == "o*":
        return line[at][1:] in _UNITS and other[1:] in _UNITS
    return before == "o**"


def _are_swapped(a: Sequence[str], b: Sequence[str], equal: Sequence[tuple[int, int]]) -> bool:
    """Whether a name stands where another one should: every name of one line stands for one name of the other."""
    pairs = [(i, a[i], b[j]) for i, j in equal if a[i][0] == b[j][0] == NAME and not _is_declared(a, i)]
    counts = Counter((mine, other) for _, mine, other in pairs)
    for i, j in equal:
        if a[i][0] == b[j][0] == NAME:
            counts[a[i], b[j]] += _is_declared(a, i)
    names: dict[str, str] = {}
    taken: set[str] = set()
    for mine, other in sorted(counts, key=lambda pair: (-counts[pair], pair[0] != pair[1], pair)):
        if mine not in names and other not in taken:
            names[mine] = other
            taken.add(other)
    return any(names.get(mine) != other for _, mine, other in pairs)


def _is_declared(line: Sequence[str], at: int) -> bool:
    """Whether a plain value is given to the name here: the order of such lines is of no importance."""
    return (
        line[at + 1 : at + 2] == ("o=",) and line[at + 2][:1] in (NUMBER, TEXT, DATA) if at + 2 < len(line) else False
    )
