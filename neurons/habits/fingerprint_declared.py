"""Finds the variable that each name of a script stands for, and its value.

Like `fingerprint_tree.py`, it must not run in the host process.
"""

from __future__ import annotations

from .fingerprint_nodes import REFERENCES, Local, Node, Scope, made
from .fingerprint_tree import WRITES, Tree

_PARAMETERS = ("parameters", "parameter", "left")
_PATTERNS = frozenset({"object_pattern", "array_pattern"})
_NAMES = frozenset({"identifier", "shorthand_property_identifier_pattern"})
_NOT_NAMES = frozenset({"right", "value", "decorator"})


def declared(tree: Tree, source: str) -> list[Local]:
    """Fill each scope with the names declared in it, and find the variable of each name; return all variables in source
    order."""
    found = _Declared(source)
    for node in tree.declaring:
        found.by(node)
    found.written()
    for references in (tree.references, found.copies):
        for name in references:
            name.local = name.scope.find(source[name.start : name.end])
    return found.all


class _Declared:
    def __init__(self, source: str) -> None:
        self._source = source
        self._written: list[Node] = []
        self.all: list[Local] = []
        self.copies: list[Node] = []
        """Names that stand nowhere in the script."""

    def by(self, node: Node) -> None:
        """Declare what the node declares."""
        kind, at = node.type, node.at
        if kind == "variable_declarator":
            self._declare(at.get("name"), at.get("value"), node.scope)
        elif kind in WRITES:
            self._written.extend(kid for kid in node.kids if kid.field in ("left", "argument"))
        else:
            if kind.endswith("declaration"):
                self._declare(at.get("name"), node, node.scope)
            for field in _PARAMETERS:
                target = at.get(field)
                if target is not None:
                    self._declare(target, None, target.scope)

    def written(self) -> None:
        """Forget the values that change. After all declarations: a script may write to a name above the line that
        declares it."""
        for name in self._written:
            if name.type == "identifier":
                local = name.scope.find(self._source[name.start : name.end])
                if local is not None:
                    local.value = None

    def _declare(self, target: Node | None, value: Node | None, scope: Scope) -> None:
        """Declare a name, or all names of a pattern such as `{ a, b: [c] }`: each of those stands for a member of the
        value."""
        if target is None:
            return
        kind = target.type
        if kind in _NAMES:
            text = self._source[target.start : target.end]
            known = scope.names.get(text)
            if known is None:
                scope.names[text] = local = Local(value)
                self.all.append(local)
            else:
                known.value = None
            return
        is_pattern = kind in _PATTERNS
        if is_pattern:
            value = self._named(value, scope) if value is not None else made("name", None, 0, 0, scope)
        for kid in target.kids:
            if kind == "object_pattern" and kid.type != "rest_pattern":
                key = kid.at.get("key") or kid.at.get("left") or kid
                self._declare(kid.at.get("value") or key, self._member(value, key), scope)
            elif kid.field not in _NOT_NAMES:
                self._declare(kid, self._member(value, None) if is_pattern else value, scope)

    def _named(self, value: Node, scope: Scope) -> Node:
        """A hidden name for the value, so that it counts once however many names are destructured from it."""
        if value.type == "identifier":
            return value
        hidden = Scope(scope)
        hidden.names[""] = Local(value)
        name = made("identifier", None, 0, 0, hidden)
        self.copies.append(name)
        return name

    def _member(self, value: Node | None, key: Node | None) -> Node | None:
        if value is None:
            return None
        owner = made(value.type, "object", value.start, value.end, value.scope)
        owner.kids, owner.at = value.kids, value.at
        if owner.type in REFERENCES:
            self.copies.append(owner)
        member = made("member_expression", None, 0, 0, value.scope)
        member.kids, member.at = [owner], {"object": owner}
        if key is not None:
            name = made("property_identifier", "property", key.start, key.end, value.scope)
            member.kids.append(name)
            member.at["property"] = name
        return member
