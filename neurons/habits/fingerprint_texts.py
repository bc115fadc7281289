"""Finds the texts that an expression may stand for, as far as a script shows them: its addresses and their parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .effects import MAX_EFFECTS, UNKNOWN
from .fingerprint_expressions import arguments, plain, results
from .fingerprint_functions import MAX_CALLS, MAX_DEPTH, OwnFunctions
from .fingerprint_names import Names, bare, operator
from .fingerprint_nodes import REFERENCES, Node

MAX_STEPS = 2_000
MAX_TEXT = 500
_WORDS = re.compile(r"[a-z0-9_]{2,40}")
_SAME = frozenset({"toString", "href", "trim", "toLowerCase", "String", "valueOf"})
_IN_HOST = 2
_SAME_GLOBALS = frozenset({"encodeURIComponent", "encodeURI", "String"})
_PARTS_OF_URL = frozenset({"searchParams", "search", "pathname", "hash", "host", "origin"})


class Texts:
    def __init__(self, names: Names, functions: OwnFunctions) -> None:
        self._names = names
        self._functions = functions
        self._steps = 0
        self.keys: set[str] = set()
        """Names in queries, and of the arguments of tools."""
        self.words: set[str] = set()
        """Words in addresses and arguments: a member of that name is a parameter."""

    def of(self, node: Node, depth: int) -> list[str]:
        """The texts that an expression may stand for, at most MAX_CALLS, with UNKNOWN for what is not known."""
        self._steps += 1
        node = self._functions.value(node)
        found = UNKNOWN if depth >= MAX_DEPTH or self._steps > MAX_STEPS else self._plain(node)
        if found is not None:
            return [found]
        match node.type:
            case "template_string":
                inside = (kid.kids[0] if kid.type == "template_substitution" and kid.kids else kid for kid in node.kids)
                return self._joined(inside, depth)
            case "binary_expression":
                return self._of_binary(node, depth)
            case "call_expression" | "new_expression":
                return self._of_call(node, depth)
            case "member_expression" | "subscript_expression":
                return self._of_access(node, depth)
            case "ternary_expression":
                given = node.kids[1:]
            case _:
                given = self._functions.given(node)
        return self._some(text for one in given for text in self.of(one, depth + 1)) or [UNKNOWN]

    def of_member(self, node: Node, key: str, depth: int) -> list[str]:
        """The texts that a member of an object stands for; none if the object has no such member."""
        node = self._functions.value(node)
        self._steps += 1
        if depth >= MAX_DEPTH or self._steps > MAX_STEPS:
            return []
        if node.type == "object":
            for kid in node.kids:
                if kid.type == "shorthand_property_identifier" and self._names.text(kid) == key:
                    return self.of(kid, depth + 1)
                name, value = kid.at.get("key"), kid.at.get("value")
                if name is not None and value is not None and plain(self._names, name) == key:
                    return self.of(value, depth + 1)
            return [
                text
                for kid in node.kids
                if kid.type == "spread_element" and kid.kids
                for text in self.of_member(kid.kids[0], key, depth + 1)
            ]
        if node.type == "ternary_expression":
            return [text for kid in node.kids[1:] for text in self.of_member(kid, key, depth + 1)]
        return [text for given in self._functions.given(node) for text in self.of_member(given, key, depth + 1)]

    def keys_of(self, node: Node) -> None:
        node = self._names.value(node)
        if node.type in ("string", "template_string"):
            self.words.update(word for text in self.of(node, 0) for word in words_of(text))
        for kid in node.kids if node.type == "object" else ():
            key, value = kid.at.get("key"), kid.at.get("value")
            if kid.type == "shorthand_property_identifier":
                key = value = kid
            if key is not None and len(self.keys) < MAX_EFFECTS:
                self.keys.add(plain(self._names, key))
            if value is not None:
                self.words.update(word for text in self.of(value, 0) for word in words_of(text))

    def _plain(self, node: Node) -> str | None:
        """The text of a literal, or of a piece of a template."""
        if node.type == "string":
            return self._names.text(node)[1:-1][:MAX_TEXT]
        is_plain = node.type in ("number", "string_fragment", "escape_sequence")
        return self._names.text(node)[:MAX_TEXT] if is_plain else None

    def _of_binary(self, node: Node, depth: int) -> list[str]:
        sides = [kid for kid in node.kids if kid.field != "operator"]
        kind = operator(node)
        if kind == "op:+":
            return self._joined(sides, depth)
        if kind == "op:??" and len(sides) == 2:
            known = [text for text in self.of(sides[0], depth + 1) if text != UNKNOWN]
            return known or self.of(sides[1], depth + 1)
        return [UNKNOWN]

    def _of_call(self, node: Node, depth: int) -> list[str]:
        if node.type == "new_expression":
            return self._of_new(node, depth)
        given, callee = arguments(node), bare(node.at.get("function") or node)
        path, owner = self._names.path(callee), callee.at.get("object")
        name = path[-1] if path else self._names.key(callee) if callee.type == "member_expression" else None
        if path and name in _SAME_GLOBALS and given:
            return self.of(given[0], depth + 1)
        if owner is not None and name in _SAME:
            return self.of(owner, depth + 1)
        if owner is not None and name == "concat":
            return self._joined([owner, *given], depth)
        items = self._functions.value(owner) if owner is not None and name == "join" else None
        if items is not None and items.type == "array" and given and given[0].type == "string":
            return self._joined([one for item in items.kids for one in (given[0], item)][1:], depth)
        function = self._functions.function(callee)
        found = results(function) if function is not None else ()
        return self._some(text for one in found for text in self.of(one, depth + 1)) or [UNKNOWN]

    def _of_new(self, node: Node, depth: int) -> list[str]:
        made, given = self._names.made(node), arguments(node)
        if made == "new:URL" and given:
            return self._based(given, depth)
        if made == "new:URLSearchParams" and given:
            self.keys_of(given[0])
        return self.of(given[0], depth + 1) if made == "new:Request" and given else [UNKNOWN]

    def _based(self, given: Sequence[Node], depth: int) -> list[str]:
        """`new URL(path, base)`."""
        paths = self.of(given[0], depth + 1)
        if len(given) < 2:
            return paths
        base = self.of(given[1], depth + 1)[0]
        scheme, _, rest = base.partition("://")
        root = f"{scheme}://{rest.partition('/')[0]}" if rest else base
        folder = base.partition("?")[0].rpartition("/")[0] if rest.count("/") else base
        return [
            path
            if "://" in path
            else f"{root}{path}"
            if path.startswith("/")
            else f"{folder}/{path.removeprefix('./')}"
            for path in paths
        ]

    def _of_access(self, node: Node, depth: int) -> list[str]:
        owner, key = node.at.get("object"), self._names.key(node)
        if owner is None or key is None:
            return [UNKNOWN]
        if key in _SAME:
            return self.of(owner, depth + 1)
        if owner.type == "this":
            field = self._functions.fields.get(key)
            return [UNKNOWN] if field is None else self.of(field, depth + 1)
        if key in _PARTS_OF_URL:
            return [UNKNOWN]
        static = self._functions.fields.get(key)
        found = self.of_member(owner, key, depth + 1)
        return self._some(found or (self.of(static, depth + 1) if static is not None else ())) or [UNKNOWN]

    def _joined(self, nodes: Iterable[Node], depth: int) -> list[str]:
        texts = [""]
        for node in nodes:
            more = self.of(node, depth + 1)
            if self._is_named(node) and len(more) == 1 and "/" not in more[0] and texts[0].count("/") > _IN_HOST:
                # The author gave it a name, because it differs from time to time.
                more = [UNKNOWN]
            texts = [f"{text}{one}"[:MAX_TEXT] for text in texts for one in more][:MAX_CALLS]
        return texts

    def _is_named(self, node: Node) -> bool:
        local = bare(node).local if bare(node).type in REFERENCES else None
        return local is not None and not self._functions.is_parameter(local)

    def _some(self, texts: Iterable[str]) -> list[str]:
        found: dict[str, None] = {}
        for text in texts:
            found[text] = None
            if len(found) >= MAX_CALLS:
                break
        return list(found)


def words_of(text: str) -> set[str]:
    return set(_WORDS.findall(text.lower())) if len(text) <= MAX_TEXT else set()
