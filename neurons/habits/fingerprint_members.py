"""Reads which members of data a script works with, and which objects it puts together."""

from __future__ import annotations

from .fingerprint_counts import TraitCounts
from .fingerprint_expressions import plain
from .fingerprint_marks import Marks
from .fingerprint_names import Names, bare, operator
from .fingerprint_nodes import NO_KIDS, Node
from .fingerprint_vocabulary import MEMBERS, OF_GLOBALS


class Members:
    """Each method for a node returns the nodes to look at next."""

    def __init__(self, names: Names, marks: Marks, counts: TraitCounts) -> None:
        self._names = names
        self._marks = marks
        self._counts = counts

    def subscript(self, node: Node) -> list[Node]:
        self._marks.roles.axis(node)
        index, owner = node.at.get("index"), node.at.get("object")
        if index is not None and owner is not None:
            if self._names.text(index) == "0":
                self._marks.sorting.picked(owner, last=False)
            elif operator(index) == "op:-" and ".length" in self._names.text(index):
                self._marks.sorting.picked(owner, last=True)
        return self.member(node)

    def member(self, node: Node) -> list[Node]:
        path = self._names.path(node)
        if path is not None and len(path) > 1:
            if path[0] != "tools":
                self._counts.count(*OF_GLOBALS.get(".".join(path[:2]), (f"call {'.'.join(path[:2])}",)))
            return NO_KIDS
        owner, key = node.at.get("object"), self._names.key(node)
        if key:
            known = MEMBERS.get(key)
            if known is not None:
                self._counts.count(*known)
                if key == "headers":
                    self._marks.called(key, node, ())
            else:
                self._counts.read(key)
            value = self._names.value(owner) if owner is not None else None
            if known is None and value is not None and value.type == "member_expression":
                self._counts.owners.add(self._names.key(value) or "")
        return [kid for kid in node.kids if kid.field != "property"]

    def declarator(self, node: Node) -> list[Node]:
        name, value = node.at.get("name"), node.at.get("value")
        if name is not None and name.type == "object_pattern" and value is not None:
            path = self._names.path(value)
            if path is not None:
                return [value]
        return node.kids

    def pattern(self, node: Node) -> list[Node]:
        """`const { a, b: c } = …`: members are read."""
        for kid in node.kids:
            key = kid.at.get("key") or kid.at.get("left") or kid
            text = self._names.text(key)
            if kid.type != "rest_pattern" and text.isidentifier():
                known = MEMBERS.get(text)
                if known is None:
                    self._counts.read(text)
                else:
                    self._counts.count(*known)
        return [kid.at.get("value") or kid for kid in node.kids if kid.type == "pair_pattern"]

    def data(self, node: Node) -> list[Node]:
        if self._names.is_constant(node) and node.kids:
            for kid in node.kids[:1]:
                for pair in kid.kids if kid.type == "object" else ():
                    key = pair.at.get("key")
                    if key is not None:
                        self._counts.say(plain(self._names, key))
            return NO_KIDS
        return node.kids

    def object(self, node: Node) -> list[Node]:
        if self._names.is_constant(node):
            return NO_KIDS
        kids = []
        for kid in node.kids:
            key, value = kid.at.get("key"), kid.at.get("value")
            if kid.type == "shorthand_property_identifier":
                key, value = kid, None
            if key is None:
                kids.append(kid)
                continue
            if key.type == "computed_property_name":
                self._counts.count("dict")
                kids.append(key)
            else:
                name = plain(self._names, key)
                self._counts.made.add(name)
                self._counts.say(name)
            if value is not None:
                kids.append(value)
        return kids

    def own(self, node: Node) -> None:
        """Note that a member only leads to what is worked with."""
        node = self._names.value(node)
        if node.type == "call_expression":
            node = bare(node.at.get("function") or node).at.get("object") or node
            node = self._names.value(node)
        if node.type == "member_expression":
            key = self._names.key(node)
            if key:
                self._counts.owners.add(key)

    def pick(self, name: str, owner: Node, given: list[Node]) -> None:
        """`.at(0)`, `.at(-1)`, `.shift()` and `.pop()`."""
        index = self._names.text(given[0]) if name == "at" and given else ""
        if name in ("pop", "shift") or index in ("0", "-1"):
            self._marks.sorting.picked(owner, last=name == "pop" or index == "-1")
