"""Names for the literals of a script: the variable, member or parameter that each is given to.

Like `fingerprint_tree.py`, it must not run in the host process, and it imports nothing but its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from .fingerprint_nodes import FUNCTIONS, Node

MAX_NAME = 60
MAX_CALLEES = 100
MAX_PARAMETERS = 16
INPUT = " input"
"""Behind the name of what a literal is only a part of: `total` of `const total = 3 * price`."""
LIMIT = " limit"
"""Behind the name of what a literal is compared with: `price` of `price > 100`."""

SAID = "\t"
"""The label of what code only says: no other value there makes another result."""

_GIVING = frozenset(
    {"variable_declarator", "pair", "assignment_expression", "assignment_pattern", "required_parameter"}
)
_PLAIN = frozenset(
    {"identifier", "type_identifier", "property_identifier", "shorthand_property_identifier_pattern", "string"}
)
_CALLS = frozenset({"call_expression", "new_expression"})
_EQUAL = frozenset({"==", "===", "!=", "!=="})
_ORDER = frozenset({"<", ">", "<=", ">="})
_LOGIC = frozenset({"&&", "||", "??"})

Callees = Mapping[str, Node]
"""The functions that the script has itself, by name: those of classes, too."""


def callees_of(root: Node, source: bytes) -> Callees:
    found: dict[str, Node] = {}
    waiting = [root]
    while waiting and len(found) < MAX_CALLEES:
        node = waiting.pop()
        waiting.extend(node.kids)
        if node.type == "class_declaration":
            made = next((kid for kid in _members(node) if _name(kid.at.get("name"), source) == "constructor"), None)
            found.update({_name(node.at.get("name"), source): made} if made is not None else {})
        elif node.type == "variable_declarator":
            value = node.at.get("value")
            found.update(
                {_name(node.at.get("name"), source): value} if value is not None and _is_function(value) else {}
            )
        elif node.type in FUNCTIONS and (name := _name(node.at.get("name"), source)):
            found.setdefault(name, node)
    return found


def named(node: Node, callees: Callees, source: bytes) -> list[str]:
    """The names of the parameters that the arguments of this call are given to; none for what is no call of a function
    of the script."""
    if node.type not in _CALLS:
        return []
    callee, turn = node.at.get("function") or node.at.get("constructor"), 0
    while callee is not None and callee.type == "call_expression" and turn < MAX_PARAMETERS:
        callee, turn = callee.at.get("function"), turn + 1  # among(7)(20)
    function = callees.get(_name(callee, source))
    for _ in range(turn):
        function = function.at.get("body") if function is not None else None
    return _parameters(function, source) if function is not None and _is_function(function) else []


def label_of(node: Node, kid: Node, label: str, given: list[str], source: bytes) -> str:
    """The label of a part of a node that has this one itself."""
    if label == SAID or node.type == "throw_statement" or _is_console(node, source):
        return SAID
    if kid.field in ("value", "right") and node.type in _GIVING:
        target = node.at.get("name") or node.at.get("key") or node.at.get("left") or node.at.get("pattern")
        return _name(target, source) or label
    if node.type == "binary_expression":
        return _of_operand(node, kid, label, source)
    if node.type in _CALLS and kid.field == "arguments" and given:
        # The arguments are labelled one by one: see below.
        return "\n".join(["", *given])
    if node.type == "arguments" and label.startswith("\n"):
        names, at = label[1:].split("\n"), node.kids.index(kid)
        return names[at] if at < len(names) else ""
    return "" if label.startswith("\n") else label


def _is_console(node: Node, source: bytes) -> bool:
    called = node.at.get("function") if node.type == "call_expression" else None
    return called is not None and _text(called.at.get("object"), source) == "console"


def _of_operand(node: Node, kid: Node, label: str, source: bytes) -> str:
    sign = _text(node.at.get("operator"), source)
    left = node.at.get("left")
    compared = _name(left, source) if kid is not left else ""
    if sign in _EQUAL:
        return compared
    if sign in _ORDER:
        return compared and f"{compared}{LIMIT}"
    is_part = label and sign not in _LOGIC and not label.endswith((INPUT, LIMIT))
    return f"{label}{INPUT}" if is_part else label


def _parameters(function: Node, source: bytes) -> list[str]:
    single = function.at.get("parameter")
    listed = function.at.get("parameters")
    kids = [single] if single is not None else listed.kids if listed is not None else []
    return [_name(kid.at.get("pattern") or kid.at.get("left") or kid, source) for kid in kids[:MAX_PARAMETERS]]


def _members(of_class: Node) -> Iterator[Node]:
    body = of_class.at.get("body")
    return islice(() if body is None else (kid for kid in body.kids if kid.type == "method_definition"), MAX_CALLEES)


def _is_function(node: Node) -> bool:
    return node.type in FUNCTIONS


def _name(node: Node | None, source: bytes) -> str:
    """The name that a variable, a member or a key has; empty for anything else."""
    if node is not None and node.type == "member_expression":
        node = node.at.get("property")
    return _text(node, source).strip("\"'") if node is not None and node.type in _PLAIN else ""


def _text(node: Node | None, source: bytes) -> str:
    return "" if node is None else source[node.start : min(node.end, node.start + MAX_NAME)].decode(errors="replace")
