"""Labels the syntax nodes of a script by what they do, not by the names that the author chose.

A variable of the script gets the label of its value, a member of data is just a member, and what JavaScript and the
host offer keeps its own name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from .fingerprint_limits import MAX_NAME_CHARS
from .fingerprint_nodes import FUNCTIONS, REFERENCES, Local, Node

_MAX_ALIASES = 8

LITERALS = {"string": "text", "number": "number", "regex": "regex", "true": "boolean", "false": "boolean"}
DATA = frozenset({"array", "object"})
_TEXTS_IN_CODE = frozenset({"string", "template_string"})
_MEMBERS = frozenset({"member_expression", "subscript_expression"})
# Wrappers: an expression with the value of the one inside it.
_WRAPPERS = frozenset(
    {
        "parenthesized_expression",
        "await_expression",
        "non_null_expression",
        "as_expression",
        "satisfies_expression",
        "sequence_expression",
        "instantiation_expression",
    }
)
# What may have the value of another expression.
_LEADING = _WRAPPERS | REFERENCES
# Different spellings that do the same.
_SAME_OPERATOR = {"===": "==", "!==": "!=", "||": "??", "++": "+", "--": "-"}
_SAME_CALL = {"parseInt": "Number", "parseFloat": "Number", "Number.parseInt": "Number", "Number.parseFloat": "Number"}
_LABELS = {
    **LITERALS,
    **dict.fromkeys(FUNCTIONS, "fn"),
    "if_statement": "if",
    "for_statement": "for",
    "for_in_statement": "loop",
    "while_statement": "while",
    "do_statement": "while",
    "return_statement": "return",
    "switch_statement": "switch",
    "spread_element": "spread",
    "null": "null",
    "undefined": "null",
    "ternary_expression": "?:",
    "template_string": "text",
    "assignment_expression": "=",
    "augmented_assignment_expression": "=",
    "update_expression": "=",
}

# The member names of JavaScript and the web platform. Other member names belong to the data, and do not count.
_ARRAYS = """
    at concat copyWithin entries every fill filter find findIndex findLast findLastIndex flat flatMap forEach includes
    indexOf join keys lastIndexOf length map pop push reduce reduceRight reverse shift slice some sort splice toReversed
    toSorted toSpliced unshift values with
"""
_TEXTS = """
    charAt charCodeAt codePointAt endsWith localeCompare match matchAll normalize padEnd padStart repeat replace
    replaceAll search split startsWith substr substring test toLocaleLowerCase toLocaleUpperCase toLowerCase toString
    toUpperCase trim trimEnd trimStart exec lastIndex
"""
_NUMBERS_AND_DATES = """
    getDate getDay getFullYear getHours getMilliseconds getMinutes getMonth getSeconds getTime getTimezoneOffset
    getUTCDate getUTCDay getUTCFullYear getUTCHours getUTCMinutes getUTCMonth getUTCSeconds setDate setFullYear setHours
    setMinutes setMonth setSeconds setTime setUTCDate setUTCFullYear setUTCHours setUTCMinutes setUTCMonth toDateString
    toFixed toISOString toJSON toLocaleDateString toLocaleString toLocaleTimeString toPrecision valueOf
"""
_COLLECTIONS_AND_PROMISES = """
    add catch clear delete finally get has set size then next difference intersection union isSubsetOf
"""
_WEB = """
    arrayBuffer blob body headers json ok redirected searchParams status statusText text append getAll hash hostname
    href origin pathname protocol decode encode digest format formatToParts resolvedOptions message stack
"""

_KNOWN_MEMBERS = frozenset(f"{_ARRAYS} {_TEXTS} {_NUMBERS_AND_DATES} {_COLLECTIONS_AND_PROMISES} {_WEB}".split())


Path = tuple[str, ...]


class Names:
    """Looks up names in one script. `source` has one character for each byte, because node positions count bytes."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._constants: dict[Node, bool] = {}
        self._paths: dict[Node, Path | None] = {}

    def text(self, node: Node) -> str:
        """The source text, one character per byte: decode it before showing it to a person."""
        return self._source[node.start : node.end]

    def value(self, node: Node) -> Node:
        """The node itself, or the value that its name stands for."""
        if node.type not in _LEADING:
            return node
        for _ in range(_MAX_ALIASES):
            node = bare(node)
            local = node.local if node.type in REFERENCES else None
            if local is None or local.value is None:
                break
            node = local.value
        return node

    def label(self, node: Node) -> str:
        """The label of the node, or of the value that its name stands for."""
        if node.type in _LEADING:
            node = self.value(node)
        kind = node.type
        special = _SPECIAL.get(kind)
        return special(self, node) if special is not None else _LABELS.get(kind, kind)

    def _of_name(self, node: Node) -> str:
        if node.local is not None:
            return "name"
        name = self.text(node)[:MAX_NAME_CHARS]
        return "null" if name == "undefined" else f"global:{name}"

    def _of_call(self, node: Node) -> str:
        return self.called(node, self.callee_path(node))

    def _of_member(self, node: Node) -> str:
        return self.member(node, self.path(node))

    def _of_binary(self, node: Node) -> str:
        return "text" if self.is_text(node) else operator(node)

    def _of_unary(self, node: Node) -> str:
        return "number" if is_negative(node) else operator(node)

    def callee_path(self, node: Node) -> Path | None:
        callee = node.at.get("function")
        return None if callee is None else self.path(callee)

    def called(self, node: Node, path: Path | None) -> str:
        """The label of a call, given the path of the callee."""
        if path is None:
            callee = bare(node.at.get("function") or node)
            member = self.member(callee, None) if callee.type in _MEMBERS else "fn"
            return "loop" if member == ".forEach" else f"call:{member}"
        if path[0] == "tools":
            return f"tool:{'.'.join(path[1:])}"
        name = ".".join(path[:2])
        if name == "Array":
            return "new:Array"
        return f"call:{_SAME_CALL.get(name, name)}"

    def made(self, node: Node) -> str:
        path = self.path(node.at.get("constructor") or node)
        return f"new:{'.'.join(path[:2])}" if path is not None else "new:"

    def member(self, node: Node, path: Path | None) -> str:
        """The label of a member access, given its path."""
        if path is not None and len(path) == 2 and path[0] != "tools":
            return f"global:{'.'.join(path)}"
        key = self.key(node)
        if key is None:
            return "[]"
        return f".{key}" if key in _KNOWN_MEMBERS else "."

    def key(self, node: Node) -> str | None:
        """The name after the dot, or the literal in the brackets. None if it is known only at run time."""
        key = node.at.get("property")
        if key is not None:
            return self._source[key.start : key.end]
        key = node.at.get("index")
        if key is None:
            return ""
        key = self.value(key)
        if key.type == "string":
            return self.text(key)[1:-1]
        return "" if key.type == "number" else None

    def path(self, node: Node) -> Path | None:
        """`("tools", "github", "list")` for an expression that leads to a global through constant names only, also
        through variables of the script. None for one that leads to data."""
        try:
            return self._paths[node]
        except KeyError:
            path = self._paths[node] = self._found_path(node)
            return path

    def _found_path(self, node: Node) -> Path | None:
        members: list[Node] = []
        aliases: list[Local] = []
        for _ in range(2 * _MAX_ALIASES):
            kind = node.type
            if kind in _MEMBERS:
                members.append(node)
                owner = node.at.get("object")
                if owner is None:
                    return None
                node = owner
            elif kind in REFERENCES:
                local = node.local
                if local is None:
                    return self._path_from(node, members, aliases)
                if local.value is None:
                    return None
                aliases.append(local)
                node = local.value
            elif kind in _WRAPPERS:
                node = bare(node)
            else:
                return None
        return None

    def _path_from(self, root: Node, members: list[Node], aliases: list[Local]) -> Path | None:
        name = self.text(root)[:MAX_NAME_CHARS]
        if name in ("context", "undefined"):
            return None
        keys = [self.key(member) for member in reversed(members)]
        if not all(keys):
            return None
        # These variables are only other names for the global, and do nothing by themselves.
        for alias in aliases:
            alias.used = True
        return (name, *(key[:MAX_NAME_CHARS] for key in keys if key))

    def is_text(self, node: Node) -> bool:
        """Whether a `+` joins strings, as far as the syntax shows."""
        for _ in range(2 * _MAX_ALIASES):
            if node.type != "binary_expression" or operator(node) != "op:+":
                return False
            sides = [bare(kid) for kid in node.kids if kid.field != "operator"]
            for side in sides:
                if side.type in _TEXTS_IN_CODE:
                    return True
            if not sides:
                return False
            node = sides[0]
        return False

    def is_constant(self, node: Node) -> bool:
        """Whether it is a literal, or data made of literals only."""
        kind = node.type
        if kind in LITERALS or kind in ("null", "undefined"):
            return True
        if kind in DATA or kind == "template_string":
            known = self._constants.get(node)
            if known is None:
                # Cached: each level of nested data asks again about everything below it.
                known = self._constants[node] = all(map(self.is_constant, node.kids))
            return known
        if kind == "pair":
            value = node.at.get("value")
            return value is not None and self.is_constant(value)
        return kind == "string_fragment" or (kind == "unary_expression" and is_negative(node))


_SPECIAL: dict[str, Callable[[Names, Node], str]] = {
    "identifier": Names._of_name,
    "shorthand_property_identifier": Names._of_name,
    "call_expression": Names._of_call,
    "member_expression": Names._of_member,
    "subscript_expression": Names._of_member,
    "binary_expression": Names._of_binary,
    "unary_expression": Names._of_unary,
    "new_expression": Names.made,
}


def bare(node: Node) -> Node:
    """The expression inside all wrappers."""
    while node.type in _WRAPPERS and node.kids:
        node = node.kids[-1] if node.type == "sequence_expression" else node.kids[0]
    return node


def operator(node: Node) -> str:
    found = node.at.get("operator")
    return _operator(found.type if found is not None else "?")


@lru_cache(maxsize=256)
def _operator(name: str) -> str:
    return f"op:{_SAME_OPERATOR.get(name, name)}"


def is_negative(node: Node) -> bool:
    value = node.at.get("argument")
    return value is not None and value.type == "number" and operator(node) in ("op:-", "op:+")
