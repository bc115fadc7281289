"""The syntax tree of a script, without types, comments and punctuation, and the variable that each name stands for.

Must not run in the host process: the parser can be made to hang, and only a kill ends it. It is also imported outside
of its package, so it imports nothing of the project but its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser

MAX_NODES = 20_000
MAX_DEPTH = 100
"""Deeper nesting is not visited."""

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
WRITES = frozenset({"assignment_expression", "augmented_assignment_expression", "update_expression"})
_SCOPES = FUNCTIONS | {"program", "statement_block", "for_statement", "for_in_statement", "catch_clause", "class_body"}
_TYPES = """
    type_annotation type_arguments type_parameters interface_declaration type_alias_declaration ambient_declaration
    accessibility_modifier override_modifier type_predicate_annotation function_signature
"""
_DROPPED = frozenset({*_TYPES.split(), "comment", "empty_statement", "hash_bang_line"})
_ROLES = {
    **dict.fromkeys(_DROPPED, "dropped"),
    **dict.fromkeys(_SCOPES, "scope"),
    **dict.fromkeys(WRITES, "writes"),
    "variable_declarator": "declares",
    "string": "leaf",
    "regex": "leaf",
}
_PARAMETERS = ("parameters", "parameter", "left")
_PATTERNS = frozenset({"object_pattern", "array_pattern"})
_NAMES = frozenset({"identifier", "shorthand_property_identifier_pattern"})
_NOT_NAMES = frozenset({"right", "value", "decorator"})

# The number of this kind is not among those of the grammar.
_ERROR = ("ERROR", None)


class Node:
    """One node of the tree."""

    __slots__ = ("end", "field", "kids", "scope", "start", "type")

    def __init__(self, kind: str, field: str | None, start: int, end: int, scope: Scope) -> None:
        self.type = kind
        self.field = field
        """Its role in the parent node."""
        self.start = start
        self.end = end
        self.scope = scope
        """The scope in which its name is looked up."""
        self.kids: list[Node] = _NONE

    def at(self, field: str) -> Node | None:
        for kid in self.kids:
            if kid.field == field:
                return kid
        return None


# Shared by all nodes without children. Never append to it.
_NONE: list[Node] = []


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


@dataclass(frozen=True, slots=True)
class Tree:
    """A syntax tree, with the nodes that matter for names."""

    root: Node
    declaring: list[Node]
    """The nodes that open a scope, declare a name or write to one, in source order."""


def tree_of(source: bytes) -> Tree | None:
    """The tree; None when it has too many nodes. One loop does everything, because this is most of the work."""
    grammar = _grammar()
    kinds, fields = grammar.kinds, grammar.fields
    cursor = grammar.parser.parse(source).walk()
    scope = Scope(None)
    top: list[Node] = []
    siblings = top
    above: list[tuple[list[Node], Scope]] = []
    declaring: list[Node] = []
    count = 0
    while True:
        real = cursor.node
        assert real is not None
        kind, role = kinds.get(real.kind_id, _ERROR)
        field = fields[cursor.field_id]
        if role != "dropped" or field == "operator":
            count += 1
            if count > MAX_NODES:
                return None
            node = Node(kind, field, real.start_byte, real.end_byte, scope)
            siblings.append(node)
            if role != "leaf" and len(above) < MAX_DEPTH and cursor.goto_first_child():
                above.append((siblings, scope))
                node.kids = siblings = []
                if role is not None:
                    declaring.append(node)
                    if role == "scope":
                        scope = Scope(scope)
                continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return Tree(top[0], declaring)
            siblings, scope = above.pop()


@dataclass(frozen=True, slots=True)
class _Grammar:
    """Names of node kinds and fields by number: numbers are faster to read, and interned names faster to compare."""

    parser: Parser
    kinds: dict[int, tuple[str, str | None]]
    """The name of each kind of node and its role. Punctuation is dropped."""
    fields: dict[int | None, str | None]


@lru_cache(maxsize=1)
def _grammar() -> _Grammar:
    # Imported here: the host imports this file too, but never parses.
    import tree_sitter_typescript  # noqa: PLC0415 - the host never parses
    from tree_sitter import Language, Parser  # noqa: PLC0415 - likewise

    language = Language(tree_sitter_typescript.language_typescript())
    kinds: dict[int, tuple[str, str | None]] = {}
    for number in range(language.node_kind_count):
        name = intern(language.node_kind_for_id(number) or "")
        kinds[number] = (name, _ROLES.get(name) if language.node_kind_is_named(number) else "dropped")
    fields: dict[int | None, str | None] = {None: None, 0: None}
    for number in range(1, language.field_count + 1):
        fields[number] = intern(language.field_name_for_id(number) or "")
    return _Grammar(Parser(language), kinds, fields)


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
