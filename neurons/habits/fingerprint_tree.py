"""The syntax tree of a script, without types, comments and punctuation, and the variable that each name stands for.

Must not run in the host process: the parser can be made to hang, and only a kill ends it. It is also imported outside
of its package, so it imports nothing of the project but its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING, Any

from .fingerprint_nodes import FUNCTIONS, NO_KIDS, NO_ROLES, REFERENCES, Node, Scope

if TYPE_CHECKING:
    from tree_sitter import Parser

MAX_NODES = 20_000
MAX_DEPTH = 100
"""Deeper nesting is not visited."""

WRITES = frozenset({"assignment_expression", "augmented_assignment_expression", "update_expression"})
_SCOPES = FUNCTIONS | {"program", "statement_block", "for_statement", "for_in_statement", "catch_clause", "class_body"}
_TYPES = """
    type_annotation type_arguments type_parameters interface_declaration type_alias_declaration ambient_declaration
    accessibility_modifier override_modifier type_predicate_annotation function_signature
"""
_LEAVES = """
    string regex number true false null undefined this super property_identifier private_property_identifier
    shorthand_property_identifier_pattern string_fragment escape_sequence
"""
_NO_OPERATORS = "( ) { } [ ] ; , . : => \" ' ` ${ ?. const let var return if else for new await async function"
# What is done with a node of each kind. From a plain node on, it has children.
_DROPPED, _OPERATOR, _LEAF, _REFERENCE, _PLAIN, _DECLARES, _SCOPE = range(7)
_NAMED_ROLES = {
    **dict.fromkeys(_TYPES.split(), _DROPPED),
    **dict.fromkeys(("comment", "empty_statement", "hash_bang_line"), _DROPPED),
    **dict.fromkeys(_LEAVES.split(), _LEAF),
    **dict.fromkeys(REFERENCES, _REFERENCE),
    **dict.fromkeys(WRITES, _DECLARES),
    "variable_declarator": _DECLARES,
    **dict.fromkeys(_SCOPES, _SCOPE),
}
# The numbers of nodes for code that is none: they are not among those of the grammar.
_ERRORS = (2**16 - 1, 2**16 - 2)


@dataclass(frozen=True, slots=True)
class Tree:
    """A syntax tree, with the nodes that matter for names."""

    root: Node
    declaring: list[Node]
    """The nodes that open a scope, declare a name or write to one, in source order."""
    references: list[Node]
    """The nodes that are names of variables."""


def tree_of(source: bytes) -> Tree | None:  # noqa: PLR0912, PLR0915 - a call for each node would double its time
    """The tree; None when it has too many nodes. One loop does everything, because this is most of the work."""
    grammar = _grammar()
    kinds, fields = grammar.kinds, grammar.fields
    cursor = grammar.parser.parse(source).walk()
    next_sibling, first_child, parent = cursor.goto_next_sibling, cursor.goto_first_child, cursor.goto_parent
    # Names of this function are faster to read than those of the module.
    make, no_kids, no_roles, max_nodes = Node, NO_KIDS, NO_ROLES, MAX_NODES
    is_dropped, is_operator, is_reference, has_kids = _DROPPED, _OPERATOR, _REFERENCE, _PLAIN
    scope = Scope(None)
    above: list[tuple[Node, Scope]] = []
    declaring: list[Node] = []
    references: list[Node] = []
    top = outer = make()
    siblings: list[Node] = []
    roles: dict[str, Node] = {}
    top.kids, top.at = siblings, roles
    count = 0
    while True:
        real: Any = cursor.node
        kind, role = kinds[real.kind_id]
        if role is not is_dropped:
            field = fields[cursor.field_id]
            if role is not is_operator or field == "operator":
                node = make()
                node.type = kind
                node.field = field
                node.start = real.start_byte
                node.end = real.end_byte
                node.scope = scope
                node.kids = no_kids
                node.at = no_roles
                siblings.append(node)
                if field is not None:
                    if roles is no_roles:
                        outer.at = roles = {field: node}
                    elif field not in roles:
                        roles[field] = node
                count += 1
                if count > max_nodes:
                    return None
                if role >= has_kids:
                    if len(above) < MAX_DEPTH and first_child():
                        above.append((outer, scope))
                        outer = node
                        node.kids = siblings = []
                        roles = no_roles
                        if role > has_kids:
                            declaring.append(node)
                            if role == _SCOPE:
                                scope = Scope(scope)
                        continue
                elif role is is_reference:
                    references.append(node)
        while not next_sibling():
            if not parent():
                return Tree(top.kids[0], declaring, references)
            outer, scope = above.pop()
            siblings, roles = outer.kids, outer.at


@dataclass(frozen=True, slots=True)
class _Grammar:
    """Names of node kinds and fields by number: numbers are faster to read, and interned names faster to compare."""

    parser: Parser
    kinds: dict[int, tuple[str, int]]
    """The name of each kind of node and its role. Punctuation is dropped."""
    fields: dict[int | None, str | None]


@lru_cache(maxsize=1)
def _grammar() -> _Grammar:
    # Imported here: the host imports this file too, but never parses.
    import tree_sitter_typescript  # noqa: PLC0415 - the host never parses
    from tree_sitter import Language, Parser  # noqa: PLC0415 - likewise

    language = Language(tree_sitter_typescript.language_typescript())
    kinds: dict[int, tuple[str, int]] = dict.fromkeys(_ERRORS, ("ERROR", _PLAIN))
    signs = dict.fromkeys(_NO_OPERATORS.split(), _DROPPED)
    for number in range(language.node_kind_count):
        name = intern(language.node_kind_for_id(number) or "")
        is_named = language.node_kind_is_named(number)
        kinds[number] = (name, _NAMED_ROLES.get(name, _PLAIN) if is_named else signs.get(name, _OPERATOR))
    fields: dict[int | None, str | None] = {None: None, 0: None}
    for number in range(1, language.field_count + 1):
        fields[number] = intern(language.field_name_for_id(number) or "")
    return _Grammar(Parser(language), kinds, fields)
