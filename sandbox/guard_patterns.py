"""What the guard looks for in agent code, and how it finds it on the syntax tree.

The guard is a smoke detector: it tells the author of the code about obvious misuse. Nothing depends on it for
safety. What it misses meets the wall (process, Deno permissions, operating system), which holds without it.

`inspect` must not run in the host process: the parser can be made to hang, and nothing but a kill ends it.
This file is imported by `guard_process.py` as a top-level module, so it has no relative imports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@dataclass(frozen=True, slots=True)
class Pattern:
    """A kind of misuse, and the signs of it. A sign is written like the code it stands for:

    `eval` is that name used as a variable, `.eval` a property of that name (however it is written), `eval()` a call
    or `new` of either, `process.exit` a property of something so named, `constructor[]` an index into something so
    named, and `"child_process"` a module of that name.
    """

    name: str
    signs: tuple[str, ...]
    why: str


PATTERNS = (
    Pattern("dynamic import", ("import()",), why="loads code that nobody checked"),
    Pattern("require", ("require()",), why="loads modules, and there are none here"),
    Pattern("eval", ("eval", "eval()"), why="runs text as code that nobody checked"),
    Pattern("Function constructor", ("Function()",), why="makes code out of text that nobody checked"),
    Pattern(
        "child_process",
        ("child_process", ".child_process", '"child_process"'),
        why="starts other programs, which is never allowed",
    ),
    Pattern("process.exit", ("process.exit",), why="ends the process before its result is sent; use return"),
    Pattern("process.kill", ("process.kill",), why="signals other processes, which is never allowed"),
    Pattern("globalThis", ("globalThis", ".globalThis"), why="reaches past the names that the code was given"),
    Pattern("__proto__", ("__proto__", ".__proto__"), why="changes what all other objects inherit"),
    Pattern("constructor[]", ("constructor[]",), why="is a way to the Function constructor"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A pattern, and the first place where it was found. Lines and columns count characters from 1."""

    pattern: str
    why: str
    line: int
    column: int


def may_match(code: str) -> bool:
    """False only when `inspect` would find nothing. Takes linear time, so that the host may call it."""
    if "\\" not in code:
        return any(all(word in code for word in words) and _whole(words, code) for words in _WORDS)
    # Escapes hide where a word ends, so here any occurrence will do.
    texts = (code, unescape(code))
    return any(all(word in text for word in words) for words in _WORDS for text in texts)


def inspect(code: str) -> tuple[Finding, ...]:
    """The patterns found, each once, in the order of their places. Never in the host process: it may not return."""
    source = code.encode(errors="replace")
    first: dict[str, Node] = {}
    for sign, node in _signs_below(_parser().parse(source).root_node):
        pattern = _PATTERN_OF.get(sign)
        if pattern and (pattern.name not in first or node.start_byte < first[pattern.name].start_byte):
            first[pattern.name] = node
    # Ties (`constructor` in two patterns at once) are settled by the order of the table.
    found = sorted((node.start_byte, order, node) for order, node in _in_table_order(first))
    return tuple(_finding(PATTERNS[order], node, source) for _, order, node in found)


def unescape(text: str) -> str:
    r"""The text with its escapes decoded, more generously than JavaScript does: `\\u0065` gives `e` as well.

    Generous, because then the whole decoded text contains the decoded text of each of its tokens, wherever a
    token begins in a row of backslashes: `may_match` relies on it.
    """
    return _ESCAPE.sub(_character, text) if "\\" in text else text


_PATTERN_OF = {sign: pattern for pattern in PATTERNS for sign in pattern.signs}
_WORDS = tuple({tuple(re.findall(r"\w+", sign)): None for sign in _PATTERN_OF})

# The empty alternative comes last and always matches: without it a long row of backslashes takes quadratic time.
_ESCAPE = re.compile(
    r"\\+(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([0-3]?[0-7]{1,2})|\r\n|[\n\r\u2028\u2029]|)"
)


def _character(escape: re.Match[str]) -> str:
    braced, four, two, octal = escape.groups()
    if octal:
        return chr(int(octal, 8))
    code_point = int(braced or four or two or "-1", 16)
    return chr(code_point) if 0 <= code_point <= 0x10FFFF else ""


def _whole(words: tuple[str, ...], code: str) -> bool:
    # Only the end is looked at: in `1neval` the parser sees a number and then `eval`.
    return all(re.search(rf"{word}(?![\w$])", code, re.ASCII) for word in words)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # Imported here: the host imports this file too, and never parses.
    import tree_sitter_typescript  # noqa: PLC0415
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_typescript.language_typescript()))


def _signs_below(root: Node) -> Iterator[tuple[str, Node]]:
    """The signs of every node. A loop, because code may be nested deeper than Python can recurse."""
    cursor = root.walk()
    while True:
        if cursor.node is not None:
            yield from _signs(cursor.node)
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _signs(node: Node) -> Iterator[tuple[str, Node]]:
    """The signs of one node, each with the place to report."""
    match node.type:
        case "identifier" | "shorthand_property_identifier" | "shorthand_property_identifier_pattern":
            yield _text(node), node
        case "property_identifier":
            yield f".{_text(node)}", node
        case "member_expression" | "subscript_expression":
            yield from _access_signs(node)
        case "call_expression" | "new_expression":
            yield from _call_signs(node)
        case "import_statement" | "export_statement" | "import_require_clause":
            yield from _module_signs(node.child_by_field_name("source"))
            if node.type == "import_require_clause":
                yield "require()", node
        case "pair" | "pair_pattern" | "method_definition" | "public_field_definition" | "property_signature":
            yield from _key_signs(node.child_by_field_name("key") or node.child_by_field_name("name"))
        case "computed_property_name":
            yield from _key_signs(_last(node))


def _access_signs(node: Node) -> Iterator[tuple[str, Node]]:
    index = node.child_by_field_name("index")
    yield from _key_signs(index)
    owner = _named(node.child_by_field_name("object"))
    if owner is None:
        return
    if index is not None:
        yield f"{owner[0]}[]", owner[1]
    member = _named(node)
    if member is not None:
        yield f"{owner[0]}.{member[0]}", owner[1]


def _call_signs(node: Node) -> Iterator[tuple[str, Node]]:
    called = _named(node.child_by_field_name("function") or node.child_by_field_name("constructor"))
    if called is None:
        return
    yield f"{called[0]}()", called[1]
    arguments = node.child_by_field_name("arguments")
    if called[0] in ("import", "require", "getBuiltinModule") and arguments is not None:
        for argument in arguments.named_children[:1]:
            yield from _module_signs(argument)


def _module_signs(source: Node | None) -> Iterator[tuple[str, Node]]:
    name = _constant(source)
    if source is not None and name is not None:
        yield f'"{name.removeprefix("node:")}"', source


def _key_signs(key: Node | None) -> Iterator[tuple[str, Node]]:
    name = _constant(key)
    if key is not None and name is not None:
        yield f".{name}", key


def _named(node: Node | None) -> tuple[str, Node] | None:
    """The last word of a name such as `eval`, `self.eval`, `self["eval"]` or `(0, eval)`, and its place."""
    node = _bare(node)
    match node.type if node is not None else "":
        case "identifier":
            word = node
        case "member_expression":
            word = node.child_by_field_name("property") if node is not None else None
        case "subscript_expression":
            word = node.child_by_field_name("index") if node is not None else None
            name = _constant(word)
            return (name, word) if name is not None and word is not None else None
        case "import":
            word = node
        case _:
            return None
    return (_text(word), word) if word is not None else None


def _bare(node: Node | None) -> Node | None:
    """The expression whose value this one has: without parentheses, type assertions and what precedes a comma."""
    while node is not None:
        match node.type:
            case "parenthesized_expression" | "sequence_expression" | "type_assertion":
                node = _last(node)
            case "as_expression" | "satisfies_expression" | "non_null_expression" | "instantiation_expression":
                node = node.named_child(0)
            case _:
                return node
    return None


def _last(node: Node) -> Node | None:
    children = [child for child in node.named_children if not child.is_extra]
    return children[-1] if children else None


def _constant(node: Node | None) -> str | None:
    """The value of a string literal, or of a template without substitutions."""
    if node is None or node.type not in ("string", "template_string"):
        return None
    if any(child.type == "template_substitution" for child in node.named_children):
        return None
    return unescape(_raw(node)[1:-1])


def _text(node: Node) -> str:
    return unescape(_raw(node))


def _raw(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _in_table_order(first: dict[str, Node]) -> Iterator[tuple[int, Node]]:
    for order, pattern in enumerate(PATTERNS):
        if pattern.name in first:
            yield order, first[pattern.name]


def _finding(pattern: Pattern, node: Node, source: bytes) -> Finding:
    # The parser counts columns in bytes.
    line_start = node.start_byte - node.start_point.column
    column = len(source[line_start : node.start_byte].decode(errors="replace"))
    return Finding(pattern.name, pattern.why, node.start_point.row + 1, column + 1)
