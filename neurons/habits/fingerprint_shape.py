"""Reads the shape of a script: what it does, without its names, literals, spacing and comments.

The shape is a bag of parts; a part is a label (`call:fetch`, `op:+`, `call:.map`) below another label. Different ways
to write the same thing give the same parts: `const` or `let`, an arrow or a function, a template or `+`, a variable or
its value, types or none, braces or none. Logging and error handling do not count.

Like `fingerprint_tree.py`, it must not run in the host process: the parser can hang.
"""

from __future__ import annotations

from typing import Any

from .fingerprint_data import Data
from .fingerprint_declared import declared
from .fingerprint_names import DATA, LITERALS, Names, bare, operator
from .fingerprint_nodes import FUNCTIONS, REFERENCES, Local, Node
from .fingerprint_traits import Traits
from .fingerprint_tree import tree_of
from .fingerprint_walk import IN_FAILURE, MAX_DEPTH

MAX_AGAIN = 2_000

_TRANSPARENT = frozenset(
    {
        "program",
        "parenthesized_expression",
        "await_expression",
        "sequence_expression",
        "computed_property_name",
        "expression_statement",
        "statement_block",
        "else_clause",
        "finally_clause",
        "try_statement",
        "lexical_declaration",
        "variable_declaration",
        "export_statement",
    }
)
_FIRST_ONLY = frozenset({"as_expression", "satisfies_expression", "non_null_expression", "instantiation_expression"})


def read(code: str) -> dict[str, Any] | None:
    """The shape of the code as JSON; None for code that is too large."""
    source = code.encode(errors="replace")
    tree = tree_of(source)
    if tree is None:
        return None
    characters = source.decode("latin-1")
    locals_ = declared(tree, characters)
    names = Names(characters)
    found = _Reading(names, locals_).of(tree.root) | Traits(names, tree).of(tree.root)
    for local in locals_:
        # Names and values refer to each other: without this, the tree would wait for the garbage collector.
        local.value = local.first = None
    return found


class _Reading(Data):
    """Walks through the script once. A variable's value is visited where it is first used, as if it stood there."""

    def __init__(self, names: Names, locals_: list[Local]) -> None:
        super().__init__(names)
        self._locals = locals_
        self._again = 0

    def of(self, root: Node) -> dict[str, Any]:
        self._visit(root, "fn")
        for local in self._locals:
            value = local.value
            if value is None or local.used:
                continue
            local.used = True
            if local.deferred:
                # It was counted where it is used, but not visited there.
                self._visit(value, "")
            elif value.type not in FUNCTIONS:
                # Nothing uses the variable, but its value is evaluated all the same.
                self._visit(value, "fn")
        return self._found.to_json()

    def _if(self, node: Node, above: str) -> None:
        if _only_throws(node):
            self._quietly(node, above)
        else:
            self._any(node, above)

    def _reference(self, node: Node, above: str) -> None:
        local = node.local
        if local is None:
            name = self._names.text(node)
            if name != "undefined":
                self._found.globals.add(name)
        if local is None or local.value is None or (local.used and not self._is_looked_at_again(local.value)):
            self._note(above, self._names.label(node))
        elif self._depth >= MAX_DEPTH - 1 or self._quiet >= IN_FAILURE:
            # Visited where it is used next, or at the end.
            self._note(above, self._names.label(node))
            local.deferred = True
        elif local.value.type in FUNCTIONS:
            local.used = True
            self._function(local.value, above)
        else:
            local.used = True
            self._visit(local.value, above)

    def _is_looked_at_again(self, value: Node) -> bool:
        """Whether to visit a used value again. Yes for a member access, which many authors write out each time; but at
        most MAX_AGAIN times, because they can refer to each other."""
        if value.type != "member_expression" or self._again >= MAX_AGAIN:
            return False
        self._again += 1
        return True

    def _call(self, node: Node, above: str) -> None:
        callee, arguments = node.at.get("function"), node.at.get("arguments")
        given = arguments.kids if arguments is not None else []
        path = self._names.callee_path(node)
        if path is not None:
            if path[0] == "console":
                return
            if path == ("Array", "from") and len(given) == 1:
                self._note(above, "array")
                self._note("array", "spread")
                self._visit(given[0], "spread")
                return
            self._found.globals.add(path[0])
            if path[0] == "tools" and len(path) > 1:
                self._found.tools.add(".".join(path[1:]))
        if path is None and callee is not None and not given and self._is_inlined(callee):
            return
        label = self._names.called(node, path)
        self._note(above, label)
        if path is None and callee is not None:
            callee = bare(callee)
            self._visit(callee.at.get("object") or callee, label)
        for argument in given:
            if label == "loop" and argument.type in FUNCTIONS:
                self._body(argument, label)
            else:
                self._visit(argument, label)

    def _is_inlined(self, callee: Node) -> bool:
        """Inline a function at its first call, if that has no arguments: a whole script may be wrapped in one. Returns
        whether it was."""
        callee = bare(callee)
        local = callee.local if callee.type in REFERENCES else None
        function = callee if local is None else local.value
        if function is None or function.type not in FUNCTIONS or (local is not None and local.used):
            return False
        if self._quiet >= IN_FAILURE:
            return False
        if local is not None:
            local.used = True
        self._body(function, "fn")
        return True

    def _new(self, node: Node, above: str) -> None:
        label = self._names.made(node)
        self._note(above, label)
        path = self._names.path(node.at.get("constructor") or node)
        if path is not None:
            self._found.globals.add(path[0])
        arguments = node.at.get("arguments")
        if arguments is not None:
            self._below(arguments, label)

    def _access(self, node: Node, above: str) -> None:
        path = self._names.path(node)
        label = self._names.member(node, path)
        self._note(above, label)
        if path is not None:
            self._found.globals.add(path[0])
        owner, index = node.at.get("object"), node.at.get("index")
        local = index.local if index is not None and index.type in REFERENCES else None
        if local is not None and label != "[]":
            # The variable only names the key, and is used by that.
            local.used = True
        if label.startswith("global:"):
            return
        if owner is not None:
            self._visit(owner, label)
        if label == "[]" and index is not None:
            self._visit(index, label)
        elif label == ".":
            of = self._names.label(owner) if owner is not None else ""
            self._keep(f"{of} member", "name", self._names.key(node) or "")

    def _function(self, node: Node, above: str) -> None:
        self._note(above, "fn")
        self._body(node, "fn")

    def _body(self, function: Node, above: str) -> None:
        body = function.at.get("body")
        if body is None:
            return
        if body.type == "statement_block":
            self._visit(body, above)
        else:
            self._note(above, "return")
            self._visit(body, "return")

    def _declarator(self, node: Node, _above: str) -> None:
        name, value = node.at.get("name"), node.at.get("value")
        if name is None or value is None or name.type != "identifier":
            return
        local = name.local
        if local is not None and local.value is None:
            self._visit(value, "=")

    def _loop(self, node: Node, above: str) -> None:
        self._note(above, "loop")
        for kid in node.kids:
            if kid.field in ("right", "body"):
                self._visit(kid, "loop")

    def _assignment(self, node: Node, above: str) -> None:
        """`a = b`, and `a += b` as `a = a + b`."""
        self._note(above, "=")
        below = "="
        if node.type != "assignment_expression":
            below = operator(node).removesuffix("=")
            self._note("=", below)
        if node.type == "update_expression":
            self._note(below, "number")
        for kid in node.kids:
            if kid.field != "operator":
                self._visit(kid, below if kid.field == "right" else "=")


_Reading._visits = {
    **dict.fromkeys(_TRANSPARENT, _Reading._inside),
    **dict.fromkeys(_FIRST_ONLY, _Reading._first),
    **dict.fromkeys(REFERENCES, _Reading._reference),
    **dict.fromkeys(LITERALS, _Reading._literal),
    **dict.fromkeys(FUNCTIONS, _Reading._function),
    **dict.fromkeys(DATA, _Reading._data),
    "call_expression": _Reading._call,
    "new_expression": _Reading._new,
    "member_expression": _Reading._access,
    "subscript_expression": _Reading._access,
    "variable_declarator": _Reading._declarator,
    "template_string": _Reading._joined,
    "binary_expression": _Reading._binary,
    "unary_expression": _Reading._unary,
    "assignment_expression": _Reading._assignment,
    "augmented_assignment_expression": _Reading._assignment,
    "update_expression": _Reading._assignment,
    "for_in_statement": _Reading._loop,
    "if_statement": _Reading._if,
    "catch_clause": _Reading._quietly,
    "throw_statement": _Reading._quietly,
    # Visited where they are used.
    "function_declaration": _Reading._nothing,
    "generator_function_declaration": _Reading._nothing,
    "formal_parameters": _Reading._nothing,
    "property_identifier": _Reading._nothing,
}


def _only_throws(node: Node) -> bool:
    """Whether the statement is just `if (…) throw …`."""
    then = node.at.get("consequence")
    if then is None or node.at.get("alternative") is not None:
        return False
    steps = then.kids if then.type == "statement_block" else [then]
    return len(steps) == 1 and steps[0].type == "throw_statement"
