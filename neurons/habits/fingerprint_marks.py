"""Reads the marks of a script: what tells it from a script that does nearly the same.

A mark is a group and what the script has of it, such as `sort desc` or `extreme max`. Two scripts of which each has a
mark of a group that the other lacks do not do the same: see `sketch.differ`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .fingerprint_conditions import Conditions
from .fingerprint_expressions import first_two, returned_by, sides
from .fingerprint_limits import MAX_MARK_CHARS, MAX_MARKS
from .fingerprint_names import LITERALS, Names, bare, operator
from .fingerprint_nodes import Node
from .fingerprint_roles import Roles
from .fingerprint_sorting import SORTS, Sorting

MAX_HAS = 12
_CALLED = {
    "toUpperCase": "case upper",
    "toLocaleUpperCase": "case upper",
    "toLowerCase": "case lower",
    "toLocaleLowerCase": "case lower",
    "startsWith": "edge start",
    "endsWith": "edge end",
    "padStart": "pad start",
    "padEnd": "pad end",
    "trimStart": "trim start",
    "trimEnd": "trim end",
    "indexOf": "which first",
    "lastIndexOf": "which last",
    "findIndex": "which first",
    "findLastIndex": "which last",
    "find": "which first",
    "findLast": "which last",
    "pop": "takes last",
    "shift": "takes first",
    "toFixed": "round round",
    "json": "reads body",
    "text": "reads body",
    "headers": "reads headers",
    "union": "sets union",
    "intersection": "sets intersection",
    "difference": "sets difference",
}
_DATES = {
    f"{verb}{utc}{part}": f"date {part}"
    for verb in ("get", "set")
    for utc in ("", "UTC")
    for part in ("Date", "Day", "FullYear", "Hours", "Minutes", "Month")
}
_GLOBALS = {
    "Math.floor": "round floor",
    "Math.trunc": "round floor",
    "Math.ceil": "round ceil",
    "Math.round": "round round",
    "parseInt": "parse int",
    "Number.parseInt": "parse int",
    "parseFloat": "parse float",
    "Number.parseFloat": "parse float",
    "JSON.parse": "json parse",
    "JSON.stringify": "json stringify",
    "btoa": "base64 to",
    "atob": "base64 from",
    "encodeURIComponent": "uri to",
    "decodeURIComponent": "uri from",
}
_SPLITS = {
    f"{quote}{text}{quote}": f"split {kind}"
    for quote in "'\""
    for text, kind in (("", "letters"), (" ", "words"), ("\\n", "lines"))
} | {"/\\s+/": "split words", "/\\r?\\n/": "split lines"}
# All that is in a list, or a list of its own.
_PUT = {"spread_element": "puts all", "array": "puts list"}
_FOLDS = {"op:+": "+", "op:-": "-", "op:*": "*"}
_UNIT = "unit "
# Two quotes.
_EMPTY = 2
_ROLES = frozenset({"by", "on", "order", "sum", "gives"})
_FILTERS = frozenset({"filter", "find", "findIndex", "some", "every", "findLast"})


class Marks:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._found: dict[str, None] = {}
        self._has = 0
        # The function and not a method, which would keep all of this alive until the garbage collector comes.
        self._add = adder(self._found)
        self.roles = Roles(names, self._add)
        self.conditions = Conditions(names, self.roles, self._add)
        self.sorting = Sorting(names, self.roles, self._add)

    def found(self) -> list[str]:
        units = sorted(float(mark[len(_UNIT) :]) for mark in self._found if mark.startswith(_UNIT))
        for smaller in units[:-1]:
            # `ms / 1000 / 60 / 60` is met at each of its steps.
            del self._found[f"{_UNIT}{smaller:g}"]
        if "fold +" in self._found and "mean yes" not in self._found:
            self._add("mean no")
        return sorted(self._found)[:MAX_MARKS]

    def without(self, texts: set[str]) -> None:
        """Drop what is said of members that are parameters: `rates.EUR`, or a name that was put into an address."""
        for mark in [*self._found]:
            role, _, name = mark.partition(" ")
            if role in _ROLES and (name.lower() in texts or name.isupper()):
                del self._found[mark]

    def unit(self, name: str) -> None:
        self._add(f"{_UNIT}{name}")

    def has(self, name: str) -> None:
        """A member that is read at all: it tells whether two scripts work with the same data."""
        if self._has < MAX_HAS:
            self._has += 1
            self._add(f"has {name}")

    def power(self, exponent: str) -> None:
        self._add(f"power {exponent[:10]}")

    def member(self, name: str) -> None:
        self._add(f"member {name}")

    def called(self, name: str, node: Node, given: Sequence[Node]) -> None:
        mark = _CALLED.get(name) or _DATES.get(name)
        if mark is not None:
            self._add(mark)
        if given:
            self._given(name, given)
        if name in SORTS:
            self.sorting.sorted(node, given)
        elif name in ("reverse", "toReversed"):
            self.sorting.reversed(node)
        elif name == "map" and given:
            for result in returned_by(self._names.value(given[0])):
                self.roles.given(result)
        elif name in _FILTERS and given:
            function = self._names.value(given[0])
            for result in returned_by(function):
                self.conditions.condition(result, True)
        elif name in ("reduce", "reduceRight") and given:
            self._folded(self._names.value(given[0]))

    def _given(self, name: str, given: Sequence[Node]) -> None:
        if name in _DATES:
            self.roles.shifted(name, given[0])
        if name == "join" and given[0].type == "string":
            self._add("join tight" if given[0].end - given[0].start == _EMPTY else "join loose")
        if name == "set" and len(given) == 2:
            self.roles.key(given[0])
        if name == "push":
            self.roles.given(given[0])
            if given[0].type in _PUT:
                self._add(_PUT[given[0].type])
        if name == "split":
            mark = _SPLITS.get(self._names.text(self._names.value(given[0])))
            if mark is not None:
                self._add(mark)

    def global_called(self, name: str, given: Sequence[Node]) -> None:
        if name == "Date.UTC":
            self.roles.monthday(given)
        mark = _GLOBALS.get(name)
        if mark is not None:
            self._add(mark)
        elif name in ("Math.max", "Math.min") and not any(bare(one).type in LITERALS for one in given):
            self._add("extreme max" if name == "Math.max" else "extreme min")

    def assigned(self, node: Node) -> None:
        """`sum += x`, `product = product * x`: how things are put together."""
        right = node.at.get("right")
        if node.type == "update_expression" or (right is not None and self._names.text(right) == "1"):
            self._add("fold count")
            return
        if right is None or bare(right).type in (*LITERALS, "template_string") or self._names.is_text(right):
            return
        if node.type == "augmented_assignment_expression":
            way = _FOLDS.get(operator(node).removesuffix("="))
        else:
            right = bare(right)
            left = node.at.get("left")
            is_fold = right.type == "binary_expression" and left is not None
            is_fold = is_fold and self._names.text(sides(right)[0]) == self._names.text(left)  # type: ignore[arg-type]
            way = _FOLDS.get(operator(right)) if is_fold and bare(sides(right)[1]).type not in LITERALS else None
        if way is not None:
            self._add(f"fold {way}")
            self.roles.all_in("sum", right)

    def _folded(self, function: Node) -> None:
        first, _ = first_two(self._names, function)
        for returned in returned_by(function):
            result = bare(returned)
            if result.type == "binary_expression" and not self._names.is_text(result):
                left = bare(sides(result)[0])
                right = bare(sides(result)[1])
                way = _FOLDS.get(operator(result))
                both = {self._names.text(left), self._names.text(right)}
                if way is not None and both & first and right.type not in LITERALS:
                    self._add(f"fold {way}")
                    self.roles.all_in("sum", right)

    def regex(self, text: str) -> None:
        tokens = _tokens(text)
        if tokens:
            self._add(f"regex {' '.join(tokens)}")

    def arithmetic(self, constant: str, way: str) -> None:
        """`x / 1024`: a constant that is not among those found anywhere, and what is done with it."""
        self._add(f"#{constant} {way}")


def adder(found: dict[str, None]) -> Callable[[str], None]:
    """Adds marks, as long as there are not too many."""

    def add(mark: str) -> None:
        if len(found) < 2 * MAX_MARKS:
            found[mark[:MAX_MARK_CHARS]] = None

    return add


_RANGES = re.compile(r"(?:a-z|A-Z|0-9|a-f|A-F){2,4}_?|(?:a-z|A-Z)_?")
_TOKEN = re.compile(r"\\[pP]\{(\w{1,30})\}|\\(.)|([^()\[\]{}?*+|^,\s\w])|([A-Za-z_])", re.ASCII)
# Blanks, edges and quotes: authors treat them as they like.
_NO_TOKENS = frozenset({"s", "b", "B", "n", "r", "t", "'", '"', "$", "i"})
_AS = {"W": "\\w", "S": "\\w", "D": "\\d", "w": "\\w", "d": "\\d"}


def _tokens(text: str) -> list[str]:
    """The classes and characters of a regular expression, without how often and in which order. A class and its
    complement are the same: what one author takes, another one leaves out."""
    text = text[1:200].rpartition("/")[0]
    text = re.sub(r"\{\d*,?\d*\}", "", _RANGES.sub("\\\\w", text).replace("0-9", "\\d"))
    # Within a class it is the character itself.
    text = re.sub(r"\[[^\]]*\]", lambda found: found[0].replace("+", "\\+"), text)
    found = set()
    for name, escaped, sign, letter in _TOKEN.findall(text):
        token = name or _AS.get(escaped) or (f"\\{escaped}" if escaped.isalpha() else escaped) or sign or letter
        if token.removeprefix("\\") not in _NO_TOKENS:
            found.add(token)
    return sorted(found)[:20]
