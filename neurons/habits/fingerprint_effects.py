"""Reads the effects of a script: the tools, files and addresses that it reaches for, as far as its text shows.

An effect is a line such as `tools.github.list`, `GET api.example/v1/price` or `POST api.example/users/*/notes`; `*`
stands for what is known only when the script runs. Like `fingerprint_tree.py`, it must not run in the host process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .effects import MAX_EFFECTS, UNKNOWN, request
from .fingerprint_names import MAX_NAME_CHARS, Names, bare, operator
from .fingerprint_nodes import FUNCTIONS, REFERENCES, Local, Node
from .fingerprint_tree import Tree

MAX_DEPTH = 12
MAX_CALLS = 8
"""Calls of one helper that are followed, and texts that one address may stand for."""
MAX_STEPS = 2_000
MAX_TEXT = 500
_FILES = {"read": "read files", "write": "write files", "open": "open files", "remove": "remove files"}
_WORDS = re.compile(r"[a-z0-9_]{2,40}")
_SAME = frozenset({"toString", "href", "trim", "toLowerCase", "String", "valueOf"})
_IN_HOST = 2
_SAME_GLOBALS = frozenset({"encodeURIComponent", "encodeURI", "String"})
_PARTS_OF_URL = frozenset({"searchParams", "search", "pathname", "hash", "host", "origin"})


class Effects:
    """Collects the effects of one script. `calls` are all its calls, each with the path of its callee."""

    def __init__(self, names: Names, tree: Tree) -> None:
        self._names = names
        self._tree = tree
        self._steps = 0
        self._knows_calls = False
        self._parameters: dict[Local, tuple[Node, int, str]] = {}
        """The parameters of helpers: whose, at which position, and the key that it is destructured from."""
        self._called: dict[Node, list[Node]] = {}
        self._methods_named: dict[str, Node] = {}
        self._fields: dict[str, Node] = {}
        self._items: dict[Local, list[Node]] = {}
        """What the variables of loops over addresses stand for."""
        self.found: dict[str, None] = {}
        self.keys: set[str] = set()
        """Names in queries, and of the arguments of tools."""
        self.texts: set[str] = set()
        """Words in addresses and arguments: a member of that name is a parameter."""

    def of(self, calls: Sequence[tuple[Node, tuple[str, ...] | None]]) -> tuple[str, ...]:
        for node, path in calls:
            if path is None:
                self._query(node)
            elif len(self.found) < MAX_EFFECTS:
                self._effect(node, path[1:] if path[0] == "globalThis" and len(path) > 1 else path, calls)
        return tuple(sorted(self.found))

    def _effect(self, node: Node, path: tuple[str, ...], calls: Sequence[tuple[Node, tuple[str, ...] | None]]) -> None:
        given = arguments(node)
        if path[0] == "tools" and len(path) > 1:
            self.found[f"tools.{'.'.join(path[1:])}"[:MAX_NAME_CHARS]] = None
            for argument in given:
                self._keys(argument)
        elif path[0] == "Deno" and len(path) == 2:
            kind = next((text for word, text in _FILES.items() if path[1].startswith(word)), f"Deno.{path[1]}")
            self.found[kind[:MAX_NAME_CHARS]] = None
        elif path[0] in ("fetch", "WebSocket", "EventSource") and given:
            self._know_calls(calls)
            for method in self._methods(given):
                for address in self._texts(given[0], 0):
                    self._request(method, address)

    def _request(self, method: str, address: str) -> None:
        found, keys = request(method, address)
        self.keys.update(keys)
        self.texts.update(_words(address))
        if len(self.found) < MAX_EFFECTS:
            self.found[found] = None

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
                self.keys.update(text for text in self._texts(given[0], 0) if text != UNKNOWN)
                self.texts.update(word for text in self._texts(given[1], 0) for word in _words(text))

    def _keys(self, node: Node) -> None:
        node = self._names.value(node)
        if node.type in ("string", "template_string"):
            self.texts.update(word for text in self._texts(node, 0) for word in _words(text))
        for kid in node.kids if node.type == "object" else ():
            key, value = kid.at.get("key"), kid.at.get("value")
            if kid.type == "shorthand_property_identifier":
                key = value = kid
            if key is not None and len(self.keys) < MAX_EFFECTS:
                self.keys.add(plain(self._names, key))
            if value is not None:
                self.texts.update(word for text in self._texts(value, 0) for word in _words(text))

    def _methods(self, given: Sequence[Node]) -> list[str]:
        options = list(given[1:2])
        first = self._names.value(given[0])
        if first.type == "new_expression" and self._names.made(first) == "new:Request":
            options += arguments(first)[1:2]
        methods: list[str] = []
        for option in options:
            methods += self._members(option, "method", 0)
        return [method.upper()[:10] for method in dict.fromkeys(methods)] or ["GET"]

    def _members(self, node: Node, key: str, depth: int) -> list[str]:
        """The texts that a member of an object stands for; none if the object has no such member."""
        node = self._value(node)
        self._steps += 1
        if depth >= MAX_DEPTH or self._steps > MAX_STEPS:
            return []
        if node.type == "object":
            for kid in node.kids:
                if kid.type == "shorthand_property_identifier" and self._names.text(kid) == key:
                    return self._texts(kid, depth + 1)
                name, value = kid.at.get("key"), kid.at.get("value")
                if name is not None and value is not None and plain(self._names, name) == key:
                    return self._texts(value, depth + 1)
            return [
                text
                for kid in node.kids
                if kid.type == "spread_element" and kid.kids
                for text in self._members(kid.kids[0], key, depth + 1)
            ]
        if node.type == "ternary_expression":
            return [text for kid in node.kids[1:] for text in self._members(kid, key, depth + 1)]
        return [text for given in self._given(node) for text in self._members(given, key, depth + 1)]

    def _texts(self, node: Node, depth: int) -> list[str]:
        """The texts that an expression may stand for, at most MAX_CALLS, with UNKNOWN for what is not known."""
        self._steps += 1
        node = self._value(node)
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
                return self._of_member(node, depth)
            case "ternary_expression":
                given = node.kids[1:]
            case _:
                given = self._given(node)
        return self._some(text for one in given for text in self._texts(one, depth + 1)) or [UNKNOWN]

    def _plain(self, node: Node) -> str | None:
        """The text of a literal, or of a piece of a template."""
        if node.type == "string":
            return self._names.text(node)[1:-1][:MAX_TEXT]
        is_plain = node.type in ("number", "string_fragment", "escape_sequence")
        return self._names.text(node)[:MAX_TEXT] if is_plain else None

    def _value(self, node: Node) -> Node:
        """The value of a variable, its first one if it changes later; the name itself, if it is a parameter."""
        for _ in range(MAX_DEPTH):
            node = bare(node)
            local = node.local if node.type in REFERENCES else None
            if local is None or local in self._parameters or local in self._items:
                break
            value = local.value or local.first
            if value is None:
                break
            node = value
        return node

    def _of_binary(self, node: Node, depth: int) -> list[str]:
        sides = [kid for kid in node.kids if kid.field != "operator"]
        kind = operator(node)
        if kind == "op:+":
            return self._joined(sides, depth)
        if kind == "op:??" and len(sides) == 2:
            known = [text for text in self._texts(sides[0], depth + 1) if text != UNKNOWN]
            return known or self._texts(sides[1], depth + 1)
        return [UNKNOWN]

    def _of_new(self, node: Node, depth: int) -> list[str]:
        made, given = self._names.made(node), arguments(node)
        if made == "new:URL" and given:
            return self._based(given, depth)
        if made == "new:URLSearchParams" and given:
            self._keys(given[0])
        return self._texts(given[0], depth + 1) if made == "new:Request" and given else [UNKNOWN]

    def _of_call(self, node: Node, depth: int) -> list[str]:
        if node.type == "new_expression":
            return self._of_new(node, depth)
        given, callee = arguments(node), bare(node.at.get("function") or node)
        path, owner = self._names.path(callee), callee.at.get("object")
        name = path[-1] if path else self._names.key(callee) if callee.type == "member_expression" else None
        if path and name in _SAME_GLOBALS and given:
            return self._texts(given[0], depth + 1)
        if owner is not None and name in _SAME:
            return self._texts(owner, depth + 1)
        if owner is not None and name == "concat":
            return self._joined([owner, *given], depth)
        items = self._value(owner) if owner is not None and name == "join" else None
        if items is not None and items.type == "array" and given and given[0].type == "string":
            return self._joined([one for item in items.kids for one in (given[0], item)][1:], depth)
        function = self._function(callee)
        found = results(function) if function is not None else ()
        return self._some(text for one in found for text in self._texts(one, depth + 1)) or [UNKNOWN]

    def _based(self, given: Sequence[Node], depth: int) -> list[str]:
        """`new URL(path, base)`."""
        paths = self._texts(given[0], depth + 1)
        if len(given) < 2:
            return paths
        base = self._texts(given[1], depth + 1)[0]
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

    def _of_member(self, node: Node, depth: int) -> list[str]:
        owner, key = node.at.get("object"), self._names.key(node)
        if owner is None or key is None:
            return [UNKNOWN]
        if key in _SAME:
            return self._texts(owner, depth + 1)
        if owner.type == "this":
            field = self._fields.get(key)
            return [UNKNOWN] if field is None else self._texts(field, depth + 1)
        if key in _PARTS_OF_URL:
            return [UNKNOWN]
        static = self._fields.get(key)
        found = self._members(owner, key, depth + 1)
        return self._some(found or (self._texts(static, depth + 1) if static is not None else ())) or [UNKNOWN]

    def _joined(self, nodes: Iterable[Node], depth: int) -> list[str]:
        texts = [""]
        for node in nodes:
            more = self._texts(node, depth + 1)
            if self._is_named(node) and len(more) == 1 and "/" not in more[0] and texts[0].count("/") > _IN_HOST:
                # The author gave it a name, because it differs from time to time.
                more = [UNKNOWN]
            texts = [f"{text}{one}"[:MAX_TEXT] for text in texts for one in more][:MAX_CALLS]
        return texts

    def _is_named(self, node: Node) -> bool:
        local = bare(node).local if bare(node).type in REFERENCES else None
        return local is not None and local not in self._parameters

    def _some(self, texts: Iterable[str]) -> list[str]:
        found: dict[str, None] = {}
        for text in texts:
            found[text] = None
            if len(found) >= MAX_CALLS:
                break
        return list(found)

    def _given(self, node: Node) -> list[Node]:
        """What the calls of a helper give to the parameter that this name stands for."""
        local = node.local if node.type in REFERENCES else None
        if local is None:
            return []
        known = self._parameters.get(local)
        if known is None:
            return self._items.get(local, [])
        function, position, key = known
        given = [
            arguments(call)[position]
            for call in self._called.get(function, ())[:MAX_CALLS]
            if len(arguments(call)) > position
        ]
        return given if not key else [one for value in given for one in self._pair(value, key)]

    def _pair(self, node: Node, key: str) -> list[Node]:
        node = self._names.value(node)
        for kid in node.kids if node.type == "object" else ():
            name, value = kid.at.get("key"), kid.at.get("value")
            if kid.type == "shorthand_property_identifier" and self._names.text(kid) == key:
                return [kid]
            if name is not None and value is not None and plain(self._names, name) == key:
                return [value]
        return []

    def _know_calls(self, calls: Sequence[tuple[Node, tuple[str, ...] | None]]) -> None:
        """Note the parameters of all functions and the calls of each, once."""
        if self._knows_calls:
            return
        self._knows_calls = True
        self._know_members()
        for node, _ in calls:
            callee = node.at.get("function")
            function = self._function(callee) if callee is not None else self._methods_named.get("constructor")
            if function is not None:
                self._called.setdefault(function, []).append(node)
            elif callee is not None:
                self._know_items(callee, arguments(node))
        for loop in self._tree.declaring:
            if loop.type == "for_in_statement":
                self._know_loop(loop)
        for function in self._called:
            for position, parameter in enumerate(parameters(function)):
                for key, name in named(self._names, parameter):
                    local = parameter.scope.find(name)
                    if local is not None:
                        self._parameters[local] = (function, position, key)

    def _know_members(self) -> None:
        """Note the methods of classes and objects by name, and what `this.name` is set to."""
        for node in self._tree.declaring:
            name = node.at.get("name")
            if node.type == "method_definition" and name is not None:
                self._methods_named[self._names.text(name)] = node
            if node.type == "class_body":
                self._know_fields(node)
            left, right = node.at.get("left"), node.at.get("right")
            if node.type == "assignment_expression" and left is not None and right is not None:
                owner = left.at.get("object")
                if owner is not None and owner.type == "this":
                    self._fields[self._names.key(left) or ""] = right

    def _know_fields(self, body: Node) -> None:
        """`base = "https://…"`, and `constructor(private base)`, which sets a member of the same name."""
        for kid in body.kids:
            name, value = kid.at.get("name") or kid.at.get("property"), kid.at.get("value")
            if name is None:
                continue
            if kid.type == "public_field_definition" and value is not None:
                self._fields.setdefault(self._names.text(name), value)
            elif kid.type == "method_definition" and self._names.text(name) == "constructor":
                for parameter in parameters(kid):
                    self._fields.setdefault(self._names.text(parameter), parameter)

    def _function(self, callee: Node) -> Node | None:
        """The function or method of the script that is called."""
        function = self._names.value(callee)
        if function.type in FUNCTIONS:
            return function
        if function.type != "member_expression":
            return None
        owner, key = function.at.get("object"), self._names.key(function)
        for one in self._pair(owner, key) if owner is not None and key is not None else ():
            value = self._names.value(one)
            if value.type in FUNCTIONS:
                return value
        return self._methods_named.get(key or "")

    def _know_items(self, callee: Node, given: Sequence[Node]) -> None:
        """`["/a", "/b"].map((path) => …)`."""
        callee = bare(callee)
        if callee.type == "member_expression" and self._names.key(callee) in ("map", "forEach", "flatMap") and given:
            function = self._names.value(given[0])
            for parameter in parameters(function)[:1] if function.type in FUNCTIONS else ():
                self._know_item(parameter, callee.at.get("object"))

    def _know_loop(self, loop: Node) -> None:
        """`for (const path of ["/a", "/b"]) …`."""
        name = loop.at.get("left")
        if name is not None:
            self._know_item(name, loop.at.get("right"))

    def _know_item(self, name: Node, items: Node | None) -> None:
        found = self._names.value(items) if items is not None else None
        local = name.scope.find(self._names.text(name)) if name.type == "identifier" else None
        if local is None or found is None or found.type != "array":
            return
        # Only the paths of one host: other items are names of one of many, and so are many hosts.
        texts = [self._names.text(kid) for kid in found.kids if kid.type == "string"]
        hosts = {text.partition("://")[2].partition("/")[0] for text in texts if "://" in text}
        if len(texts) == len(found.kids) <= MAX_CALLS and all("/" in text for text in texts) and len(hosts) < 2:
            self._items[local] = found.kids


def arguments(node: Node) -> list[Node]:
    given = node.at.get("arguments")
    return given.kids if given is not None else []


def parameters(function: Node) -> list[Node]:
    found = function.at.get("parameters")
    if found is not None:
        return [(kid.at.get("pattern") or kid) for kid in found.kids]
    one = function.at.get("parameter")
    return [] if one is None else [one]


def named(names: Names, parameter: Node) -> Iterable[tuple[str, str]]:
    """The names that a parameter declares, each with the key that it is destructured from."""
    if parameter.type == "identifier":
        yield "", names.text(parameter)
    for kid in parameter.kids if parameter.type == "object_pattern" else ():
        left = kid.at.get("left") or kid
        key, value = kid.at.get("key") or left, kid.at.get("value") or left
        yield names.text(key), names.text(value)


def results(function: Node) -> Iterable[Node]:
    """What a small function returns."""
    body = function.at.get("body")
    if body is None:
        return
    if body.type != "statement_block":
        yield body
    for kid in body.kids if body.type == "statement_block" else ():
        if kid.type == "return_statement" and kid.kids:
            yield kid.kids[0]


def plain(names: Names, key: Node) -> str:
    text = names.text(key)
    return (text[1:-1] if key.type == "string" else text)[:MAX_NAME_CHARS]


def _words(text: str) -> set[str]:
    return set(_WORDS.findall(text.lower())) if len(text) <= MAX_TEXT else set()
