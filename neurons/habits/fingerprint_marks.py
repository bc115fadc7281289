"""Reads the marks of a script: what tells it from a script that does nearly the same.

A mark is a group and what the script has of it, such as `sort desc` or `extreme max`. Two scripts of which each has a
mark of a group that the other lacks do not do the same: see `similarity.differ`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from .fingerprint_names import LITERALS, Names, bare, is_negative, operator
from .fingerprint_nodes import FUNCTIONS, REFERENCES, Local, Node
from .fingerprint_roles import Roles, compared

MAX_MARKS = 48
MAX_MARK_CHARS = 100
MAX_WALK = 200
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
_FLIPPED = {"<": ">", ">": "<", "==": "==", "!=": "!="}
_NEGATED = {"<": ">", ">": "<", "==": "!=", "!=": "=="}
_ORDER = {"op:<": "<", "op:<=": "<", "op:>": ">", "op:>=": ">", "op:==": "==", "op:!=": "!="}
_EXACT = {
    (f"op:{way}", wanted): way if wanted else other
    for one, two in (("<", ">="), (">", "<="))
    for way, other in ((one, two), (two, one))
    for wanted in (True, False)
}
_SPLITS = {
    f"{quote}{text}{quote}": f"split {kind}"
    for quote in "'\""
    for text, kind in (("", "letters"), (" ", "words"), ("\\n", "lines"))
} | {"/\\s+/": "split words", "/\\r?\\n/": "split lines"}
# All that is in a list, or a list of its own.
_PUT = {"spread_element": "puts all", "array": "puts list"}
_SORTS = frozenset({"sort", "toSorted"})
_INEQUALITIES = frozenset(kind for kind, _ in _EXACT)
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
        self._picked_names: dict[Local | None, bool] = {}
        self._picked: dict[Node, bool] = {}
        """Sorted lists of which one end is used, and whether it is the last one."""
        # The function and not a method, which would keep all of this alive until the garbage collector comes.
        self._add = adder(self._found)
        self.roles = Roles(names, self._add)

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
        if name in ("sort", "toSorted"):
            # A `reverse` of the sorted list is met first, and turns this one.
            self._sorted(node, given)
        elif name in ("reverse", "toReversed"):
            owner = self._names.value(bare(node.at.get("function") or node).at.get("object") or node)
            inner = bare(owner.at.get("function") or owner)
            if owner.type == "call_expression" and self._names.key(inner) in ("sort", "toSorted"):
                self._reversed = owner
        elif name == "map" and given:
            for result in _results(self._names.value(given[0])):
                self.roles.given(result)
        elif name in _FILTERS and given:
            function = self._names.value(given[0])
            for result in _results(function):
                self._condition(result, True)
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

    _reversed: Node | None = None

    def picked(self, items: Node, *, last: bool) -> None:
        """`list.sort(…)[0]`: the sorted list is met later, and only its smallest or largest item is used."""
        items = bare(items)
        if items.type in REFERENCES:
            # Perhaps sorted in place.
            local = items.local
            if local is not None:
                self._picked_names[local] = last
        value = self._names.value(items)
        if value.type == "call_expression" and self._names.key(bare(value.at.get("function") or value)) in _SORTS:
            self._picked[value] = last

    def is_picked(self, call: Node, name: str) -> bool:
        if name in _SORTS and call not in self._picked:
            owner = bare(bare(call.at.get("function") or call).at.get("object") or call)
            local = owner.local if owner.type in REFERENCES else None
            if local in self._picked_names:
                self._picked[call] = self._picked_names[local]
        return call in self._picked

    def _sorted(self, node: Node, given: Sequence[Node]) -> None:
        turned = self._reversed is node
        up, down = "sort asc", "sort desc"
        if node in self._picked:
            up, down = ("extreme max", "extreme min") if self._picked[node] else ("extreme min", "extreme max")
        if not given:
            self._add(down if turned else up)
            return
        function = self._names.value(given[0])
        first, second = _two(self._names, function)
        if not first:
            return
        for result in _results(function):
            self.roles.all_in("order", result)
            for way in self._ways(result, first, second):
                self._add(up if way is not turned else down)

    def _ways(self, node: Node, first: set[str], second: set[str]) -> Iterator[bool]:
        """For each key of a comparison, whether it sorts upwards."""
        node = bare(node)
        match node.type:
            case "binary_expression":
                left, right = _sides(node)
                if operator(node) == "op:??":
                    yield from self._ways(left, first, second)
                    yield from self._ways(right, first, second)
                elif operator(node) == "op:-":
                    yield from self._first(left, first, second)
            case "ternary_expression":
                yield from self._chosen(node, first, second)
            case "call_expression":
                callee, given = bare(node.at.get("function") or node), node.at.get("arguments")
                owner = callee.at.get("object") if self._names.key(callee) == "localeCompare" else None
                of = owner or (given.kids[0] if given is not None and given.kids else None)
                yield from self._first(of, first, second) if of is not None else ()
            case "unary_expression":
                argument = node.at.get("argument") if operator(node) == "op:-" else None
                inner = self._ways(argument, first, second) if argument is not None else ()
                yield from (not upwards for upwards in inner)

    def _chosen(self, node: Node, first: set[str], second: set[str]) -> Iterator[bool]:
        """`a < b ? -1 : 1`, or a choice between two comparisons."""
        condition, then = bare(node.at.get("condition") or node), node.at.get("consequence")
        way = _ORDER.get(operator(condition)) if condition.type == "binary_expression" else None
        if way in ("<", ">") and then is not None and bare(then).type in ("number", "unary_expression"):
            negative = bare(then).type == "unary_expression"
            for upwards in self._first(_sides(condition)[0], first, second):
                yield upwards is ((way == "<") is negative)
            return
        for kid in node.kids[1:]:
            yield from self._ways(kid, first, second)

    def _first(self, node: Node, first: set[str], second: set[str]) -> Iterator[bool]:
        """Whether the expression is about the first of two names, or the second one; nothing if neither."""
        for inner in _inside(node):
            if inner.type in ("identifier", "shorthand_property_identifier"):
                text = self._names.text(inner)
                if text in first or text in second:
                    yield text in first
                    return

    def global_called(self, name: str, given: Sequence[Node]) -> None:
        if name == "Date.UTC":
            self.roles.monthday(given)
        mark = _GLOBALS.get(name)
        if mark is not None:
            self._add(mark)
        elif name in ("Math.max", "Math.min") and not any(bare(one).type in LITERALS for one in given):
            self._add("extreme max" if name == "Math.max" else "extreme min")

    def choice(self, node: Node) -> bool:
        """`if (a > b) b = a`, or `a > b ? a : b`: the larger one is kept, perhaps of those for which more holds."""
        condition = node.at.get("condition")
        parts = _parts(condition, True, lambda _: None) if condition is not None else ()
        return any(self._kept(node, part) for part, holds in parts if holds and part.type == "binary_expression")

    def _kept(self, node: Node, condition: Node) -> bool:
        way = _ORDER.get(operator(condition))
        if way not in ("<", ">"):
            return False
        left, right = (self._root(side) for side in _sides(condition))
        then = node.at.get("consequence")
        if node.type == "ternary_expression":
            kept = "" if then is None else self._root(then)
            other = self._root(node.at.get("alternative") or node)
            if not left or {kept, other} != {left, right}:
                return False
        else:
            assigned = _only(then)
            if assigned is None or assigned.type != "assignment_expression":
                return False
            target, value = assigned.at.get("left"), assigned.at.get("right")
            if target is None or value is None:
                return False
            kept = left if self._root(target) == right else right if self._root(target) == left else ""
        if kept and left != right:
            for side in _sides(condition):
                self.roles.all_in("order", side)
            self._add("extreme max" if (way == ">") is (kept == left) else "extreme min")
            return True
        return False

    def _root(self, node: Node) -> str:
        node = bare(node)
        while node.type in ("member_expression", "subscript_expression"):
            owner = node.at.get("object")
            if owner is None:
                return ""
            node = bare(owner)
        return self._names.text(node) if node.type == "identifier" else ""

    def loop(self, body: Node | None) -> None:
        """The conditions in a loop under which something is done, or left out."""
        for kid in body.kids if body is not None else ():
            if kid.type == "if_statement" and kid.at.get("alternative") is None:
                condition = kid.at.get("condition")
                if condition is not None and not only_jumps(kid, "return_statement", "break_statement"):
                    self._condition(condition, not only_jumps(kid, "continue_statement"), kid)
                self._answered(kid)

    def _answered(self, choice: Node) -> None:
        """`if (…) return true` in a loop is `some`, and `if (…) return false` is `every`."""
        step = _only(choice.at.get("consequence"))
        answer = step.kids[0].type if step is not None and step.type == "return_statement" and step.kids else ""
        if answer in ("true", "false"):
            self._add("holds some" if answer == "true" else "holds every")

    def _condition(self, node: Node, holds: bool, choice: Node | None = None) -> None:
        for part, wanted in _parts(node, holds, self._add):
            if part.type == "binary_expression":
                if choice is not None and self._kept(choice, part):
                    # Which of two equals is kept makes no other script.
                    continue
                self._comparison(part, wanted)
                if operator(part) in _INEQUALITIES:
                    self.roles.limit(_EXACT[operator(part), wanted], _sides(part))
            elif part.type == "member_expression":
                self.roles.condition(part)
                self._add(f"if {self._names.key(part)} {'yes' if wanted else 'no'}")
            elif part.type == "call_expression":
                self._add(f"if {self._asked(part)} {'yes' if wanted else 'no'}")

    def _asked(self, call: Node) -> str:
        """The method that is called, or `call` for a function of the script."""
        callee = bare(call.at.get("function") or call)
        return f".{self._names.key(callee)}" if callee.type == "member_expression" else "call"

    def _comparison(self, node: Node, wanted: bool) -> None:
        way = _ORDER.get(operator(node))
        left, right = _sides(node)
        if way is None:
            return
        for side in compared(node):
            self.roles.condition(side)
        if _is_literal(self._names.value(left)) or (self._compares(left) is None and self._compares(right) is not None):
            left, way = right, _FLIPPED[way]
        what = self._compares(left) or ("it" if bare(left).type == "identifier" else None)
        if what is not None:
            self._add(f"if {what} {way if wanted else _NEGATED[way]}")

    def _compares(self, node: Node) -> str | None:
        """What is compared, if it has a name that is not the author's."""
        value = self._names.value(node)
        if value.type == "binary_expression":
            return operator(value)
        if value.type == "call_expression":
            return self._asked(value)
        return self._names.key(value) if value.type == "member_expression" else None

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
            is_fold = is_fold and self._names.text(_sides(right)[0]) == self._names.text(left)  # type: ignore[arg-type]
            way = _FOLDS.get(operator(right)) if is_fold and bare(_sides(right)[1]).type not in LITERALS else None
        if way is not None:
            self._add(f"fold {way}")
            self.roles.all_in("sum", right)

    def _folded(self, function: Node) -> None:
        first, _ = _two(self._names, function)
        for returned in _results(function):
            result = bare(returned)
            if result.type == "binary_expression" and not self._names.is_text(result):
                left = bare(_sides(result)[0])
                right = bare(_sides(result)[1])
                way = _FOLDS.get(operator(result))
                sides = {self._names.text(left), self._names.text(right)}
                if way is not None and sides & first and right.type not in LITERALS:
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


def only_jumps(node: Node, *kinds: str) -> bool:
    """Whether the statement is just `if (…) throw …`, or another jump of these kinds."""
    if node.at.get("alternative") is not None:
        return False
    step = _only(node.at.get("consequence"))
    return step is not None and step.type in kinds


def _only(then: Node | None) -> Node | None:
    """The only statement of a block, or the expression in it."""
    if then is None:
        return None
    steps = then.kids if then.type == "statement_block" else [then]
    if len(steps) != 1:
        return None
    return steps[0].kids[0] if steps[0].type == "expression_statement" and steps[0].kids else steps[0]


def _sides(node: Node) -> tuple[Node, Node]:
    sides = [kid for kid in node.kids if kid.field != "operator"]
    return (sides[0], sides[-1]) if sides else (node, node)


def _is_literal(node: Node) -> bool:
    return node.type in LITERALS or node.type == "null" or (node.type == "unary_expression" and is_negative(node))


def _parts(node: Node, holds: bool, add: Callable[[str], None], depth: int = 0) -> Iterator[tuple[Node, bool]]:
    """The parts of a condition, each with whether it must hold; and a mark for whether all must, or one of them."""
    node = bare(node)
    if depth < 20 and node.type == "unary_expression" and operator(node) == "op:!":
        argument = node.at.get("argument")
        if argument is not None:
            yield from _parts(argument, not holds, add, depth + 1)
    elif depth < 20 and node.type == "binary_expression" and operator(node) in ("op:&&", "op:??"):
        found = node.at.get("operator")
        is_all = found is not None and found.type == "&&"
        add("logic all" if is_all is holds else "logic one")
        for side in _sides(node):
            yield from _parts(side, holds, add, depth + 1)
    else:
        yield node, holds


def _results(function: Node) -> Iterator[Node]:
    """What a function returns, in whichever branch."""
    if function.type not in FUNCTIONS:
        return
    body = function.at.get("body")
    if body is None:
        return
    if body.type != "statement_block":
        yield body
        return
    for node in _inside(body):
        if node.type == "return_statement" and node.kids:
            yield node.kids[0]


def _inside(node: Node) -> Iterator[Node]:
    stack = [node]
    for _ in range(MAX_WALK):
        if not stack:
            return
        one = stack.pop()
        yield one
        stack.extend(reversed(one.kids))


def _two(names: Names, function: Node) -> tuple[set[str], set[str]]:
    """The names in the first and in the second parameter."""
    found = function.at.get("parameters")
    if function.type not in FUNCTIONS or found is None or len(found.kids) < 2:
        return set(), set()
    first, second = (
        {names.text(node) for node in _inside(kid) if node.type.startswith(("identifier", "shorthand_"))}
        for kid in found.kids[:2]
    )
    return first, second


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
