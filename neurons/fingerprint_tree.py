"""The syntax tree of a script without what does not count, and what its names stand for.

Must not run in the host process: the parser can be made to hang, and nothing but a kill ends it. It is imported where
there is no package around it, so it imports nothing of the project but its neighbours.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser

MAX_NODES = 20_000
MAX_DEPTH = 100
"""What is nested deeper is not looked at."""

_DROPPED_TEXT = """
    comment type_annotation type_arguments type_parameters interface_declaration type_alias_declaration
    accessibility_modifier override_modifier type_predicate_annotation empty_statement hash_bang_line
    ambient_declaration function_signature
"""
_DROPPED = frozenset(_DROPPED_TEXT.split())
FUNCTIONS_TEXT = """
    arrow_function function_expression function_declaration generator_function generator_function_declaration
    method_definition
"""
FUNCTIONS = frozenset(FUNCTIONS_TEXT.split())
_SCOPES = FUNCTIONS | {"program", "statement_block", "for_statement", "for_in_statement", "catch_clause", "class_body"}
_PARAMETERS = ("parameters", "parameter", "left")
_PATTERNS = frozenset({"object_pattern", "array_pattern"})
_NAMES = frozenset({"identifier", "shorthand_property_identifier_pattern"})
_NOT_NAMES = frozenset({"right", "value", "decorator"})
_WRITES = frozenset({"assignment_expression", "augmented_assignment_expression", "update_expression"})


class Node:
    """One node of the tree, without what does not count."""

    __slots__ = ("end", "field", "kids", "scope", "start", "type")

    scope: Scope
    """Where its name is looked up."""

    def __init__(self, kind: str, field: str | None, start: int = 0, end: int = 0) -> None:
        self.type = kind
        self.field = field
        self.start = start
        self.end = end
        self.kids: list[Node] = _NONE

    def at(self, field: str) -> Node | None:
        for kid in self.kids:
            if kid.field == field:
                return kid
        return None


# Of all that have none. Nobody adds to it.
_NONE: list[Node] = []


class Local:
    """A name of the script's own, and what it stands for: None when that changes or is not known."""

    __slots__ = ("deferred", "used", "value")

    def __init__(self, value: Node | None) -> None:
        self.value = value
        self.used = False
        """Whether its value was looked at."""
        self.deferred = False
        """Whether that was put off."""


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


def tree_of(source: bytes) -> Node | None:
    """The tree, or None when it is too large to be looked at."""
    cursor = _parser().parse(source).walk()
    root: Node | None = None
    above: list[list[Node]] = []
    siblings: list[Node] = []
    count = 0
    while True:
        real = cursor.node
        assert real is not None
        kind, field = real.type, cursor.field_name
        if (real.is_named and kind not in _DROPPED) or field == "operator":
            count += 1
            if count > MAX_NODES:
                return None
            node = Node(kind, field, real.start_byte, real.end_byte)
            if root is None:
                root = node
            else:
                siblings.append(node)
            if len(above) < MAX_DEPTH and cursor.goto_first_child():
                above.append(siblings)
                node.kids = siblings = []
                continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return root
            siblings = above.pop()


def declared(root: Node, source: str) -> list[Local]:
    """Give each node the scope in which names are looked up, and return what the script declares, in its order."""
    found: list[Local] = []
    written: list[Node] = []
    stack: list[tuple[Node, Scope]] = [(root, Scope(None))]
    while stack:
        node, scope = stack.pop()
        kind, inner = node.type, scope
        if kind in _SCOPES:
            inner = Scope(scope)
            if kind.endswith("declaration"):
                _declare(node.at("name"), node, scope, source, found)
            for field in _PARAMETERS:
                _declare(node.at(field), None, inner, source, found)
        elif kind == "variable_declarator":
            _declare(node.at("name"), node.at("value"), scope, source, found)
        elif kind in _WRITES:
            written.extend(kid for kid in node.kids if kid.field in ("left", "argument"))
        node.scope = inner
        if node.kids:
            stack.extend([(kid, inner) for kid in reversed(node.kids)])
    # Only now: a script may write to a name above the line that declares it.
    for name in written:
        if name.type == "identifier":
            local = name.scope.find(source[name.start : name.end])
            if local is not None:
                local.value = None
    return found


def _declare(target: Node | None, value: Node | None, scope: Scope, source: str, found: list[Local]) -> None:
    """The name, or all names of a pattern such as `{ a, b: [c] }`: each of those stands for a member of the value."""
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
        value = _named(value, scope) if value is not None else _unknown(scope)
    for kid in target.kids:
        if kind == "object_pattern" and kid.type != "rest_pattern":
            key = kid.at("key") or kid.at("left") or kid
            _declare(kid.at("value") or key, _member(value, key), scope, source, found)
        elif kid.field not in _NOT_NAMES:
            _declare(kid, _member(value, None) if kind in _PATTERNS else value, scope, source, found)


def _named(value: Node, scope: Scope) -> Node:
    """A name for the value, so that it counts once however many names are taken out of it."""
    if value.type == "identifier":
        value.scope = scope
        return value
    name = Node("identifier", None)
    name.scope = Scope(scope)
    name.scope.names[""] = Local(value)
    return name


def _unknown(scope: Scope) -> Node:
    node = Node("name", None)
    node.scope = scope
    return node


def _member(value: Node | None, key: Node | None) -> Node | None:
    if value is None:
        return None
    owner = Node(value.type, "object", value.start, value.end)
    member = Node("member_expression", None)
    owner.scope = member.scope = value.scope
    owner.kids = value.kids
    member.kids = [owner]
    if key is not None:
        name = Node("property_identifier", "property", key.start, key.end)
        name.scope = value.scope
        member.kids.append(name)
    return member


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # Imported here: the host imports this file too, and never parses.
    import tree_sitter_typescript  # noqa: PLC0415 - the host never parses
    from tree_sitter import Language, Parser  # noqa: PLC0415 - likewise

    return Parser(Language(tree_sitter_typescript.language_typescript()))
