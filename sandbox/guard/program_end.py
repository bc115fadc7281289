"""Finds where a program that has no `return` gives its value: its last expression, or a function that nothing calls.

Runs in the reading process, never in the host: a parse may not end. Offsets count bytes of UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .patterns import parser

if TYPE_CHECKING:
    from tree_sitter import Node

# Statements that do nothing when they are reached: functions are hoisted, and types are gone by then.
_INERT = frozenset(
    {
        *("comment", "empty_statement", "function_declaration", "generator_function_declaration", "function_signature"),
        *("type_alias_declaration", "interface_declaration", "ambient_declaration"),
    }
)
_DECLARATIONS = _INERT | {
    *("lexical_declaration", "variable_declaration", "class_declaration", "abstract_class_declaration"),
    *("enum_declaration", "import_statement", "export_statement"),
}
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "function_declaration"})
_OWN_SCOPE = _FUNCTIONS | {"generator_function", "generator_function_declaration", "class_body", "method_definition"}
_ENTRIES = (b"main", b"run")
_NO_NAMES = frozenset({"comment", "string_fragment", "property_identifier"})
_MAX_DEPTH = 50
_PARTS = {
    "if_statement": ("consequence", "alternative"),
    "try_statement": ("body", "handler"),
    "catch_clause": ("body",),
}
_HOLDS_STATEMENTS = ("statement", "block", "clause", "body", "case", "default")


def program_end(code: str) -> list[list[Any]]:
    """The edits that make the program return its value: `["return", at]` and `["end", at]` around an expression,
    `["default", start, end]` for `export default` before one, `["blank", start, end]` for what only a module may have,
    `["call", name, gives_context]` for a function that is called at the end, and `["name", name]` for a value."""
    root = parser().parse(code.encode(errors="replace")).root_node
    if root.has_error:
        return []
    statements = [node for node in root.named_children if node.type != "comment"]
    edits = list(_unexported(statements))
    if any(_returns(node) for node in statements) and not _is_expression_last(statements):
        return edits
    entry = None if any(_returns(node) for node in statements) else _entry(statements)
    exported = _default_name(statements)
    last = _ends(_last(statements), 0)
    if entry is None and exported is not None:
        edits.append(["name", exported])
    elif entry is None:
        edits += last
    elif not last or entry[0].encode() in _ENTRIES:
        edits.append(["call", *entry])
    else:
        edits += last
    return edits


def _last(statements: Sequence[Node]) -> Node | None:
    """The last statement that does something."""
    return next((node for node in reversed(statements) if not _is_inert(node)), None)


def _is_inert(node: Node) -> bool:
    if node.type != "export_statement":
        return node.type in _INERT
    inner = node.child_by_field_name("declaration")
    return node.child_by_field_name("value") is None and (inner is None or inner.type in _INERT)


def _is_expression_last(statements: Sequence[Node]) -> bool:
    last = _last(statements)
    return last is not None and last.type == "expression_statement"


def _ends(node: Node | None, depth: int) -> list[list[Any]]:
    """The edits that return the value of a last statement; none if it has no value."""
    if node is None or depth > _MAX_DEPTH:
        return []
    parts: Sequence[Node | None]
    if node.type in _PARTS:
        parts = [node.child_by_field_name(name) for name in _PARTS[node.type]]
    elif node.type == "statement_block":
        parts = [_last([child for child in node.named_children if child.type != "comment"])]
    elif node.type == "else_clause":
        parts = node.named_children
    else:
        return _valued(node)
    return [edit for part in parts for edit in _ends(part, depth + 1)]


def _valued(node: Node) -> list[list[Any]]:
    """The edits that return the value of one statement without parts."""
    if node.type == "export_statement":
        value = node.child_by_field_name("value")
        return [] if value is None else [["default", node.start_byte, value.start_byte], ["end", value.end_byte]]
    named = [child for child in node.named_children if child.type != "comment"]
    if node.type != "expression_statement" or not named or named[0].type == "internal_module":
        return []
    inner = named[0]
    if inner.type == "unary_expression" and inner.children[0].type == "void":
        # `void main()` starts what nothing would wait for.
        argument = inner.children[1]
        return [["blank", inner.start_byte, argument.start_byte], *_around(argument)]
    return _around(inner)


def _around(expression: Node) -> list[list[Any]]:
    return [["return", expression.start_byte], ["end", expression.end_byte]]


def _unexported(statements: Sequence[Node]) -> Iterator[list[Any]]:
    for node in statements:
        if node.type != "export_statement" or node.child_by_field_name("source") is not None:
            continue
        declaration = node.child_by_field_name("declaration")
        if declaration is not None:
            yield ["blank", node.start_byte, declaration.start_byte]
        elif node.child_by_field_name("value") is None:
            yield ["blank", node.start_byte, node.end_byte]


def _default_name(statements: Sequence[Node]) -> str | None:
    """The name of a function or class that is the default export."""
    for node in statements:
        declaration = node.child_by_field_name("declaration") if node.type == "export_statement" else None
        if declaration is not None and any(child.type == "default" for child in node.children):
            name = declaration.child_by_field_name("name")
            return None if name is None else _text(name)
    return None


def _returns(node: Node) -> bool:
    """Whether a `return` of the program itself is in the statement."""
    pending = [node]
    while pending:
        here = pending.pop()
        if here.type == "return_statement":
            return True
        if here.type not in _OWN_SCOPE and here.type.endswith(
            ("statement", "block", "clause", "body", "case", "default")
        ):
            pending += here.named_children
    return False


def _entry(statements: Sequence[Node]) -> tuple[str, bool] | None:
    """The function that is to be called at the end, and whether it is given the context; None if there is none."""
    found = [pair for node in statements for pair in _functions_of(node)]
    by_name = {name.text: (name, function) for name, function in found}
    for entry in _ENTRIES:
        if entry in by_name:
            name, function = by_name[entry]
            required = _required(function)
            return (_text(name), required == 1) if required <= 1 and _is_uncalled(name, function) else None
    if len(found) == 1 and all(node.type in _DECLARATIONS for node in statements):
        name, function = found[0]
        if _required(function) == 0 and _is_uncalled(name, function):
            return _text(name), False
    return None


def _functions_of(node: Node) -> Iterator[tuple[Node, Node]]:
    """The functions that a statement at the top of the program defines, each with its name."""
    if node.type == "export_statement":
        node = node.child_by_field_name("declaration") or node
    if node.type == "function_declaration":
        name = node.child_by_field_name("name")
        if name is not None:
            yield name, node
    elif node.type in {"lexical_declaration", "variable_declaration"}:
        for declarator in node.named_children:
            name, value = (declarator.child_by_field_name(field) for field in ("name", "value"))
            if name is not None and name.type == "identifier" and value is not None and value.type in _FUNCTIONS:
                yield name, value


def _required(function: Node) -> int:
    """How many arguments the function must be given."""
    if function.child_by_field_name("parameter") is not None:  # x => x
        return 1
    parameters = function.child_by_field_name("parameters")
    named = [] if parameters is None else parameters.named_children
    return sum(
        node.type == "required_parameter"
        and node.child_by_field_name("value") is None
        and not any(child.type == "rest_pattern" for child in node.named_children)
        for node in named
    )


def _is_uncalled(name: Node, function: Node) -> bool:
    """Whether nothing outside of the function names it."""
    root = name
    while root.parent is not None:
        root = root.parent
    source, wanted = root.text or b"", name.text or b""
    for found in re.finditer(rb"(?<![\w$.])" + re.escape(wanted) + rb"(?![\w$])", source):
        if found.start() != name.start_byte and not function.start_byte <= found.start() < function.end_byte:
            node = root.descendant_for_byte_range(found.start(), found.end())
            is_exported = node is not None and node.parent is not None and node.parent.type == "export_specifier"
            if node is not None and node.type not in _NO_NAMES and not is_exported:
                return False
    return True


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
