"""Resolves the names in a script: which variable each scope declares, and what value it stands for."""

from __future__ import annotations

from .fingerprint_tree import WRITES, Local, Node, Scope, Tree

_PARAMETERS = ("parameters", "parameter", "left")
_PATTERNS = frozenset({"object_pattern", "array_pattern"})
_NAMES = frozenset({"identifier", "shorthand_property_identifier_pattern"})
_NOT_NAMES = frozenset({"right", "value", "decorator"})


def declared(tree: Tree, source: str) -> list[Local]:
    """Fill each scope with the names declared in it; return all of them in source order."""
    found: list[Local] = []
    written: list[Node] = []
    for node in tree.declaring:
        kind = node.type
        if kind == "variable_declarator":
            _declare(node.at("name"), node.at("value"), node.scope, source, found)
        elif kind in WRITES:
            written.extend(kid for kid in node.kids if kid.field in ("left", "argument"))
        else:
            if kind.endswith("declaration"):
                _declare(node.at("name"), node, node.scope, source, found)
            for field in _PARAMETERS:
                target = node.at(field)
                if target is not None:
                    _declare(target, None, target.scope, source, found)
    # After all declarations: a script may write to a name above the line that declares it.
    for name in written:
        if name.type == "identifier":
            local = name.scope.find(source[name.start : name.end])
            if local is not None:
                local.value = None
    return found


def _declare(target: Node | None, value: Node | None, scope: Scope, source: str, found: list[Local]) -> None:
    """Declare a name, or all names of a pattern such as `{ a, b: [c] }`: each of those stands for a member of the
    value."""
    if target is None:
        return
    kind = target.type
    if kind in _NAMES:
        text = source[target.start : target.end]
        known = scope.names.get(text)
        if known is None:
            scope.names[text] = local = Local(value)
            found.append(local)
        else:
            known.value = None
        return
    if kind in _PATTERNS:
        value = _named(value, scope) if value is not None else Node("name", None, 0, 0, scope)
    for kid in target.kids:
        if kind == "object_pattern" and kid.type != "rest_pattern":
            key = kid.at("key") or kid.at("left") or kid
            _declare(kid.at("value") or key, _member(value, key), scope, source, found)
        elif kid.field not in _NOT_NAMES:
            _declare(kid, _member(value, None) if kind in _PATTERNS else value, scope, source, found)


def _named(value: Node, scope: Scope) -> Node:
    """A hidden name for the value, so that it counts once however many names are destructured from it."""
    if value.type == "identifier":
        return value
    hidden = Scope(scope)
    hidden.names[""] = Local(value)
    return Node("identifier", None, 0, 0, hidden)


def _member(value: Node | None, key: Node | None) -> Node | None:
    if value is None:
        return None
    owner = Node(value.type, "object", value.start, value.end, value.scope)
    owner.kids = value.kids
    member = Node("member_expression", None, 0, 0, value.scope)
    member.kids = [owner]
    if key is not None:
        member.kids.append(Node("property_identifier", "property", key.start, key.end, value.scope))
    return member
