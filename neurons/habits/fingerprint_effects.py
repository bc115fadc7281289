"""Reads the effects of a script: the tools, files and addresses that it reaches for, as far as its text shows.

An effect is a line such as `tools.github.list`, `GET api.example/v1/price` or `POST api.example/users/*/notes`; `*`
stands for what is known only when the script runs. Like `fingerprint_tree.py`, it must not run in the host process.
"""

from __future__ import annotations

from collections.abc import Sequence

from .effects import MAX_EFFECTS, UNKNOWN, request
from .fingerprint_expressions import arguments
from .fingerprint_functions import Calls, OwnFunctions
from .fingerprint_limits import MAX_NAME_CHARS
from .fingerprint_names import Names, bare
from .fingerprint_nodes import Node
from .fingerprint_texts import Texts, words_of
from .fingerprint_tree import Tree

_FILES = {"read": "read files", "write": "write files", "open": "open files", "remove": "remove files"}


class Effects:
    """Collects the effects of one script. `calls` are all its calls."""

    def __init__(self, names: Names, tree: Tree) -> None:
        self._names = names
        self._functions = OwnFunctions(names, tree)
        self._texts = Texts(names, self._functions)
        self._found: dict[str, None] = {}
        self.keys = self._texts.keys
        """Names in queries, and of the arguments of tools."""
        self.words = self._texts.words
        """Words in addresses and arguments: a member of that name is a parameter."""

    def of(self, calls: Calls) -> tuple[str, ...]:
        for node, path in calls:
            if path is None:
                self._query(node)
            elif len(self._found) < MAX_EFFECTS:
                self._effect(node, path[1:] if path[0] == "globalThis" and len(path) > 1 else path, calls)
        return tuple(sorted(self._found))

    def _effect(self, node: Node, path: tuple[str, ...], calls: Calls) -> None:
        given = arguments(node)
        if path[0] == "tools" and len(path) > 1:
            self._found[f"tools.{'.'.join(path[1:])}"[:MAX_NAME_CHARS]] = None
            for argument in given:
                self._texts.keys_of(argument)
        elif path[0] == "Deno" and len(path) == 2:
            kind = next((text for word, text in _FILES.items() if path[1].startswith(word)), f"Deno.{path[1]}")
            self._found[kind[:MAX_NAME_CHARS]] = None
        elif path[0] in ("fetch", "WebSocket", "EventSource") and given:
            self._functions.know(calls)
            for method in self._methods(given):
                for address in self._texts.of(given[0], 0):
                    self._request(method, address)

    def _request(self, method: str, address: str) -> None:
        found, keys = request(method, address)
        self._texts.keys.update(keys)
        self._texts.words.update(words_of(address))
        if len(self._found) < MAX_EFFECTS:
            self._found[found] = None

    def _query(self, node: Node) -> None:
        """`url.searchParams.set("name", …)`."""
        callee = bare(node.at.get("function") or node)
        if callee.type == "member_expression" and self._names.key(callee) in ("set", "append"):
            owner, given = callee.at.get("object"), arguments(node)
            if owner is None or len(given) != 2:
                return
            owner = self._names.value(owner)
            is_query = owner.type == "member_expression" and self._names.key(owner) == "searchParams"
            is_query |= owner.type == "new_expression" and self._names.made(owner) == "new:URLSearchParams"
            if is_query:
                self._texts.keys.update(text for text in self._texts.of(given[0], 0) if text != UNKNOWN)
                self._texts.words.update(word for text in self._texts.of(given[1], 0) for word in words_of(text))

    def _methods(self, given: Sequence[Node]) -> list[str]:
        options = list(given[1:2])
        first = self._names.value(given[0])
        if first.type == "new_expression" and self._names.made(first) == "new:Request":
            options += arguments(first)[1:2]
        methods: list[str] = []
        for option in options:
            methods += self._texts.of_member(option, "method", 0)
        return [method.upper()[:10] for method in dict.fromkeys(methods)] or ["GET"]
