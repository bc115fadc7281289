"""The nodes of the syntax tree of a script, and the variables that its names stand for. Imports nothing."""

from __future__ import annotations

FUNCTIONS = frozenset(
    {
        "arrow_function",
        "function_expression",
        "function_declaration",
        "generator_function",
        "generator_function_declaration",
        "method_definition",
    }
)
REFERENCES = frozenset({"identifier", "shorthand_property_identifier"})


class Node:
    """One node of the tree. It is filled in where it is made: `__init__` would take as long as everything else."""

    __slots__ = ("at", "end", "field", "kids", "local", "scope", "start", "type")

    type: str
    field: str | None
    """Its role in the parent node."""
    start: int
    end: int
    scope: Scope
    """The scope in which its name is looked up."""
    kids: list[Node]
    at: dict[str, Node]
    """The first child of each role."""
    local: Local | None
    """The variable that the name stands for. Set in names only, after all of them are declared."""


# Shared by all nodes without children. Never add to them.
NO_KIDS: list[Node] = []
NO_ROLES: dict[str, Node] = {}


class Local:
    """A variable of the script and its value: None when the value changes or is not known."""

    __slots__ = ("deferred", "first", "used", "value")

    def __init__(self, value: Node | None) -> None:
        self.value = value
        self.first = value
        """The value that it was declared with, also if it changes later."""
        self.used = False
        """Whether its value was visited."""
        self.deferred = False
        """Whether visiting it was put off."""


class Scope:
    """The names that a block declares."""

    __slots__ = ("names", "outer")

    def __init__(self, outer: Scope | None) -> None:
        self.outer = outer
        self.names: dict[str, Local] = {}

    def find(self, name: str) -> Local | None:
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.outer
        return None


def made(kind: str, field: str | None, start: int, end: int, scope: Scope) -> Node:
    node = Node()
    node.type, node.field, node.start, node.end, node.scope = kind, field, start, end, scope
    node.kids, node.at = NO_KIDS, NO_ROLES
    return node
