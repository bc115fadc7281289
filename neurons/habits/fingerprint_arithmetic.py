"""Reads the arithmetic of a script: its operators, formulas, constants and units."""

from __future__ import annotations

from .fingerprint_counts import TraitCounts
from .fingerprint_marks import Marks
from .fingerprint_names import Names, bare, operator
from .fingerprint_nodes import NO_KIDS, Node
from .fingerprint_numbers import PLAIN_NUMBERS, number_of
from .fingerprint_vocabulary import OPERATORS

_FORMULAS = frozenset({"op:+", "op:-", "op:*", "op:/", "op:**"})
# Operators whose sides cannot be swapped.
_TURNING = frozenset({"op:-", "op:/", "op:**"})
_UNITS = frozenset({60_000, 3_600_000, 86_400_000, 604_800_000})
_NUMBERS = frozenset({"number", "parenthesized_expression"})
_OF_NUMBERS = frozenset({"binary_expression", "parenthesized_expression"})
_ARITHMETIC_OPERATORS = frozenset({"op:+", "op:-", "op:*", "op:/"})
_COMPARISONS = frozenset({"op:<", "op:<=", "op:>", "op:>="})


class Arithmetic:
    """Each method for a node returns the nodes to look at next."""

    def __init__(self, names: Names, marks: Marks, counts: TraitCounts) -> None:
        self._names = names
        self._marks = marks
        self._counts = counts
        self.limits: set[Node] = set()
        """What is compared with something else."""

    def binary(self, node: Node) -> list[Node]:
        if self._names.is_text(node):
            self._counts.count("text")
        elif self._is_number(node):
            return self.number(node)
        else:
            kind = self._power(node)
            if kind in _COMPARISONS:
                self.limits.update(map(bare, node.kids))
            self._counts.count(*OPERATORS.get(kind, (kind,)))
            if kind == "op:/":
                self._marks.roles.divided(node)
                self._unit(node)
            elif kind in ("op:+", "op:-"):
                self._marks.roles.moved(node)
            if kind in _ARITHMETIC_OPERATORS:
                self._with_constant(node, kind)
            if kind == "op:**":
                self.exponent(node.kids[-1] if operator(node) == kind else None)
            if kind in _FORMULAS:
                self.formula(kind, [kid for kid in node.kids if kid.field != "operator"])
        return [kid for kid in node.kids if kid.field != "operator"]

    def unary(self, node: Node) -> list[Node]:
        kind = operator(node)
        self._counts.count(*OPERATORS.get(f"unary {kind}", ()))
        return [kid for kid in node.kids if kid.field != "operator"]

    def assignment(self, node: Node) -> list[Node]:
        self._marks.assigned(node)
        if node.type == "update_expression":
            self._counts.count("count")
            target = node.at.get("argument")
            return [] if target is None or target.type == "identifier" else [target]
        kids = [kid for kid in node.kids if kid.field != "operator"]
        if node.type == "augmented_assignment_expression":
            right = node.at.get("right")
            if right is not None and self._names.text(right) == "1":
                self._counts.count("count")
                return kids[:1]
            kind = operator(node).removesuffix("=")
            is_text = right is not None and (right.type in ("string", "template_string") or self._names.is_text(right))
            self._counts.count(*(("text",) if is_text else OPERATORS.get(kind, (kind,))))
            if right is not None and kind in _FORMULAS and not is_text:
                self.formula(kind, [right])
        target = node.at.get("left")
        target = bare(target) if target is not None else None
        if target is not None and target.type == "subscript_expression":
            self._counts.count("dict")
            self._marks.roles.key(target.at.get("index") or target)
        return kids

    def number(self, node: Node) -> list[Node]:
        text = self._names.text(node)
        if len(text) <= 40:
            self._counts.constant(text)
        return NO_KIDS

    def _power(self, node: Node) -> str:
        """The operator; `x * x` is `x ** 2`, but in `d * d <= n`, for which others take the root."""
        kind = operator(node)
        if kind != "op:*" or node in self.limits:
            return kind
        sides = [self._names.text(bare(kid)) for kid in node.kids if kid.field != "operator"]
        return "op:**" if len(sides) == 2 and sides[0] == sides[1] else kind

    def exponent(self, node: Node | None) -> None:
        # Behind a name it is a parameter, as the years in `p * (1 + r) ** n` are.
        node = None if node is None else bare(node)
        if node is None or node.type == "number":
            self._marks.power("2" if node is None else self._names.text(node))

    def _unit(self, node: Node) -> None:
        """`ms / 1000 / 60`: the unit of time that something is counted in."""
        unit = 1.0
        while node.type == "binary_expression" and operator(node) == "op:/":
            right = self._names.value(node.at.get("right") or node)
            number = number_of(self._names.text(right)[:41])
            if number is None:
                break
            unit *= number
            node = self._names.value(node.at.get("left") or node.kids[0])
        if unit in _UNITS:
            self._marks.unit(f"{unit:g}")

    def formula(self, kind: str, sides: list[Node]) -> None:
        """What an operator is applied to: `1 - x` and `x - 1`, `x / (1 - y)` and `x * (1 + y)` are other formulas."""
        for position, side in enumerate(sides[:2]):
            value = self._names.value(side)
            inner = operator(value) if value.type == "unary_expression" else ""
            inner = self._power(value) if value.type == "binary_expression" else inner
            if value.type == "call_expression" and self._names.callee_path(value) == ("Math", "pow"):
                inner = "op:**"
            elif kind == "op:-" and position == 0 and value.type == "number":
                inner = self._names.text(value)[:10]
            if inner in _FORMULAS or inner == "1":
                self._counts.count(f"formula {kind} {inner} {position if kind in _TURNING else ''}")

    def _with_constant(self, node: Node, kind: str) -> None:
        for kid in node.kids:
            if kid.field == "operator":
                continue
            value = bare(kid) if kid.type in _NUMBERS else node
            if value is not node and self._is_number(value):
                number = number_of(self._names.text(value)[:41])
                if number is not None and abs(number) not in PLAIN_NUMBERS:
                    is_turned = kind in ("op:-", "op:/") and kid.field == "left"
                    self._marks.arithmetic(f"{number:g}", f"{kind}{'<' if is_turned else ''}")

    def _is_number(self, node: Node) -> bool:
        """Whether it is a number, or numbers put together."""
        kind = node.type
        if kind not in _OF_NUMBERS:
            return kind == "number"
        return all(kid.field == "operator" or self._is_number(kid) for kid in node.kids)
