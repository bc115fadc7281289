"""Reads the conditions of a script: what must hold for something to be done, and whether the larger one is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .fingerprint_expressions import is_literal, only, only_jumps, sides
from .fingerprint_names import Names, bare, operator
from .fingerprint_nodes import Node
from .fingerprint_roles import Roles, compared

ORDER = {"op:<": "<", "op:<=": "<", "op:>": ">", "op:>=": ">", "op:==": "==", "op:!=": "!="}
_FLIPPED = {"<": ">", ">": "<", "==": "==", "!=": "!="}
_NEGATED = {"<": ">", ">": "<", "==": "!=", "!=": "=="}
_EXACT = {
    (f"op:{way}", wanted): way if wanted else other
    for one, two in (("<", ">="), (">", "<="))
    for way, other in ((one, two), (two, one))
    for wanted in (True, False)
}
_INEQUALITIES = frozenset(kind for kind, _ in _EXACT)


class Conditions:
    def __init__(self, names: Names, roles: Roles, add: Callable[[str], None]) -> None:
        self._names = names
        self._roles = roles
        self._add = add

    def choice(self, node: Node) -> bool:
        """`if (a > b) b = a`, or `a > b ? a : b`: the larger one is kept, perhaps of those for which more holds."""
        condition = node.at.get("condition")
        parts = _parts(condition, True, lambda _: None) if condition is not None else ()
        return any(self._kept(node, part) for part, holds in parts if holds and part.type == "binary_expression")

    def loop(self, body: Node | None) -> None:
        """The conditions in a loop under which something is done, or left out."""
        for kid in body.kids if body is not None else ():
            if kid.type == "if_statement" and kid.at.get("alternative") is None:
                condition = kid.at.get("condition")
                if condition is not None and not only_jumps(kid, "return_statement", "break_statement"):
                    self.condition(condition, not only_jumps(kid, "continue_statement"), kid)
                self._answered(kid)

    def _answered(self, choice: Node) -> None:
        """`if (…) return true` in a loop is `some`, and `if (…) return false` is `every`."""
        step = only(choice.at.get("consequence"))
        answer = step.kids[0].type if step is not None and step.type == "return_statement" and step.kids else ""
        if answer in ("true", "false"):
            self._add("holds some" if answer == "true" else "holds every")

    def condition(self, node: Node, holds: bool, choice: Node | None = None) -> None:
        for part, wanted in _parts(node, holds, self._add):
            if part.type == "binary_expression":
                if choice is not None and self._kept(choice, part):
                    # Which of two equals is kept makes no other script.
                    continue
                self._comparison(part, wanted)
                if operator(part) in _INEQUALITIES:
                    self._roles.limit(_EXACT[operator(part), wanted], sides(part))
            elif part.type == "member_expression":
                self._roles.condition(part)
                self._add(f"if {self._names.key(part)} {'yes' if wanted else 'no'}")
            elif part.type == "call_expression":
                self._add(f"if {self._asked(part)} {'yes' if wanted else 'no'}")

    def _kept(self, node: Node, condition: Node) -> bool:
        way = ORDER.get(operator(condition))
        if way not in ("<", ">"):
            return False
        left, right = (self._root(side) for side in sides(condition))
        then = node.at.get("consequence")
        if node.type == "ternary_expression":
            kept = "" if then is None else self._root(then)
            other = self._root(node.at.get("alternative") or node)
            if not left or {kept, other} != {left, right}:
                return False
        else:
            assigned = only(then)
            if assigned is None or assigned.type != "assignment_expression":
                return False
            target, value = assigned.at.get("left"), assigned.at.get("right")
            if target is None or value is None:
                return False
            kept = left if self._root(target) == right else right if self._root(target) == left else ""
        if kept and left != right:
            for side in sides(condition):
                self._roles.all_in("order", side)
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

    def _asked(self, call: Node) -> str:
        """The method that is called, or `call` for a function of the script."""
        callee = bare(call.at.get("function") or call)
        return f".{self._names.key(callee)}" if callee.type == "member_expression" else "call"

    def _comparison(self, node: Node, wanted: bool) -> None:
        way = ORDER.get(operator(node))
        left, right = sides(node)
        if way is None:
            return
        for side in compared(node):
            self._roles.condition(side)
        if is_literal(self._names.value(left)) or (self._compares(left) is None and self._compares(right) is not None):
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
        for side in sides(node):
            yield from _parts(side, holds, add, depth + 1)
    else:
        yield node, holds
