"""Reads the marks that say which member of data plays which role: by what it groups, sorts and filters, what it adds up
and what it returns. Two scripts that group by other members do not do the same, however alike they are built."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .fingerprint_names import LITERALS, Names, bare, is_negative, operator
from .fingerprint_nodes import REFERENCES, Node
from .fingerprint_vocabulary import MEMBERS

MAX_WALK = 60
_LISTS = frozenset({"map", "filter", "sort", "toSorted", "slice", "flatMap"})


class Roles:
    def __init__(self, names: Names, add: Callable[[str], None]) -> None:
        self._names = names
        self._add = add

    def key(self, node: Node) -> None:
        """What stands in the brackets, or is given to `Map.set`: it groups by that."""
        name = self._member(node)
        if name:
            self._add(f"by {name}")

    def condition(self, node: Node) -> None:
        name = self._member(node)
        if name:
            self._add(f"on {name}")

    def all_in(self, role: str, node: Node) -> None:
        """Every member in an expression plays the role: in a comparison to sort by, in what is added up."""
        stack = [node]
        for _ in range(MAX_WALK):
            if not stack:
                break
            one = stack.pop()
            name = self._member(one)
            if name:
                self._add(f"{role} {name}")
            else:
                stack.extend(one.kids)

    def shifted(self, name: str, given: Node) -> None:
        """`day.setDate(day.getDate() - 7)`: whether time goes on or back."""
        given = bare(given)
        if name.startswith("set") and given.type == "binary_expression" and operator(given) in ("op:+", "op:-"):
            is_back = operator(given) == "op:-" or any(is_negative(kid) for kid in given.kids if kid.kids)
            self._add("shift back" if is_back else "shift on")

    def monthday(self, given: Sequence[Node]) -> None:
        """`Date.UTC(year, month + 1, 0)`: the last day of a month, and not its first."""
        if len(given) == 3 and given[2].type == "number":
            self._add(f"monthday {'last' if self._names.text(given[2]) == '0' else 'plain'}")

    def limit(self, way: str, sides: Sequence[Node]) -> None:
        """Whether the limit itself is in, where it is not a literal: of two whole numbers `> 0` is `>= 1`."""
        if not any(_is_known(self._names.value(side)) for side in sides):
            self._add("limit in" if way.endswith("=") else "limit out")

    def axis(self, node: Node) -> None:
        """`rows[i][j]`: whether the loop of the first index is around the loop of the second one."""
        owner, second = bare(node.at.get("object") or node), node.at.get("index")
        first = owner.at.get("index") if owner.type == "subscript_expression" else None
        starts = [self._began(one) for one in (first, second) if one is not None]
        if len(starts) == 2 and starts[0] != starts[1] and None not in starts:
            self._add("axis row" if starts[0] < starts[1] else "axis column")  # type: ignore[operator]

    def _began(self, index: Node) -> int | None:
        """Where the variable is declared, if it is a counter."""
        local = bare(index).local if bare(index).type in REFERENCES else None
        is_counter = local is not None and local.value is None and local.first is not None
        return local.first.start if is_counter and local is not None and local.first is not None else None

    def bound(self, loop: Node) -> None:
        """Whether a loop takes its last value, where it does not just count from 0 or 1."""
        condition, start = loop.at.get("condition"), loop.at.get("initializer")
        if condition is None or start is None or condition.type != "binary_expression":
            return
        starts = [self._names.value(value) for kid in start.kids if (value := kid.at.get("value")) is not None]
        sides = [kid for kid in condition.kids if kid.field != "operator"]
        is_plain = all(kid.type in (*REFERENCES, "member_expression") for kid in sides)
        way = operator(condition)
        is_open = is_plain and not any(one.type == "number" for one in starts)
        if is_open and way in ("op:<", "op:<=") and self._names.key(sides[-1]) != "length":
            self._add(f"bound {way}")

    def returned(self, node: Node, *, in_list: bool = False) -> None:
        """Whether the script returns a list or how long it is, and the first or the last of a list."""
        value = self._names.value(node)
        if (
            in_list
            and value.type == "call_expression"
            and self._names.key(bare(value.at.get("function") or value)) in _LISTS
        ):
            return
        if value.type == "member_expression" and self._names.key(value) in ("length", "size"):
            self._add("returns count")
        elif value.type == "member_expression" and (value.at.get("object") or value).type == "subscript_expression":
            # A member of the item that is picked.
            self.returned(value.at.get("object") or value, in_list=True)
        elif value.type == "subscript_expression":
            index = value.at.get("index")
            if index is not None and index.type == "number" and self._names.text(index) == "0":
                self._add("picks first")
            elif index is not None and ".length" in self._names.text(index) and operator(index) == "op:-":
                self._add("picks last")
        elif value.type == "call_expression":
            name = self._names.key(bare(value.at.get("function") or value))
            if name in _LISTS:
                self._add("returns list")
            elif name in ("some", "every"):
                self._add(f"holds {name}")
            elif name in ("at", "pop"):
                self._add("picks last")

    def given(self, node: Node) -> None:
        """What is given for each item: a member of it, or the first or last piece."""
        name = self._member(bare(node))
        if name:
            self._add(f"gives {name}")
        else:
            self.returned(node, in_list=True)

    def moved(self, node: Node) -> None:
        """`letter.charCodeAt(0) + by`: whether characters go on or back."""
        left, right = node.at.get("left"), bare(node.at.get("right") or node)
        if left is not None and right.type in REFERENCES and right.type != "number":
            text = self._names.text(left)[-60:]
            if "harCode" in text or "odePoint" in text:
                self._add("shift back" if operator(node) == "op:-" else "shift on")

    def divided(self, node: Node) -> None:
        """`sum / list.length`: a mean. What is divided by something else is none of the two."""
        right = self._names.value(node.at.get("right") or node)
        is_mean = right.type == "member_expression" and self._names.key(right) in ("length", "size")
        if is_mean or right.type in REFERENCES:
            self._add("mean yes")

    def _member(self, node: Node) -> str:
        """The name of the data member that the expression stands for; empty for anything else."""
        if node.type not in ("member_expression", "subscript_expression", *REFERENCES):
            return ""
        value = self._names.value(node)
        key = self._names.key(value) if value.type == "member_expression" else None
        return key if key and key not in MEMBERS else ""


def _is_known(value: Node) -> bool:
    return value.type in (*LITERALS, "null", "undefined", "unary_expression")


def compared(node: Node) -> Iterator[Node]:
    """The two sides of a comparison."""
    return (kid for kid in node.kids if kid.field != "operator")
