"""Follows the functions that a script declares: what is given to their parameters, and what a name stands for."""

from __future__ import annotations

from collections.abc import Sequence

from .fingerprint_expressions import arguments, named, parameters, plain
from .fingerprint_names import Names, Path, bare
from .fingerprint_nodes import FUNCTIONS, REFERENCES, Local, Node
from .fingerprint_tree import Tree

MAX_DEPTH = 12
MAX_CALLS = 8
"""Calls of one function that are followed, and texts that one address may stand for."""

Calls = Sequence[tuple[Node, Path | None]]
"""Calls of a script, each with the path of its callee."""


class OwnFunctions:
    def __init__(self, names: Names, tree: Tree) -> None:
        self._names = names
        self._tree = tree
        self._knows_calls = False
        self._parameters: dict[Local, tuple[Node, int, str]] = {}
        """The parameters of functions: whose, at which position, and the key that it is destructured from."""
        self._called: dict[Node, list[Node]] = {}
        self._methods_named: dict[str, Node] = {}
        self._items: dict[Local, list[Node]] = {}
        """What the variables of loops over addresses stand for."""
        self.fields: dict[str, Node] = {}
        """What `this.name` is set to."""

    def is_parameter(self, local: Local) -> bool:
        return local in self._parameters

    def know(self, calls: Calls) -> None:
        """Note the parameters of all functions and the calls of each, once."""
        if self._knows_calls:
            return
        self._knows_calls = True
        self._know_members()
        for node, _ in calls:
            callee = node.at.get("function")
            function = self.function(callee) if callee is not None else self._methods_named.get("constructor")
            if function is not None:
                self._called.setdefault(function, []).append(node)
            elif callee is not None:
                self._know_items(callee, arguments(node))
        for loop in self._tree.declaring:
            if loop.type == "for_in_statement":
                self._know_loop(loop)
        for function in self._called:
            for position, parameter in enumerate(parameters(function)):
                for key, name in named(self._names, parameter):
                    local = parameter.scope.find(name)
                    if local is not None:
                        self._parameters[local] = (function, position, key)

    def function(self, callee: Node) -> Node | None:
        """The function or method of the script that is called."""
        function = self._names.value(callee)
        if function.type in FUNCTIONS:
            return function
        if function.type != "member_expression":
            return None
        owner, key = function.at.get("object"), self._names.key(function)
        for one in self._pair(owner, key) if owner is not None and key is not None else ():
            value = self._names.value(one)
            if value.type in FUNCTIONS:
                return value
        return self._methods_named.get(key or "")

    def value(self, node: Node) -> Node:
        """The value of a variable, its first one if it changes later; the name itself, if it is a parameter."""
        for _ in range(MAX_DEPTH):
            node = bare(node)
            local = node.local if node.type in REFERENCES else None
            if local is None or local in self._parameters or local in self._items:
                break
            value = local.value or local.first
            if value is None:
                break
            node = value
        return node

    def given(self, node: Node) -> list[Node]:
        """What the calls of a function give to the parameter that this name stands for."""
        local = node.local if node.type in REFERENCES else None
        if local is None:
            return []
        known = self._parameters.get(local)
        if known is None:
            return self._items.get(local, [])
        function, position, key = known
        given = [
            arguments(call)[position]
            for call in self._called.get(function, ())[:MAX_CALLS]
            if len(arguments(call)) > position
        ]
        return given if not key else [one for value in given for one in self._pair(value, key)]

    def _pair(self, node: Node, key: str) -> list[Node]:
        node = self._names.value(node)
        for kid in node.kids if node.type == "object" else ():
            name, value = kid.at.get("key"), kid.at.get("value")
            if kid.type == "shorthand_property_identifier" and self._names.text(kid) == key:
                return [kid]
            if name is not None and value is not None and plain(self._names, name) == key:
                return [value]
        return []

    def _know_members(self) -> None:
        """Note the methods of classes and objects by name, and what `this.name` is set to."""
        for node in self._tree.declaring:
            name = node.at.get("name")
            if node.type == "method_definition" and name is not None:
                self._methods_named[self._names.text(name)] = node
            if node.type == "class_body":
                self._know_fields(node)
            left, right = node.at.get("left"), node.at.get("right")
            if node.type == "assignment_expression" and left is not None and right is not None:
                owner = left.at.get("object")
                if owner is not None and owner.type == "this":
                    self.fields[self._names.key(left) or ""] = right

    def _know_fields(self, body: Node) -> None:
        """`base = "https://…"`, and `constructor(private base)`, which sets a member of the same name."""
        for kid in body.kids:
            name, value = kid.at.get("name") or kid.at.get("property"), kid.at.get("value")
            if name is None:
                continue
            if kid.type == "public_field_definition" and value is not None:
                self.fields.setdefault(self._names.text(name), value)
            elif kid.type == "method_definition" and self._names.text(name) == "constructor":
                for parameter in parameters(kid):
                    self.fields.setdefault(self._names.text(parameter), parameter)

    def _know_items(self, callee: Node, given: Sequence[Node]) -> None:
        """`["/a", "/b"].map((path) => …)`."""
        callee = bare(callee)
        if callee.type == "member_expression" and self._names.key(callee) in ("map", "forEach", "flatMap") and given:
            function = self._names.value(given[0])
            for parameter in parameters(function)[:1] if function.type in FUNCTIONS else ():
                self._know_item(parameter, callee.at.get("object"))

    def _know_loop(self, loop: Node) -> None:
        """`for (const path of ["/a", "/b"]) …`."""
        name = loop.at.get("left")
        if name is not None:
            self._know_item(name, loop.at.get("right"))

    def _know_item(self, name: Node, items: Node | None) -> None:
        found = self._names.value(items) if items is not None else None
        local = name.scope.find(self._names.text(name)) if name.type == "identifier" else None
        if local is None or found is None or found.type != "array":
            return
        # Only the paths of one host: other items are names of one of many, and so are many hosts.
        texts = [self._names.text(kid) for kid in found.kids if kid.type == "string"]
        hosts = {text.partition("://")[2].partition("/")[0] for text in texts if "://" in text}
        if len(texts) == len(found.kids) <= MAX_CALLS and all("/" in text for text in texts) and len(hosts) < 2:
            self._items[local] = found.kids
