"""The patterns of misuse that the guard looks for in agent code, and how it finds them in the syntax tree.

The guard tells the author of the code about obvious misuse. Nothing depends on it for safety: code that it misses is
stopped by the process, Deno's permissions and the operating system.

`inspect` must not run in the host process: hostile code can make the parser hang, and only a kill ends it.
`reading_process.py` loads this file without the package around it, so it imports nothing of the package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@dataclass(frozen=True, slots=True)
class Pattern:
    """A kind of misuse and its signs. A sign is written like the code it stands for:

    `eval` is that name used as a variable, `.eval` a property of that name (however it is written), `eval()` a call
    or `new` of either, `process.exit` a property of something so named, `constructor[]` an index into something so
    named, and `"child_process"` a module of that name.
    """

    name: str
    signs: tuple[str, ...]
    why: str


PATTERNS = (
    Pattern("dynamic import", ("import()",), why="loads code that was not checked"),
    Pattern("require", ("require()",), why="loads modules, which do not exist here"),
    Pattern("eval", ("eval", "eval()"), why="runs text as code that was not checked"),
    Pattern("Function constructor", ("Function()",), why="makes code out of text that was not checked"),
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

KEPT_PATTERNS = (
    Pattern(
        "computed constructor",
        ('["constructor"]', '("constructor")', '+"constructor"'),
        why="is a way to make code out of text, which code that stays cannot do",
    ),
)
"""Also looked for in code that stays, as a neuron's. Runs of a model's code are not refused for them."""

BROKEN = ""
"""Stands in `places` for code that does not parse. No pattern has this name."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A pattern, and the first place where it was found. Lines and columns count characters from 1."""

    pattern: str
    why: str
    line: int
    column: int
    hint: str = field(default="", compare=False)
    """What to write instead, for a model; empty if there is nothing to say."""


def may_match(code: str) -> bool:
    """False only when `inspect` would find nothing. Takes linear time, so that the host can call it."""
    if "\\" not in code:
        return any(all(word in code for word in words) and _whole(words, code) for words in _WORDS)
    # Escapes hide where a word ends, so any occurrence counts here.
    texts = (code, unescape(code))
    return any(all(word in text for word in words) for words in _WORDS for text in texts)


def inspect(code: str) -> tuple[Finding, ...]:
    """The patterns found, each once, in the order of their places. Never call it in the host: it may not return."""
    source = code.encode(errors="replace")
    return _found(parser().parse(source).root_node, source)


def places(code: str) -> list[tuple[str, int, int]]:
    """The findings of `inspect` and those of code that stays, ready for JSON: name, line and column of each. The last
    one has no name if the code does not parse."""
    source = code.encode(errors="replace")
    root = parser().parse(source).root_node
    patterns = (*PATTERNS, *KEPT_PATTERNS)
    found = [(finding.pattern, finding.line, finding.column) for finding in _found(root, source, patterns)]
    return [*found, (BROKEN, 1, 1)] if root.has_error else found


def _found(root: Node, source: bytes, patterns: tuple[Pattern, ...] = PATTERNS) -> tuple[Finding, ...]:
    signs = _PATTERN_OF if patterns is PATTERNS else {**_PATTERN_OF, **_KEPT_PATTERN_OF}
    first: dict[Pattern, Node] = {}
    for sign, node in _signs_below(root):
        pattern = signs.get(sign)
        if pattern and (pattern not in first or node.start_byte < first[pattern].start_byte):
            first[pattern] = node
    # Two patterns can share a place: then the order of the table decides, not the order of the walk.
    found = [(pattern, first[pattern]) for pattern in patterns if pattern in first]
    found.sort(key=lambda place: place[1].start_byte)
    return tuple(_finding(pattern, node, source) for pattern, node in found)


def unescape(text: str) -> str:
    r"""Decode the escapes of a text, more generously than JavaScript does: `\\u0065` gives `e` as well.

    Generous, because then the decoded text contains the decoded text of each of its tokens, wherever a token begins in
    a row of backslashes: `may_match` relies on it.
    """
    return _ESCAPE.sub(_character, text) if "\\" in text else text


_PATTERN_OF = {sign: pattern for pattern in PATTERNS for sign in pattern.signs}
_KEPT_PATTERN_OF = {sign: pattern for pattern in KEPT_PATTERNS for sign in pattern.signs}
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
    # Check only the end of the word: in `1neval` the parser sees a number and then `eval`.
    return all(re.search(rf"{word}(?![\w$])", code, re.ASCII) for word in words)


@lru_cache(maxsize=1)
def parser() -> Parser:
    # Imported here: the host imports this file too, and never parses.
    import tree_sitter_typescript  # noqa: PLC0415 - the host never parses
    from tree_sitter import Language, Parser  # noqa: PLC0415 - likewise

    return Parser(Language(tree_sitter_typescript.language_typescript()))


def _signs_below(root: Node) -> Iterator[tuple[str, Node]]:
    """The signs of every node. A loop, because code may be nested deeper than Python can recurse."""
    cursor = root.walk()
    while True:
        node = cursor.node
        if node is not None and node.type in _SIGNS_OF:
            yield from _SIGNS_OF[node.type](node)
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _variable(node: Node) -> Iterator[tuple[str, Node]]:
    yield _text(node), node


def _property(node: Node) -> Iterator[tuple[str, Node]]:
    yield f".{_text(node)}", node


def _access(node: Node) -> Iterator[tuple[str, Node]]:
    """`a.b` and `a["b"]`."""
    owner, member = _last_word(node.child_by_field_name("object")), _last_word(node)
    index = node.child_by_field_name("index")
    if index is not None and member is not None:
        yield f".{member[0]}", index
    yield from _computed(index)
    if index is not None and owner is not None:
        yield f"{owner[0]}[]", owner[1]
    if owner is not None and member is not None:
        yield f"{owner[0]}.{member[0]}", owner[1]


def _call(node: Node) -> Iterator[tuple[str, Node]]:
    called = _last_word(node.child_by_field_name("function") or node.child_by_field_name("constructor"))
    if called is None:
        return
    yield f"{called[0]}()", called[1]
    arguments = node.child_by_field_name("arguments")
    for number, argument in enumerate(arguments.named_children[:_MOST_ARGUMENTS] if arguments is not None else ()):
        if number == 0 and called[0] in _LOADERS:
            yield from _module(argument)
        if (name := _constant(argument)) is not None:
            yield f'("{name}")', argument


def _import(node: Node) -> Iterator[tuple[str, Node]]:
    yield from _module(node.child_by_field_name("source"))


def _import_require(node: Node) -> Iterator[tuple[str, Node]]:
    """`import fs = require("fs")`."""
    yield "require()", node
    yield from _import(node)


def _module(source: Node | None) -> Iterator[tuple[str, Node]]:
    name = _constant(source)
    if source is not None and name is not None:
        yield f'"{name.removeprefix("node:")}"', source


def _quoted_key(node: Node) -> Iterator[tuple[str, Node]]:
    """`{ "a": 1 }`, `{ ["a"]: 1 }` and their like; a key without quotes is a node of its own."""
    key = node.child_by_field_name("key") or node.child_by_field_name("name")
    if key is not None and key.type == "computed_property_name":
        key = _last(key)
        yield from _computed(key)
    name = _constant(key)
    if key is not None and name is not None:
        yield f".{name}", key


def _computed(index: Node | None) -> Iterator[tuple[str, Node]]:
    """`a["b"]`, also where the name is put together: "a" + "b"."""
    name = _folded(index)
    if index is not None and name is not None:
        yield f'["{name}"]', index


def _pieces(node: Node) -> Iterator[tuple[str, Node]]:
    """A text that is put together of constant pieces."""
    if (name := _folded(node)) is not None and _constant(node) is None:
        yield f'+"{name}"', node


def _joined(node: Node) -> Iterator[tuple[str, Node]]:
    """`["a", "b"].join("")`."""
    pieces = [_constant(each) for each in node.named_children[:_MOST_PIECES]]
    if pieces and all(piece is not None for piece in pieces):
        yield f'+"{"".join(piece or "" for piece in pieces)}"', node


def _folded(node: Node | None, depth: int = 0) -> str | None:
    """The text that a constant expression stands for, if it is short and simple."""
    node = _bare(node)
    if node is None or depth > _MOST_PIECES or node.end_byte - node.start_byte > _LONGEST_FOLDED:
        return None
    if node.type == "binary_expression":
        sides = [node.child_by_field_name(side) for side in ("left", "right")]
        parts = [_folded(side, depth + 1) for side in sides]
        is_sum = any(child.type == "+" for child in node.children)
        return None if not is_sum or None in parts else "".join(part or "" for part in parts)
    if node.type == "template_string":
        return _folded_template(node, depth)
    return _constant(node)


def _folded_template(node: Node, depth: int) -> str | None:
    parts: list[str] = []
    for child in node.named_children:
        part = _folded(_last(child), depth + 1) if child.type == "template_substitution" else _text(child)
        if part is None:
            return None
        parts.append(part)
    return "".join(parts)


# A name put together of more, or longer, is not looked at: the check is no wall, and must take little time.
_MOST_PIECES = 16
_LONGEST_FOLDED = 400
_MOST_ARGUMENTS = 8

_LOADERS = frozenset({"import", "require", "getBuiltinModule"})

_SIGNS_OF: dict[str, Callable[[Node], Iterator[tuple[str, Node]]]] = {
    "identifier": _variable,
    "shorthand_property_identifier": _variable,
    "shorthand_property_identifier_pattern": _variable,
    "property_identifier": _property,
    "member_expression": _access,
    "subscript_expression": _access,
    "call_expression": _call,
    "new_expression": _call,
    "import_statement": _import,
    "export_statement": _import,
    "import_require_clause": _import_require,
    "binary_expression": _pieces,
    "template_string": _pieces,
    "array": _joined,
    "pair": _quoted_key,
    "pair_pattern": _quoted_key,
    "method_definition": _quoted_key,
    "public_field_definition": _quoted_key,
    "property_signature": _quoted_key,
}


def _last_word(node: Node | None) -> tuple[str, Node] | None:
    """The last word of a name such as `eval`, `self.eval`, `self["eval"]` or `(0, eval)`, and its node."""
    node = _bare(node)
    if node is None:
        return None
    if node.type in ("identifier", "import"):
        return _text(node), node
    word = node.child_by_field_name("property") or node.child_by_field_name("index")
    if word is None:
        return None
    name = _text(word) if word.type == "property_identifier" else _constant(word)
    return (name, word) if name is not None else None


def _bare(node: Node | None) -> Node | None:
    """The inner expression with the same value: without parentheses, type assertions and what precedes a comma."""
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


def _finding(pattern: Pattern, node: Node, source: bytes) -> Finding:
    # Not from `node.start_point`: in py-tree-sitter 0.26.0 each use of it frees memory that is still in use.
    before = source[: node.start_byte].decode(errors="replace")
    return Finding(pattern.name, pattern.why, before.count("\n") + 1, len(before) - before.rfind("\n"))
