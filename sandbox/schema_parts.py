"""The parts of a JSON Schema that a check goes through: which of them look at the same value, and which at what is in
it. Of all drafts at once: a part too many makes a schema look heavier than it is, one too few would hide its cost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

Part = dict[str, Any]

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_SAME_VALUE_BY_NAME = ("dependentSchemas", "dependencies")
_WITHIN = (
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
)
_WITHIN_BY_NAME = ("properties", "patternProperties")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_WORD = re.compile(r"[A-Za-z0-9_-]{1,100}")


class BadSchema(ValueError):
    """The schema cannot be used. The message says why."""


class Parts:
    """All parts that a check of a value may come to, and how they hang together."""

    def __init__(self, schema: Part) -> None:
        self.root = schema
        self.all: list[Part] = []
        self.same: dict[int, list[Part]] = {}
        """By the id of a part, those that look at the same value: what is written in it, and what it refers to."""
        self.within: dict[int, list[Part]] = {}
        """Those that look at what is in the value."""
        self.meant: dict[int, Part] = {}
        """What is referred to."""
        names = _Names(schema)
        waiting = [schema]
        while waiting:
            part = waiting.pop()
            if id(part) in self.same:
                continue
            meant = [names.meant(part[key], key) for key in REFERENCES if isinstance(part.get(key), str)]
            self.meant.update((id(target), target) for target in meant)
            self.all.append(part)
            self.same[id(part)] = [*_under(part, _SAME_VALUE, _SAME_VALUE_BY_NAME), *meant]
            self.within[id(part)] = list(_under(part, _WITHIN, _WITHIN_BY_NAME))
            waiting += self.same[id(part)] + self.within[id(part)]

    def have(self, *keywords: str) -> bool:
        return any(keyword in part for part in self.all for keyword in keywords)

    def chain(self) -> int:
        """How many parts at most look at one value because of one another. Raises BadSchema when they go round."""
        lengths: dict[int, int] = {}
        for part in self._by_need():
            lengths[id(part)] = 1 + max((lengths[id(inner)] for inner in self.same[id(part)]), default=0)
        return max(lengths.values())

    def left_over(self) -> int:
        """How many parts are compiled once more, to know what they leave over. Raises BadSchema when they go round."""
        sizes: dict[int, int] = {}
        for part in self._by_need():
            sizes[id(part)] = 1 + sum(sizes[id(inner)] for inner in self.same[id(part)])
        return sum(sizes[id(part)] for part in self.all for keyword in _UNEVALUATED if keyword in part)

    def _by_need(self) -> list[Part]:
        order = post_order(self.all, self.same)
        if order is None:
            raise BadSchema("its references lead back to where they are, without a step into the value")
        return order

    def unfolded(self) -> int | None:
        """How much the schema weighs when each reference is replaced by what it means; None when that has no end."""
        edges = {key: self.same[key] + self.within[key] for key in self.same}
        order = post_order([self.root], edges)
        if order is None:
            return None
        weights: dict[int, int] = {}
        for part in order:
            weights[id(part)] = _own_weight(part) + sum(weights[id(inner)] for inner in edges[id(part)])
        return weights[id(self.root)]

    def longest_body(self) -> int:
        """How much is checked at most from one reference to the next ones."""
        return max(self._body(part) for part in (self.root, *self.meant.values()))

    def _body(self, part: Part) -> int:
        weight, waiting = 0, [part]
        while waiting:
            part = waiting.pop()
            weight += _own_weight(part) + sum(key in part for key in REFERENCES)
            waiting += _under(part, _SAME_VALUE, _SAME_VALUE_BY_NAME)
            waiting += _under(part, _WITHIN, _WITHIN_BY_NAME)
        return weight


def post_order(starts: Iterable[Part], edges: dict[int, list[Part]]) -> list[Part] | None:
    """The parts, each after those that it leads to; None when some lead round. Without recursion: schemas are deep."""
    order: list[Part] = []
    is_done: dict[int, bool] = {}
    for start in starts:
        waiting = [(start, False)]
        while waiting:
            part, is_left = waiting.pop()
            if is_left:
                is_done[id(part)] = True
                order.append(part)
            elif id(part) not in is_done:
                is_done[id(part)] = False
                waiting.append((part, True))
                for inner in edges[id(part)]:
                    if is_done.get(id(inner)) is False:
                        return None
                    waiting.append((inner, False))
            elif not is_done[id(part)]:
                return None
    return order


def _under(part: Part, keywords: Iterable[str], by_name: Iterable[str]) -> Iterator[Part]:
    for keyword in keywords:
        inner = part.get(keyword)
        if isinstance(inner, dict):
            yield inner
        elif isinstance(inner, list):
            yield from (choice for choice in inner if isinstance(choice, dict))
    for keyword in by_name:
        named = part.get(keyword)
        if isinstance(named, dict):
            yield from (inner for inner in named.values() if isinstance(inner, dict))


def _own_weight(part: Part) -> int:
    """Objects to compare with are compared one by one, and slowly; texts are looked up. To divide large numbers by
    small ones takes long."""
    listed = part.get("enum")
    compared = [*(listed if isinstance(listed, list) else ()), part.get("const")]
    required = part.get("required")
    names = len(required) if isinstance(required, list) else 0
    return 1 + 4 * sum(_values(value) for value in compared) + names + 1_000 * ("multipleOf" in part)


def _values(value: Any) -> int:
    found, waiting = 0, [value] if isinstance(value, dict | list) else []
    while waiting:
        part = waiting.pop()
        found += 1
        if isinstance(part, dict | list):
            waiting.extend(part.values() if isinstance(part, dict) else part)
    return found


class _Names:
    """What references mean. One that we do not understand is refused: behind it there could be anything."""

    def __init__(self, root: Part) -> None:
        self._root = root
        self._named: dict[str, Part] = {}
        self._has_inner = False
        old = any(isinstance(part.get("$schema"), str) and "draft-04" in part["$schema"] for part in _objects(root))
        for part in _objects(root):
            own = part.get("$id", part.get("id") if old else None)
            if isinstance(own, str):
                self._own_name(part, own)
            for anchor in _ANCHORS:
                if isinstance(part.get(anchor), str):
                    self._name(f"#{part[anchor]}", part)

    def _own_name(self, part: Part, own: str) -> None:
        if own.startswith("#"):
            self._name(own, part)
        elif part is self._root:
            self._name(own.removesuffix("#"), part)
        elif _WORD.fullmatch(own):
            self._has_inner = True
            self._name(own, part)
        else:
            raise BadSchema(f'a part of it has an address of its own, "{own[:100]}"')

    def _name(self, name: str, part: Part) -> None:
        if self._named.setdefault(name, part) is not part:
            raise BadSchema(f'two parts of it have the name "{name[:100]}"')

    def meant(self, reference: str, keyword: str) -> Part:
        is_local = reference.startswith("#")
        if self._has_inner and (is_local or keyword != "$ref" or not _WORD.fullmatch(reference)):
            raise BadSchema("parts of it have names of their own, and other references too")
        found = self._pointed(reference) if is_local else self._named.get(reference.removesuffix("#"))
        if found is None:
            why = "is not in it" if is_local else "is outside of it, and nothing is fetched"
            raise BadSchema(f'what it refers to {why}: "{reference[:100]}"')
        return found

    def _pointed(self, reference: str) -> Part | None:
        found: Any = self._root
        if reference in {"#", "#/"}:
            return self._root if reference == "#" else None
        if not reference.startswith("#/"):
            return self._named.get(reference)
        for step in unquote(reference[2:]).split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict):
                found = found.get(key)
            elif isinstance(found, list) and key.isdecimal() and len(key) < 6 and int(key) < len(found):
                found = found[int(key)]
            else:
                return None
        # `true` and `false` are schemas as well.
        return found if isinstance(found, dict) else {} if isinstance(found, bool) else None


def _objects(value: Any) -> Iterator[Part]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
