"""Reads a script as a shape: what it does, without the names, literals, spacing and comments that it is written with.

The shape is a bag of parts; a part is a label (`call:fetch`, `op:+`, `call:.map`) below another. Ways to write the same
thing give the same parts: `const` or `let`, an arrow or a function, a template or `+`, a name for a value or the value
itself, types or none, braces or none. Like `fingerprint_tree.py`, it must not run in the host process.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from zlib import crc32

from .fingerprint_tree import Local, Node, declared, text_of, tree_of
from .fingerprint_words import MEMBERS

MAX_DEPTH = 120
"""Of names for values made of names: what is deeper is looked at from the top again."""
MAX_PARTS = 512
MAX_LITERALS = 64
MAX_LITERAL_CHARS = 200
MAX_NAMES = 32
MAX_NAME_CHARS = 120
_MAX_ALIASES = 8

_HOST = re.compile(r"(?:https?|wss?)://(?:[^/?#@\s]*@)?([^/?#:@\s\"'`$\\]+)(?=[:/?#]|$)", re.IGNORECASE)

# What has the value of the expression in it; a block has the statements.
_TRANSPARENT_TEXT = """
    parenthesized_expression await_expression non_null_expression as_expression satisfies_expression
    expression_statement statement_block else_clause sequence_expression type_assertion program
    lexical_declaration variable_declaration export_statement finally_clause template_substitution
    instantiation_expression computed_property_name
"""
_TRANSPARENT = frozenset(_TRANSPARENT_TEXT.split())
_FIRST_ONLY = frozenset({"as_expression", "satisfies_expression", "non_null_expression", "instantiation_expression"})
_FUNCTIONS_TEXT = """
    arrow_function function_expression function_declaration generator_function generator_function_declaration
    method_definition
"""
_FUNCTIONS = frozenset(_FUNCTIONS_TEXT.split())
_LITERALS = {"string": "text", "number": "number", "regex": "regex", "true": "boolean", "false": "boolean"}
_SAME_OPERATOR = {"===": "==", "!==": "!=", "||": "??", "++": "+", "--": "-"}
_STATEMENTS = {
    "if_statement": "if",
    "for_statement": "for",
    "for_in_statement": "loop",
    "while_statement": "while",
    "do_statement": "while",
    "return_statement": "return",
    "throw_statement": "throw",
    "switch_statement": "switch",
    "catch_clause": "catch",
    "array": "array",
    "object": "object",
    "spread_element": "spread",
    "null": "null",
    "undefined": "null",
    "ternary_expression": "?:",
    "class_declaration": "class",
    "class": "class",
}


def read(code: str) -> dict[str, Any] | None:
    """The shape of the code as JSON, or None for code that is too large to have one."""
    source = code.encode(errors="replace")
    root = tree_of(source)
    return None if root is None else _Reading(source, declared(root, source)).of(root)


class _Reading:
    def __init__(self, source: bytes, locals_: list[Local]) -> None:
        self._source = source
        self._locals = locals_
        self._parts: Counter[tuple[str, str]] = Counter()
        self._literals: list[tuple[str, str, str]] = []
        self._places: Counter[str] = Counter()
        self._globals: set[str] = set()
        self._tools: set[str] = set()
        self._hosts: set[str] = set()
        self._place = ""
        self._depth = 0

    def of(self, root: Node) -> dict[str, Any]:
        self._visit(root, "fn")
        # What nothing uses is done all the same, and what was too deep is looked at from here.
        for local in self._locals:
            if local.value is not None and not local.used and local.value.type not in _FUNCTIONS:
                local.used = True
                self._visit(local.value, "fn")
        return {
            "parts": _sampled(self._parts),
            "literals": self._literals[:MAX_LITERALS],
            "globals": _names(self._globals),
            "tools": _names(self._tools),
            "hosts": _names(self._hosts),
        }

    def _visit(self, node: Node, above: str) -> None:
        """Note the node below the label above it, and then what is below the node."""
        kind = node.type
        if kind in _TRANSPARENT:
            kids = node.kids[:1] if kind in _FIRST_ONLY else node.kids
            for kid in kids:
                self._visit(kid, above)
            return
        self._depth += 1
        if self._depth <= MAX_DEPTH:
            special = _VISITS.get(kind)
            if special is not None:
                special(self, node, above)
            else:
                label = self._label(node)
                self._parts[above, label] += 1
                for kid in node.kids:
                    self._visit(kid, label)
        self._depth -= 1

    def _label(self, node: Node) -> str:  # noqa: PLR0911 - a table of kinds
        """What the node is called in parts: that of a name is that of what it stands for."""
        for _ in range(_MAX_ALIASES):
            node = _bare(node)
            if node.type not in _REFERENCES:
                break
            name = text_of(node, self._source)
            local = node.scope.find(name) if node.scope is not None else None
            if local is None:
                return "null" if name == "undefined" else f"global:{name}"
            if local.value is None:
                return "name"
            node = local.value
        kind = node.type
        if kind == "call_expression":
            return self._called(node)
        if kind in ("member_expression", "subscript_expression"):
            return self._member(node)
        if kind == "binary_expression":
            return "text" if self._is_text(node) else _operator(node)
        if kind == "unary_expression":
            return "number" if _is_negative(node) else _operator(node)
        if kind == "new_expression":
            made = node.at("constructor")
            return f"new:{text_of(made, self._source)[:MAX_NAME_CHARS]}" if made is not None else "new"
        if kind in _FUNCTIONS:
            return "fn"
        if kind == "template_string":
            return "text"
        if kind in _REFERENCES:
            return "name"
        return _LITERALS.get(kind) or _STATEMENTS.get(kind) or kind

    def _called(self, node: Node) -> str:
        callee = node.at("function")
        if callee is None:
            return "call"
        callee = _bare(callee)
        path = self._path(callee)
        if path is not None and path[0] == "tools":
            return f"tool:{'.'.join(path[1:])}"
        if path is not None:
            return f"call:{'.'.join(path[:2])}"
        if callee.type == "member_expression":
            member = self._member(callee)
            return "loop" if member == ".forEach" else f"call:{member}"
        return "call:fn"

    def _member(self, node: Node) -> str:
        path = self._path(node)
        if path is not None and len(path) == 2 and path[0] != "tools":
            return f"global:{'.'.join(path)}"
        name = self._key(node)
        if name is None:
            return "[]"
        return f".{name}" if name in MEMBERS else "."

    def _key(self, node: Node) -> str | None:
        """The name after the dot, or the literal in the brackets."""
        key = node.at("property") or node.at("index")
        if key is None:
            return ""
        text = text_of(key, self._source)
        if key.type in ("property_identifier", "private_property_identifier"):
            return text
        if key.type == "string":
            return text[1:-1]
        return "" if key.type == "number" else None

    def _path(self, node: Node) -> tuple[str, ...] | None:
        """`("tools", "github", "list")` for what leads to a global by constant names only, also through names of the
        script's own. None for what leads to data."""
        names: list[str] = []
        aliases: list[Local] = []
        for _ in range(2 * _MAX_ALIASES):
            node = _bare(node)
            if node.type in _REFERENCES:
                name = text_of(node, self._source)
                local = node.scope.find(name) if node.scope is not None else None
                if local is None and name != "context":
                    for alias in aliases:
                        alias.used = True
                    return (name[:MAX_NAME_CHARS], *reversed(names))
                if local is None or local.value is None:
                    return None
                aliases.append(local)
                node = local.value
            elif node.type in ("member_expression", "subscript_expression"):
                key, owner = self._key(node), node.at("object")
                if not key or owner is None:
                    return None
                names.append(key[:MAX_NAME_CHARS])
                node = owner
            else:
                return None
        return None

    def _is_text(self, node: Node) -> bool:
        """Whether a `+` puts texts together, as far as one sees."""
        for _ in range(2 * _MAX_ALIASES):
            if node.type != "binary_expression" or _operator(node) != "op:+":
                return False
            left, right = node.at("left"), node.at("right")
            if left is None or right is None:
                return False
            left, right = _bare(left), _bare(right)
            if "string" in (left.type, right.type) or "template_string" in (left.type, right.type):
                return True
            node = left
        return False

    def _reference(self, node: Node, above: str) -> None:
        name = text_of(node, self._source)
        local = node.scope.find(name) if node.scope is not None else None
        if local is None and name != "undefined":
            self._globals.add(name)
        if local is None or local.value is None or local.used or self._depth >= MAX_DEPTH:
            self._parts[above, self._label(node)] += 1
            return
        # The first use stands for the value itself, as if it had no name.
        local.used = True
        if local.value.type in _FUNCTIONS:
            self._function(local.value, above)
        else:
            self._visit(local.value, above)

    def _call(self, node: Node, above: str) -> None:
        label = self._called(node)
        callee, arguments = node.at("function"), node.at("arguments")
        path = self._path(callee) if callee is not None else None
        if path is not None and path[0] == "console":
            return
        self._parts[above, label] += 1
        if path is not None:
            self._globals.add(path[0])
            if path[0] == "tools" and len(path) > 1:
                self._tools.add(".".join(path[1:]))
        elif callee is not None:
            callee = _bare(callee)
            owner = callee.at("object")
            if owner is not None:
                self._visit(owner, label)
            else:
                self._visit(callee, label)
        for argument in arguments.kids if arguments is not None else ():
            if label == "loop" and argument.type in _FUNCTIONS:
                self._body(argument, "loop")
            else:
                self._visit(argument, label)

    def _access(self, node: Node, above: str) -> None:
        label = self._member(node)
        self._parts[above, label] += 1
        path = self._path(node)
        if path is not None:
            self._globals.add(path[0])
        if label.startswith("global:"):
            return
        owner, index = node.at("object"), node.at("index")
        if owner is not None:
            self._visit(owner, label)
        if index is not None and label == "[]":
            self._visit(index, label)

    def _function(self, node: Node, above: str) -> None:
        self._parts[above, "fn"] += 1
        self._body(node, "fn")

    def _body(self, function: Node, above: str) -> None:
        body = function.at("body")
        if body is None:
            return
        if body.type == "statement_block":
            self._visit(body, above)
        else:
            self._parts[above, "return"] += 1
            self._visit(body, "return")

    def _declarator(self, node: Node, _above: str) -> None:
        name, value = node.at("name"), node.at("value")
        if name is None or value is None or name.type != "identifier":
            return
        local = node.scope.find(text_of(name, self._source)) if node.scope is not None else None
        if local is not None and local.value is None:
            self._visit(value, "=")

    def _literal(self, node: Node, above: str) -> None:
        label = _LITERALS[node.type]
        self._parts[above, label] += 1
        text = text_of(node, self._source)
        self._keep(above, label, text[1:-1] if label == "text" else text)

    def _keep(self, above: str, kind: str, text: str) -> None:
        if kind == "text":
            self._hosts.update(host.lower() for host in _HOST.findall(text))
        place = (self._place if above in ("object", "array") else above)[:MAX_NAME_CHARS]
        self._places[place] += 1
        place = f"{place} {self._places[place]}"
        self._literals.append((place, kind, text[:MAX_LITERAL_CHARS]))

    def _joined(self, node: Node, above: str) -> None:
        """A template, or texts and values put together by `+`."""
        self._parts[above, "text"] += 1
        self._keep(above, "text", "".join(self._pieces(node, 0)))

    def _pieces(self, node: Node, depth: int) -> Iterator[str]:
        """What is known of the text; `${}` stands for what is not, which is looked at."""
        node = _bare(node)
        literal = self._constant(node)
        if literal is not None:
            yield text_of(literal, self._source).strip("\"'`")
        elif node.type == "template_string" and depth < _MAX_ALIASES:
            for kid in node.kids:
                if kid.type == "template_substitution" and kid.kids:
                    yield from self._pieces(kid.kids[0], depth + 1)
                elif kid.type != "template_substitution":
                    yield text_of(kid, self._source)
        elif node.type == "binary_expression" and _operator(node) == "op:+" and depth < MAX_DEPTH // 2:
            for kid in node.kids:
                if kid.field != "operator":
                    yield from self._pieces(kid, depth + 1)
        else:
            yield "${}"
            self._visit(node, "text")

    def _constant(self, node: Node) -> Node | None:
        """The literal that the node is, or that its name stands for."""
        if node.type in _REFERENCES and node.scope is not None:
            local = node.scope.find(text_of(node, self._source))
            if local is not None and local.value is not None and _bare(local.value).type in _LITERALS:
                local.used = True
                return _bare(local.value)
        return node if node.type in _LITERALS else None

    def _binary(self, node: Node, above: str) -> None:
        if self._is_text(node):
            self._joined(node, above)
            return
        label = _operator(node)
        self._parts[above, label] += 1
        for kid in node.kids:
            if kid.field != "operator":
                self._visit(kid, label)

    def _unary(self, node: Node, above: str) -> None:
        if _is_negative(node):
            self._parts[above, "number"] += 1
            self._keep(above, "number", text_of(node, self._source))
            return
        label = _operator(node)
        self._parts[above, label] += 1
        for kid in node.kids:
            if kid.field != "operator":
                self._visit(kid, label)

    def _assignment(self, node: Node, above: str) -> None:
        """`a = b`, and `a += b` as `a = a + b`."""
        self._parts[above, "="] += 1
        below = "="
        if node.type != "assignment_expression":
            below = _operator(node).removesuffix("=")
            self._parts["=", below] += 1
        if node.type == "update_expression":
            self._parts[below, "number"] += 1
        for kid in node.kids:
            if kid.field != "operator":
                self._visit(kid, below if kid.field == "right" else "=")

    def _pair(self, node: Node, above: str) -> None:
        key, value = node.at("key"), node.at("value")
        outer = self._place
        if key is not None:
            self._place = f"{outer[:MAX_NAME_CHARS]} {text_of(key, self._source)[:MAX_NAME_CHARS]}"
        if value is not None:
            self._visit(value, above)
        self._place = outer

    def _object(self, node: Node, above: str) -> None:
        label, outer = node.type, self._place
        self._parts[above, label] += 1
        if above not in ("object", "array"):
            self._place = above
        for kid in node.kids:
            self._visit(kid, label)
        self._place = outer

    def _new(self, node: Node, above: str) -> None:
        label, made, arguments = self._label(node), node.at("constructor"), node.at("arguments")
        self._parts[above, label] += 1
        if made is not None and made.type == "identifier":
            name = text_of(made, self._source)
            if node.scope is None or node.scope.find(name) is None:
                self._globals.add(name)
        for argument in arguments.kids if arguments is not None else ():
            self._visit(argument, label)

    def _loop(self, node: Node, above: str) -> None:
        self._parts[above, "loop"] += 1
        for kid in node.kids:
            if kid.field != "left":
                self._visit(kid, "loop")

    def _try(self, node: Node, above: str) -> None:
        for kid in node.kids:
            self._visit(kid, above)

    def _nothing(self, _node: Node, _above: str) -> None:
        """Says nothing by itself."""


_REFERENCES = frozenset({"identifier", "shorthand_property_identifier"})

_VISITS: dict[str, Callable[[_Reading, Node, str], None]] = {
    "identifier": _Reading._reference,
    "shorthand_property_identifier": _Reading._reference,
    "call_expression": _Reading._call,
    "member_expression": _Reading._access,
    "subscript_expression": _Reading._access,
    "variable_declarator": _Reading._declarator,
    "template_string": _Reading._joined,
    "binary_expression": _Reading._binary,
    "unary_expression": _Reading._unary,
    "assignment_expression": _Reading._assignment,
    "augmented_assignment_expression": _Reading._assignment,
    "update_expression": _Reading._assignment,
    "pair": _Reading._pair,
    "object": _Reading._object,
    "array": _Reading._object,
    "new_expression": _Reading._new,
    "for_in_statement": _Reading._loop,
    "try_statement": _Reading._try,
    **dict.fromkeys(_LITERALS, _Reading._literal),
    **dict.fromkeys(_FUNCTIONS, _Reading._function),
    # Where a function is used, it is looked at.
    "function_declaration": _Reading._nothing,
    "generator_function_declaration": _Reading._nothing,
    "formal_parameters": _Reading._nothing,
    "property_identifier": _Reading._nothing,
}


def _bare(node: Node) -> Node:
    while node.type in _VALUES and node.kids:
        node = node.kids[-1] if node.type == "sequence_expression" else node.kids[0]
    return node


_VALUES_TEXT = """
    parenthesized_expression await_expression non_null_expression as_expression satisfies_expression
    sequence_expression instantiation_expression
"""
_VALUES = frozenset(_VALUES_TEXT.split())


def _operator(node: Node) -> str:
    found = node.at("operator")
    name = found.type if found is not None else "?"
    return f"op:{_SAME_OPERATOR.get(name, name)}"


def _is_negative(node: Node) -> bool:
    value = node.at("argument")
    return value is not None and value.type == "number" and _operator(node) in ("op:-", "op:+")


def _sampled(parts: Counter[tuple[str, str]]) -> dict[str, int]:
    """Those with the smallest hashes: of two large scripts the same ones are kept, so that they can be compared."""
    hashed: Counter[int] = Counter()
    for (above, label), count in parts.items():
        hashed[crc32(f"{above}>{label}".encode())] += count
    return {f"{key:08x}": hashed[key] for key in sorted(hashed)[:MAX_PARTS]}


def _names(names: set[str]) -> list[str]:
    return [name[:MAX_NAME_CHARS] for name in sorted(names)[:MAX_NAMES]]
