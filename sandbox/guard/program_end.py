"""Finds where a program that has no `return` gives its value: its last expression, or a function that nothing calls.

Runs in the reading process, never in the host: a parse may not end. Offsets count bytes of UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
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
_NO_NAMES = frozenset({"comment", "string_fragment", "property_identifier", "escape_sequence", "regex_pattern"})
# More than that are not looked at: finding each in the tree takes time.
_MAX_MENTIONS = 200
_MAX_DEPTH = 50
# Expressions that pass on a value of theirs: of which of their parts.
_PASSING = {
    **dict.fromkeys(("parenthesized_expression", "sequence_expression", "assignment_expression"), slice(-1, None)),
    **dict.fromkeys(("as_expression", "satisfies_expression", "non_null_expression", "await_expression"), slice(0, 1)),
    **dict.fromkeys(("binary_expression", "augmented_assignment_expression"), slice(None)),
    "ternary_expression": slice(1, None),
}
_CALL = rb"\s{0,99}(?:\?\.)?(?:\s{0,99}\(|`|\s{0,99}\.\s{0,99}(?:call|apply|bind)\b)"
_PARTS = {
    "if_statement": ("consequence", "alternative"),
    "try_statement": ("body", "handler"),
    "catch_clause": ("body",),
}
_CALLS = ("call_expression", "await_expression")
_HOLDS_STATEMENTS = ("statement", "block", "clause", "body", "case", "default")


def program_end(code: str) -> list[list[Any]]:
    """The edits that make the program return its value: `["return", at]` and `["end", at]` around an expression,
    `["default", start, end]` for `export default` before one, `["blank", start, end]` for what only a module may have,
    `["main", start, end]` for `import.meta.main`, `["call", name, gives_context]` for a function that is called at the
    end, and `["name", name]` for a value.

    A function is called only where it is certain that nothing else can call it: an answer that is missed is better than
    an effect that happens twice. The same holds for a value that is a function, for the harness calls that.
    """
    source = code.encode(errors="replace")
    root = parser().parse(source).root_node
    if root.has_error:
        return []
    statements = [node for node in root.named_children if node.type != "comment"]
    names = Names(root, source, statements)
    edits = [*_unexported(statements), *names.asks_for_main()]
    has_return = b"return" in source and any(_returns(node) for node in statements)
    # What was called before is exported to nobody: `await main(); export default main`.
    ending = [node for node in statements if not _is_spent_export(node, names)]
    if has_return and not _is_expression_last(ending):
        return edits
    entry = None if has_return else _entry(statements, names)
    exported = _default_name(statements, names)
    last = _ends(_last(ending), 0, names)
    if entry is None and exported is not None:
        edits.append(["name", exported])
    elif entry is None or (last and entry[0].encode() not in _ENTRIES):
        edits += last
    else:
        edits.append(["call", *entry])
    returned = {edit[1] for edit in edits if edit[0] == "default"}
    edits += [edit for edit in _as_expressions(statements) if edit[1] not in returned]
    return edits


class Names:
    """Says of a name whether something in the program may have called what it stands for."""

    def __init__(self, root: Node, source: bytes, statements: Sequence[Node]) -> None:
        self._root = root
        self._source = source
        self._statements = statements
        self._hides_names: bool | None = None
        self._have_run: dict[bytes, bool] = {}
        self._by_name: dict[bytes, tuple[Node, Node]] | None = None

    def may_be_any(self) -> bool:
        """Whether names may stand in the program that cannot be seen: in escapes, or in a text that is evaluated."""
        if self._hides_names is None:
            escapes = [found.start() for found in re.finditer(rb"\\u", self._source)]
            self._hides_names = (
                re.search(rb"(?<![\w$])eval(?![\w$])", self._source) is not None
                or len(escapes) > _MAX_MENTIONS
                or any(not self._is_text(at, at + 2) for at in escapes)
            )
        return self._hides_names

    def asks_for_main(self) -> list[list[Any]]:
        """Where the program asks whether it is the one that was started, as programs for Deno do: it is."""
        found = islice(re.finditer(rb"(?<![\w$.])import\.meta\.main(?![\w$])", self._source), _MAX_MENTIONS)
        return [["main", at.start(), at.end()] for at in found if not self._is_text(*at.span())]

    def has_entry(self) -> bool:
        return any(entry in self._source for entry in _ENTRIES)

    def is_alone(self, name: bytes, *own: Node) -> bool:
        """Whether it is certain that the program mentions the name only in these nodes, in texts and in exports."""
        if self.may_be_any():
            return False
        mentions = [*re.finditer(rb"(?<![\w$])" + re.escape(name) + rb"(?![\w$])", self._source)]
        if len(mentions) > _MAX_MENTIONS:
            return False
        return all(
            any(node.start_byte <= found.start() < node.end_byte for node in own)
            or self._is_text(found.start(), found.end())
            for found in mentions
        )

    def may_have_run(self, expression: Node) -> bool:
        """Whether the value of an expression may be a function that the program has called, or has given away."""
        return any(self._may_have_run(node) for node in _possible_values(expression))

    def _may_have_run(self, node: Node) -> bool:
        if node.type == "assignment_expression":
            # What is assigned can be called by what was started before.
            return True
        if node.type not in {"identifier", "member_expression", "subscript_expression"}:
            return False
        words = node.text or b""
        if words not in self._have_run:
            self._have_run[words] = self._is_called(words) or self._is_function_of_others(node)
        return self._have_run[words]

    def _is_called(self, words: bytes) -> bool:
        """Whether the same words are called elsewhere: `api.main` where `api.main()` stands."""
        calls = re.finditer(rb"(?<![\w$])(" + re.escape(words) + rb")" + _CALL, self._source)
        return any(not self._is_text(*found.span(1), defined=True) for found in islice(calls, _MAX_MENTIONS))

    def _is_function_of_others(self, mention: Node) -> bool:
        """Whether a function of the program has this name, or another one, and is mentioned elsewhere."""
        if mention.type != "identifier":
            return False
        values = self._values()
        found = values.get(mention.text or b"")
        if found is None:
            return False
        name, value = found
        if value.type == "identifier":
            named = values.get(value.text or b"")
            return named is not None and named[1].type in _FUNCTIONS
        return value.type in _FUNCTIONS and not self.is_alone(name.text or b"", name, value, mention)

    def _values(self) -> dict[bytes, tuple[Node, Node]]:
        if self._by_name is None:
            pairs = (pair for node in self._statements for pair in _values_of(node))
            self._by_name = {name.text or b"": (name, value) for name, value in pairs}
        return self._by_name

    def _is_text(self, start: int, end: int, *, defined: bool = False) -> bool:
        """Whether what stands there names nothing that could be called. `defined` takes the name of a function, where
        that is defined, for a text, too."""
        node = self._root.descendant_for_byte_range(start, end)
        if node is None:
            return False
        above = "" if node.parent is None else node.parent.type
        return node.type in _NO_NAMES or above == "export_specifier" or (defined and above in _FUNCTIONS)


def _possible_values(expression: Node) -> Iterator[Node]:
    """The parts of an expression whose value can be that of the whole, and assignments of functions. A loop, because
    code may be nested deeper than Python can recurse."""
    pending = [expression]
    while pending:
        node = pending.pop()
        parts = [child for child in node.named_children if child.type != "comment"] if node.type in _PASSING else []
        operator = node.child_by_field_name("operator") if node.type == "binary_expression" else None
        assigns = node.type == "assignment_expression" and parts[-1].type in _FUNCTIONS
        if assigns or node.type not in _PASSING:
            yield node
        elif operator is None or operator.type in {"||", "&&", "??"}:
            pending += parts[_PASSING[node.type]]


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


def _ends(node: Node | None, depth: int, names: Names) -> list[list[Any]]:
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
        return _valued(node, names)
    return [edit for part in parts for edit in _ends(part, depth + 1, names)]


def _valued(node: Node, names: Names) -> list[list[Any]]:
    """The edits that return the value of one statement without parts."""
    if node.type == "export_statement":
        value = node.child_by_field_name("value")
        return [] if value is None else [["default", node.start_byte, value.start_byte], ["end", value.end_byte]]
    named = [child for child in node.named_children if child.type != "comment"]
    if node.type != "expression_statement" or not named or named[0].type == "internal_module":
        return []
    inner = named[0]
    if names.may_have_run(inner):
        return []
    if inner.type == "unary_expression" and inner.children[0].type == "void" and inner.children[1].type in _CALLS:
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


def _as_expressions(statements: Sequence[Node]) -> Iterator[list[Any]]:
    """The edits that make an expression of each `export default name`."""
    for node in statements:
        value = node.child_by_field_name("value") if node.type == "export_statement" else None
        if value is not None and value.type == "identifier":
            yield ["blank", node.start_byte, value.start_byte]


def _is_spent_export(node: Node, names: Names) -> bool:
    value = node.child_by_field_name("value") if node.type == "export_statement" else None
    return value is not None and value.type == "identifier" and names.may_have_run(value)


def _default_name(statements: Sequence[Node], names: Names) -> str | None:
    """The name of a function or class that is the default export; None if it may have run."""
    for node in statements:
        declaration = node.child_by_field_name("declaration") if node.type == "export_statement" else None
        if declaration is not None and any(child.type == "default" for child in node.children):
            name = declaration.child_by_field_name("name")
            if name is None or (declaration.type in _FUNCTIONS and not names.is_alone(name.text or b"", declaration)):
                return None
            return _text(name)
    return None


def _returns(node: Node) -> bool:
    """Whether a `return` of the program itself is in the statement."""
    pending = [node]
    while pending:
        here = pending.pop()
        if here.type == "return_statement":
            return True
        if here.type not in _OWN_SCOPE and here.type.endswith(_HOLDS_STATEMENTS):
            pending += here.named_children
    return False


def _entry(statements: Sequence[Node], names: Names) -> tuple[str, bool] | None:
    """The function that is to be called at the end, and whether it is given the context; None if there is none."""
    is_declarations = all(node.type in _DECLARATIONS for node in statements)
    if not is_declarations and not names.has_entry():
        return None
    found = [pair for node in statements for pair in _values_of(node) if pair[1].type in _FUNCTIONS]
    by_name = {name.text: (name, function) for name, function in found}
    for entry in _ENTRIES:
        if entry in by_name:
            name, function = by_name[entry]
            required = _required(function)
            return (_text(name), required == 1) if required <= 1 and names.is_alone(entry, name, function) else None
    if len(found) == 1 and is_declarations:
        name, function = found[0]
        if _required(function) == 0 and names.is_alone(name.text or b"", name, function):
            return _text(name), False
    return None


def _values_of(node: Node) -> Iterator[tuple[Node, Node]]:
    """The names that a statement at the top of the program defines, each with its function or other value."""
    if node.type == "export_statement":
        node = node.child_by_field_name("declaration") or node
    if node.type == "function_declaration":
        name = node.child_by_field_name("name")
        if name is not None:
            yield name, node
    elif node.type in {"lexical_declaration", "variable_declaration"}:
        for declarator in node.named_children:
            name, value = (declarator.child_by_field_name(field) for field in ("name", "value"))
            if name is not None and name.type == "identifier" and value is not None:
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


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
