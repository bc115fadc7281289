"""Finds the places of constant values in a script, so that another value can be put there.

Runs in a process of its own, because the parser can be made to hang. It imports nothing of the project.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_BYTES = 200_000
MAX_NODES = 20_000
MAX_PLACES = 300
MAX_VALUE_CHARS = 2_000
MAX_LABEL_CHARS = 80
_MAX_DEPTH = 12
_SKIPPED = frozenset({"type_annotation", "type_arguments", "type_parameters", "interface_declaration", "comment"})
_SKIPPED_TOO = frozenset({"type_alias_declaration", "import_statement", "regex"})
_VALUES = frozenset({"number", "string", "true", "false", "array", "object", "unary_expression"})
# The parts of an address, or of another text with marks in it. No part has an escape in it, so that it can be cut out.
_TOKEN = re.compile(r"[\w.%~@+ -]+")
_MARKED = re.compile(r"[/?&=:;|]")
_UNUSABLE = object()
_WORDS = {"true": True, "false": False, "null": None}


def places(code: str) -> list[Any] | None:
    """Whether the script is one expression, and its places. None for code that is too large.

    Each place: start, end, form, label, value as JSON text, and the start and end of the text around it. The form is
    "value", "text" for a part of a text, or "template" for a part of a template.
    """
    source = code.encode("utf-8", "replace")
    if len(source) > MAX_BYTES:
        return None
    root = _parser().parse(source).root_node
    statements = [kid.type for kid in root.named_children if kid.type != "comment"]
    found = _places(root, source)
    if found is not None and len(source) != len(code):
        found = _shifted(found, source)
    return None if found is None else [statements == ["expression_statement"], found]


def _shifted(found: list[list[Any]], source: bytes) -> list[list[Any]]:
    """With positions in characters and not in bytes."""
    at, character = [0] * (len(source) + 1), 0
    for byte, value in enumerate(source):
        character += (value & 0xC0) != 0x80  # the later bytes of a character do not count
        at[byte] = character - 1
    at[len(source)] = character
    return [[at[start], at[end], form, label, value, at[a], at[b]] for start, end, form, label, value, a, b in found]


def _places(root: Node, source: bytes) -> list[list[Any]] | None:
    found: list[list[Any]] = []
    stack = [root]
    count = 0
    while stack and len(found) < MAX_PLACES:
        node = stack.pop()
        count += 1
        if count > MAX_NODES:
            return None
        if node.type in _SKIPPED or node.type in _SKIPPED_TOO or _is_no_value(node):
            continue
        if node.type in _VALUES:
            _note_value(node, source, found)
        elif node.type == "string_fragment" and node.parent is not None and node.parent.type == "template_string":
            _note_tokens(node, node, "template", source, found)
        stack.extend(reversed(node.children))
    return sorted(found)


def _is_no_value(node: Node) -> bool:
    """The name of a member, or a directive such as "use strict"."""
    parent = node.parent
    if parent is None or node.type != "string":
        return False
    return parent.type == "expression_statement" or (
        parent.type == "pair" and parent.child_by_field_name("key") == node
    )


def _note_value(node: Node, source: bytes, found: list[list[Any]]) -> None:
    if node.parent is not None and node.parent.type == "unary_expression" and node.type == "number":
        return
    value = _value(node, source, 0)
    if value is _UNUSABLE:
        return
    text = json.dumps(value)
    if len(text) <= MAX_VALUE_CHARS:
        found.append([node.start_byte, node.end_byte, "value", _label(node, source), text, 0, 0])
    if node.type == "string" and len(node.named_children) == 1 and _MARKED.search(str(value)):
        _note_tokens(node.named_children[0], node, "text", source, found)


def _note_tokens(fragment: Node, outer: Node, form: str, source: bytes, found: list[list[Any]]) -> None:
    text = source[fragment.start_byte : fragment.end_byte].decode("latin-1")
    if "\\" in text:
        return
    for token in _TOKEN.finditer(text):
        before = re.search(r"(\w+)[=/:]$", text[: token.start()])
        label = before[1] if before else _label(outer, source)
        start = fragment.start_byte + token.start()
        value = json.dumps(source[start : start + len(token[0])].decode("utf-8", "replace"))
        found.append([start, start + len(token[0]), form, label, value, outer.start_byte, outer.end_byte])
        if len(found) >= MAX_PLACES:
            return


def _value(node: Node, source: bytes, depth: int) -> Any:
    """The constant that the node is."""
    if depth > _MAX_DEPTH:
        return _UNUSABLE
    if node.type == "array":
        items = [_value(kid, source, depth + 1) for kid in node.named_children]
        return _UNUSABLE if not items or _UNUSABLE in items else items
    if node.type == "object":
        return _object(node, source, depth)
    return _scalar(node.type, source[node.start_byte : node.end_byte].decode("utf-8", "replace"))


def _scalar(kind: str, text: str) -> Any:
    if kind in _WORDS:
        return _WORDS[kind]
    if kind == "string":
        return _UNUSABLE if "\\" in text else text[1:-1]
    if kind == "unary_expression" and text.startswith("-"):
        inner = _number(text[1:].strip())
        return inner if inner is _UNUSABLE else -inner
    return _number(text) if kind == "number" else _UNUSABLE


def _object(node: Node, source: bytes, depth: int) -> Any:
    made = {}
    for kid in node.named_children:
        key, value = kid.child_by_field_name("key"), kid.child_by_field_name("value")
        if kid.type != "pair" or key is None or value is None or key.type == "computed_property_name":
            return _UNUSABLE
        inner = _value(value, source, depth + 1)
        if inner is _UNUSABLE:
            return _UNUSABLE
        made[source[key.start_byte : key.end_byte].decode("utf-8", "replace").strip("\"'")] = inner
    return made or _UNUSABLE


def _number(text: str) -> Any:
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        return _UNUSABLE
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _label(node: Node, source: bytes) -> str:
    """The name of what the value is given to: a variable, a member, or the function it is an argument of."""
    inner, outer = node, node.parent
    while outer is not None:
        field = {
            "variable_declarator": "name",
            "pair": "key",
            "assignment_expression": "left",
            "call_expression": "function",
            "binary_expression": "left",
            "required_parameter": "pattern",
        }.get(outer.type)
        name = outer.child_by_field_name(field) if field else None
        if name is not None and name != inner and name.end_byte - name.start_byte <= MAX_LABEL_CHARS:
            return source[name.start_byte : name.end_byte].decode("utf-8", "replace")
        inner, outer = outer, outer.parent
    return ""


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # Imported here: the host imports this file too, but never parses.
    import tree_sitter_typescript  # noqa: PLC0415 - the host never parses
    from tree_sitter import Language, Parser  # noqa: PLC0415 - likewise

    return Parser(Language(tree_sitter_typescript.language_typescript()))
