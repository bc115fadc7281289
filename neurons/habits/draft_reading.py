"""Reads what a draft needs of a script: where its literals are and what each is given to.

Like `fingerprint_tree.py`, it must not run in the host process, and it imports nothing but its neighbours.
"""

from __future__ import annotations

from typing import Any

from .draft_labels import SAID, callees_of, label_of, named
from .fingerprint_nodes import FUNCTIONS, Node
from .fingerprint_tree import tree_of

MAX_LITERALS = 200
MAX_TEXT = 200
MAX_NAMES = 300
MAX_NAME = 60
MAX_ITEMS = 20
"""Items of an array that a parameter gets its type from."""
MAX_DEPTH = 4

_KINDS = {"string": "text", "number": "number", "true": "boolean", "false": "boolean", "string_fragment": "piece"}
_DATA = frozenset({"array", "object"})
_CONSTANT = frozenset({"string", "number", "true", "false", "null"})
_IDENTIFIERS = frozenset({"identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"})


def read(code: str) -> dict[str, Any] | None:
    """Literals (start, end, kind, text, label, and the value of data; places in bytes), the names used, whether it
    returns at its top level, and its last expression. None for code that is too large."""
    source = code.encode(errors="replace")
    tree = tree_of(source)
    if tree is None:
        return None
    reading = _Reading(source)
    reading.walk(tree.root)
    top = tree.root.kids
    last = top[-1] if top and top[-1].type == "expression_statement" else None
    return {
        "literals": reading.literals,
        "names": sorted(reading.names)[:MAX_NAMES],
        "returns": reading.returns,
        "last": None if last is None else last.start,
    }


class _Reading:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self.literals: list[tuple[int, int, str, str, str, Any]] = []
        self.names: set[str] = set()
        self.returns = False

    def walk(self, root: Node) -> None:
        """In source order. A loop, because the depth is the author's."""
        callees = callees_of(root, self._source)
        waiting: list[tuple[Node, str, bool]] = [(root, "", True)]
        while waiting:
            node, label, on_top = waiting.pop()
            if node.type in _IDENTIFIERS:
                self.names.add(self._text(node, MAX_NAME))
            self.returns |= on_top and node.type == "return_statement"
            kind = "data" if node.type == "array" and _is_constant(node) else _KINDS.get(node.type)
            if kind is not None:
                self._keep(node, kind, label)
                continue
            if node.type in FUNCTIONS:
                label, on_top = "", False
            given = named(node, callees, self._source)
            waiting.extend(
                (kid, label_of(node, kid, label, given, self._source), on_top)
                for kid in reversed(node.kids)
                if _counts(kid)
            )

    def _keep(self, node: Node, kind: str, label: str) -> None:
        if len(self.literals) < MAX_LITERALS and label != SAID:
            start, end = (node.start + 1, node.end - 1) if kind == "text" else (node.start, node.end)
            text = self._source[start : min(end, start + 4 * MAX_TEXT)].decode(errors="replace")[:MAX_TEXT]
            value = self._value(node, 0) if kind == "data" else None
            self.literals.append((node.start, node.end, kind, text, label[:MAX_NAME], value))

    def _value(self, node: Node, depth: int) -> Any:
        """The beginning of a constant value: enough to tell its types."""
        match node.type:
            case "array":
                return [self._value(kid, depth + 1) for kid in node.kids[:MAX_ITEMS] if depth < MAX_DEPTH]
            case "object":
                kids = node.kids[:MAX_ITEMS] if depth < MAX_DEPTH else []
                pairs = [(kid.at.get("key"), kid.at.get("value")) for kid in kids if kid.type == "pair"]
                return {
                    self._text(key, MAX_NAME).strip("\"'"): self._value(value, depth + 1)
                    for key, value in pairs
                    if key is not None and value is not None
                }
            case "true" | "false":
                return node.type == "true"
            case "string":
                return self._source[node.start + 1 : min(node.end - 1, node.start + MAX_NAME)].decode(errors="replace")
            case "number" | "unary_expression":
                return _number(self._text(node, MAX_NAME))
            case _:
                return None

    def _text(self, node: Node, most: int) -> str:
        return self._source[node.start : min(node.end, node.start + most)].decode(errors="replace")


def _number(text: str) -> float:
    try:
        number = float(text.replace("_", "").replace(" ", ""))
    except ValueError:
        return 0.5
    if number.is_integer() and abs(number) < 2**53:
        return int(number)
    return number if abs(number) < 1e300 else 0.5


def _counts(kid: Node) -> bool:
    return kid.field not in ("key", "operator") or kid.type == "computed_property_name"


def _is_constant(root: Node) -> bool:
    """Whether an array or an object has plain literals alone."""
    waiting = list(root.kids)
    is_any = bool(waiting)
    while waiting:
        node = waiting.pop()
        if node.type == "pair":
            waiting.extend(kid for kid in node.kids if kid.field == "value")
        elif node.type in _DATA:
            waiting.extend(node.kids)
        elif node.type == "unary_expression":
            waiting.extend(kid for kid in node.kids if kid.field == "argument")
        elif node.type not in _CONSTANT:
            return False
    return is_any
