"""Reads how a script sorts: up or down, by what, and which end of the sorted list it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .fingerprint_conditions import ORDER
from .fingerprint_expressions import first_two, inside, returned_by, sides
from .fingerprint_names import Names, bare, operator
from .fingerprint_nodes import REFERENCES, Local, Node
from .fingerprint_roles import Roles

SORTS = frozenset({"sort", "toSorted"})


class Sorting:
    def __init__(self, names: Names, roles: Roles, add: Callable[[str], None]) -> None:
        self._names = names
        self._roles = roles
        self._add = add
        self._turned: Node | None = None
        """The sorted list that is reversed."""
        self._picked_names: dict[Local | None, bool] = {}
        self._picked: dict[Node, bool] = {}
        """Sorted lists of which one end is used, and whether it is the last one."""

    def reversed(self, node: Node) -> None:
        """`list.sort(…).reverse()`: the reverse is met first, and turns the sorted list that is met later."""
        owner = self._names.value(bare(node.at.get("function") or node).at.get("object") or node)
        inner = bare(owner.at.get("function") or owner)
        if owner.type == "call_expression" and self._names.key(inner) in SORTS:
            self._turned = owner

    def picked(self, items: Node, *, last: bool) -> None:
        """`list.sort(…)[0]`: the sorted list is met later, and only its smallest or largest item is used."""
        items = bare(items)
        if items.type in REFERENCES:
            # Perhaps sorted in place.
            local = items.local
            if local is not None:
                self._picked_names[local] = last
        value = self._names.value(items)
        if value.type == "call_expression" and self._names.key(bare(value.at.get("function") or value)) in SORTS:
            self._picked[value] = last

    def is_picked(self, call: Node, name: str) -> bool:
        if name in SORTS and call not in self._picked:
            owner = bare(bare(call.at.get("function") or call).at.get("object") or call)
            local = owner.local if owner.type in REFERENCES else None
            if local in self._picked_names:
                self._picked[call] = self._picked_names[local]
        return call in self._picked

    def sorted(self, node: Node, given: Sequence[Node]) -> None:
        turned = self._turned is node
        up, down = "sort asc", "sort desc"
        if node in self._picked:
            up, down = ("extreme max", "extreme min") if self._picked[node] else ("extreme min", "extreme max")
        if not given:
            self._add(down if turned else up)
            return
        function = self._names.value(given[0])
        first, second = first_two(self._names, function)
        if not first:
            return
        for result in returned_by(function):
            self._roles.all_in("order", result)
            for way in self._ways(result, first, second):
                self._add(up if way is not turned else down)

    def _ways(self, node: Node, first: set[str], second: set[str]) -> Iterator[bool]:
        """For each key of a comparison, whether it sorts upwards."""
        node = bare(node)
        match node.type:
            case "binary_expression":
                left, right = sides(node)
                if operator(node) == "op:??":
                    yield from self._ways(left, first, second)
                    yield from self._ways(right, first, second)
                elif operator(node) == "op:-":
                    yield from self._about(left, first, second)
            case "ternary_expression":
                yield from self._chosen(node, first, second)
            case "call_expression":
                callee, given = bare(node.at.get("function") or node), node.at.get("arguments")
                owner = callee.at.get("object") if self._names.key(callee) == "localeCompare" else None
                of = owner or (given.kids[0] if given is not None and given.kids else None)
                yield from self._about(of, first, second) if of is not None else ()
            case "unary_expression":
                argument = node.at.get("argument") if operator(node) == "op:-" else None
                inner = self._ways(argument, first, second) if argument is not None else ()
                yield from (not upwards for upwards in inner)

    def _chosen(self, node: Node, first: set[str], second: set[str]) -> Iterator[bool]:
        """`a < b ? -1 : 1`, or a choice between two comparisons."""
        condition, then = bare(node.at.get("condition") or node), node.at.get("consequence")
        way = ORDER.get(operator(condition)) if condition.type == "binary_expression" else None
        if way in ("<", ">") and then is not None and bare(then).type in ("number", "unary_expression"):
            negative = bare(then).type == "unary_expression"
            for upwards in self._about(sides(condition)[0], first, second):
                yield upwards is ((way == "<") is negative)
            return
        for kid in node.kids[1:]:
            yield from self._ways(kid, first, second)

    def _about(self, node: Node, first: set[str], second: set[str]) -> Iterator[bool]:
        """Whether the expression is about the first of two names, or the second one; nothing if neither."""
        for inner in inside(node):
            if inner.type in ("identifier", "shorthand_property_identifier"):
                text = self._names.text(inner)
                if text in first or text in second:
                    yield text in first
                    return
