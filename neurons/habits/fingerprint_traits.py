"""Reads the traits of a script: what it works with, whatever the style in which it is written.

A trait is a thing that it does (`sort`, `round`, `%`, `loop`), or a member of data that it reads. A loop and an array
method are the same trait, `await` and `then` are none, and it makes no difference in which function something stands.
Marks tell scripts apart that do nearly the same: up or down, largest or smallest. Words are of the author's names.

Like `fingerprint_tree.py`, it must not run in the host process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any
from zlib import crc32

from .fingerprint_effects import Effects, arguments, parameters, plain
from .fingerprint_marks import Marks, only_jumps
from .fingerprint_names import Names, bare, number_of, operator
from .fingerprint_nodes import FUNCTIONS, REFERENCES, Local, Node
from .fingerprint_tree import MAX_NODES, Tree
from .fingerprint_vocabulary import DEFAULT_WEIGHT, GLUE, MEMBERS, OF_GLOBALS, OPERATORS, STOP_WORDS, WEIGHTS

MAX_TRAITS = 192
MAX_WORDS = 96
MAX_CALLS = 400
MARK_WEIGHT = 2
FORMULA_WEIGHT = 4
MAX_TEXT_WORDS = 40
MAX_NAMED = 60
_SPLIT = re.compile(r"[A-Z]?[a-z]+|[A-Z]{2,}(?![a-z])")
_ONLY_ERRORS = frozenset({"catch_clause", "throw_statement"})
_FORMULAS = frozenset({"op:+", "op:-", "op:*", "op:/", "op:**"})
# Operators whose sides cannot be swapped.
_TURNING = frozenset({"op:-", "op:/", "op:**"})
_UNITS = frozenset({60_000, 3_600_000, 86_400_000, 604_800_000})
# Marks that all styles of a script have. Others only tell scripts apart.
_TRAITS = ("case", "round", "sort", "extreme", "edge", "pad", "date")
_PLAIN_NUMBERS = frozenset({0, 1, 2, 10, 100})
_NUMBERS = frozenset({"number", "parenthesized_expression"})
_OF_NUMBERS = frozenset({"binary_expression", "parenthesized_expression"})
_ARITHMETIC_OPERATORS = frozenset({"op:+", "op:-", "op:*", "op:/"})
_COMPARISONS = frozenset({"op:<", "op:<=", "op:>", "op:>="})
_NOTHING: tuple[Node, ...] = ()

Kids = Iterable[Node]


class Traits:
    def __init__(self, names: Names, tree: Tree) -> None:
        self._names = names
        self._tree = tree
        self._marks = Marks(names)
        self._counts: dict[str, int] = {}
        self._members: dict[str, int] = {}
        self._owners: set[str] = set()
        self._made: set[str] = set()
        """Keys of objects that the script itself puts together."""
        self._words: dict[str, None] = {}
        self._said: set[str] = set()
        self._known: set[Local] = set()
        self._limits: set[Node] = set()
        """What is compared with something else."""
        self._calls: list[tuple[Node, tuple[str, ...] | None]] = []

    def of(self, root: Node) -> dict[str, Any]:
        for kid in root.kids:
            if kid.type == "return_statement" and kid.kids:
                self._marks.roles.returned(kid.kids[0])
        stack = [root]
        pop, visits = stack.pop, _VISITS
        for _ in range(MAX_NODES):
            if not stack:
                break
            node = pop()
            visit = visits.get(node.type)
            stack += node.kids if visit is None else visit(self, node)
        effects = Effects(self._names, self._tree)
        found = effects.of(self._calls)
        self._marks.without(effects.texts)
        self._fold(effects, bool(found))
        return {
            "effects": found,
            "traits": self._weighed(bool(found)),
            "marks": self._marks.found(),
            "words": sorted({_hash(word) for word in self._words})[:MAX_WORDS],
        }

    def _weighed(self, reaches: bool) -> dict[str, int]:
        weighed: dict[str, int] = {}
        for trait, count in self._counts.items():
            weight = WEIGHTS.get(trait, FORMULA_WEIGHT if trait.startswith("formula") else DEFAULT_WEIGHT)
            if weight and not (reaches and trait in GLUE):
                weighed[_hash(trait)] = weight * 2 if count < 2 else weight * 3
        for mark in self._marks.found():
            if mark.startswith(_TRAITS):
                weighed[_hash(f"mark {mark}")] = MARK_WEIGHT
        kept = sorted(weighed)[:MAX_TRAITS]
        return {trait: weighed[trait] for trait in kept}

    def _fold(self, effects: Effects, reaches: bool) -> None:
        """Members of what an effect answered are traits; in a pure script they are words of the author."""
        for key in effects.keys:
            self._counts[f"key {key}"] = 1
        for name in self._members:
            # `rates.EUR`, and what was put into an address, are parameters.
            if name.lower() in effects.texts or (name.isupper() and len(name) > 1):
                continue
            if reaches and name not in self._made:
                self._counts[f"member {name}"] = 1
                if name not in self._owners:
                    self._marks.member(name)
            self._marks.has(name)
            self._say(name)

    def _count(self, *traits: str) -> None:
        for trait in traits:
            self._counts[trait] = self._counts.get(trait, 0) + 1

    def _say(self, name: str) -> None:
        if name not in self._said and len(self._words) < 2 * MAX_WORDS:
            self._said.add(name)
            self._words |= _words_in(name[:MAX_NAMED])

    # What follows is called for the nodes of one type each, and returns the nodes to look at next.

    def _nothing(self, _node: Node) -> Kids:
        return _NOTHING

    def _name(self, node: Node) -> Kids:
        if node.local is not None and node.local not in self._known:
            self._known.add(node.local)
            self._say(self._names.text(node))
        return _NOTHING

    def _if(self, node: Node) -> Kids:
        if only_jumps(node, "throw_statement") or self._is_guard(node):
            return _NOTHING
        self._count("extreme" if self._marks.choice(node) else "if")
        return node.kids

    def _is_guard(self, node: Node) -> bool:
        """Whether it only ends the script or function early when there is nothing to work with."""
        if not only_jumps(node, "return_statement"):
            return False
        condition = bare(node.at.get("condition") or node)
        if condition.type == "unary_expression" and operator(condition) == "op:!":
            condition = bare(condition.at.get("argument") or condition)
            return condition.type in REFERENCES or self._names.key(condition) in ("ok", "length", "isArray")
        text = self._names.text(condition)
        return ".length" in text and text.rstrip(")").endswith(("0", "1")) and len(text) < 40

    def _ternary(self, node: Node) -> Kids:
        self._count("extreme" if self._marks.choice(node) else "if")
        return node.kids

    def _switch(self, node: Node) -> Kids:
        self._count("if")
        return node.kids

    def _for(self, node: Node) -> Kids:
        self._count("loop")
        kids = [kid for kid in node.kids if kid.field in ("body", "initializer")]
        condition, step = node.at.get("condition"), node.at.get("increment")
        if condition is not None and condition.type == "binary_expression":
            kids += [kid for kid in condition.kids if kid.type == "binary_expression"]
            self._limits.update(kids)
        if step is not None and step.type != "update_expression":
            kids += [kid for kid in step.kids if kid.type not in ("identifier", "number", "operator")]
        self._marks.loop(node.at.get("body"))
        self._marks.roles.bound(node)
        return kids

    def _loop(self, node: Node) -> Kids:
        self._count("loop")
        self._marks.loop(node.at.get("body"))
        right = node.at.get("right")
        if right is not None:
            self._own(right)
        return [kid for kid in node.kids if kid.field != "left"] + [
            kid for kid in node.kids if kid.field == "left" and kid.type.endswith("pattern")
        ]

    def _own(self, node: Node) -> None:
        """Note that a member only leads to what is worked with."""
        node = self._names.value(node)
        if node.type == "call_expression":
            node = bare(node.at.get("function") or node).at.get("object") or node
            node = self._names.value(node)
        if node.type == "member_expression":
            key = self._names.key(node)
            if key:
                self._owners.add(key)

    def _call(self, node: Node) -> Kids:
        path = self._names.callee_path(node)
        if len(self._calls) < MAX_CALLS:
            self._calls.append((node, path))
        given = arguments(node)
        if path is not None:
            if path[0] == "console":
                return _NOTHING
            self._global(".".join(path[:2]), path, given)
            return given
        callee = node.at.get("function")
        if callee is None:
            return given
        callee = bare(callee)
        if callee.type not in ("member_expression", "subscript_expression"):
            return [callee, *given]
        name = self._names.key(callee) or ""
        owner = callee.at.get("object")
        known = MEMBERS.get(name)
        if owner is not None:
            self._pick(name, owner, given)
        if known is None:
            self._say(name)
        elif self._marks.is_picked(node, name):
            self._count("extreme")
            self._marks.called(name, node, given)
        else:
            self._count(*known)
            self._marks.called(name, node, given)
        if owner is not None:
            if known is not None and "loop" in known:
                self._own(owner)
            return [owner, *given]
        return given

    def _pick(self, name: str, owner: Node, given: list[Node]) -> None:
        """`.at(0)`, `.at(-1)`, `.shift()` and `.pop()`."""
        index = self._names.text(given[0]) if name == "at" and given else ""
        if name in ("pop", "shift") or index in ("0", "-1"):
            self._marks.picked(owner, last=name == "pop" or index == "-1")

    def _global(self, name: str, path: tuple[str, ...], given: list[Node]) -> None:
        if path[0] == "tools":
            return
        known = OF_GLOBALS.get(name)
        if known is None:
            known = MEMBERS.get(path[-1]) if len(path) > 2 else None
        self._count(*((f"call {name}",) if known is None else known))
        self._marks.global_called(name, given)
        if name == "Math.pow":
            self._formula("op:**", given)
            self._exponent(given[-1] if given else None)

    def _new(self, node: Node) -> Kids:
        name = self._names.made(node).removeprefix("new:")
        if f"new {name}" not in OF_GLOBALS and len(self._calls) < MAX_CALLS:
            # Perhaps a class of the script.
            self._calls.append((node, None))
        self._count(*OF_GLOBALS.get(f"new {name}", (f"new {name}",) if name else ()))
        if name == "Date":
            self._marks.roles.monthday(arguments(node))
        if name == "RegExp":
            self._marks.regex(f"/{''.join(self._names.text(kid)[1:-1] for kid in arguments(node)[:1])}/")
        return arguments(node)

    def _subscript(self, node: Node) -> Kids:
        self._marks.roles.axis(node)
        index, owner = node.at.get("index"), node.at.get("object")
        if index is not None and owner is not None:
            if self._names.text(index) == "0":
                self._marks.picked(owner, last=False)
            elif operator(index) == "op:-" and ".length" in self._names.text(index):
                self._marks.picked(owner, last=True)
        return self._member(node)

    def _member(self, node: Node) -> Kids:
        path = self._names.path(node)
        if path is not None and len(path) > 1:
            if path[0] != "tools":
                self._count(*OF_GLOBALS.get(".".join(path[:2]), (f"call {'.'.join(path[:2])}",)))
            return _NOTHING
        owner, key = node.at.get("object"), self._names.key(node)
        if key:
            known = MEMBERS.get(key)
            if known is not None:
                self._count(*known)
                if key == "headers":
                    self._marks.called(key, node, ())
            else:
                self._read(key)
            value = self._names.value(owner) if owner is not None else None
            if known is None and value is not None and value.type == "member_expression":
                self._owners.add(self._names.key(value) or "")
        return [kid for kid in node.kids if kid.field != "property"]

    def _read(self, key: str) -> None:
        if len(self._members) < MAX_TRAITS:
            self._members[key] = self._members.get(key, 0) + 1

    def _declarator(self, node: Node) -> Kids:
        name, value = node.at.get("name"), node.at.get("value")
        if name is not None and name.type == "object_pattern" and value is not None:
            path = self._names.path(value)
            if path is not None:
                return [value]
        return node.kids

    def _pattern(self, node: Node) -> Kids:
        """`const { a, b: c } = …`: members are read."""
        for kid in node.kids:
            key = kid.at.get("key") or kid.at.get("left") or kid
            text = self._names.text(key)
            if kid.type != "rest_pattern" and text.isidentifier():
                known = MEMBERS.get(text)
                if known is None:
                    self._read(text)
                else:
                    self._count(*known)
        return [kid.at.get("value") or kid for kid in node.kids if kid.type == "pair_pattern"]

    def _binary(self, node: Node) -> Kids:
        if self._names.is_text(node):
            self._count("text")
        elif self._is_number(node):
            return self._number(node)
        else:
            kind = self._power(node)
            if kind in _COMPARISONS:
                self._limits.update(map(bare, node.kids))
            self._count(*OPERATORS.get(kind, (kind,)))
            if kind == "op:/":
                self._marks.roles.divided(node)
                self._unit(node)
            elif kind in ("op:+", "op:-"):
                self._marks.roles.moved(node)
            if kind in _ARITHMETIC_OPERATORS:
                self._with_constant(node, kind)
            if kind == "op:**":
                self._exponent(node.kids[-1] if operator(node) == kind else None)
            if kind in _FORMULAS:
                self._formula(kind, [kid for kid in node.kids if kid.field != "operator"])
        return [kid for kid in node.kids if kid.field != "operator"]

    def _power(self, node: Node) -> str:
        """The operator; `x * x` is `x ** 2`, but in `d * d <= n`, for which others take the root."""
        kind = operator(node)
        if kind != "op:*" or node in self._limits:
            return kind
        sides = [self._names.text(bare(kid)) for kid in node.kids if kid.field != "operator"]
        return "op:**" if len(sides) == 2 and sides[0] == sides[1] else kind

    def _exponent(self, node: Node | None) -> None:
        # Behind a name it is a parameter, as the years in `p * (1 + r) ** n` are.
        node = None if node is None else bare(node)
        if node is None or node.type == "number":
            self._marks.power("2" if node is None else self._names.text(node))

    def _unit(self, node: Node) -> None:
        """`ms / 1000 / 60`: the unit of time that something is counted in."""
        unit = 1.0
        while node.type == "binary_expression" and operator(node) == "op:/":
            right = self._names.value(node.at.get("right") or node)
            number = number_of(self._names.text(right)[:41])
            if number is None:
                break
            unit *= number
            node = self._names.value(node.at.get("left") or node.kids[0])
        if unit in _UNITS:
            self._marks.unit(f"{unit:g}")

    def _formula(self, kind: str, sides: list[Node]) -> None:
        """What an operator is applied to: `1 - x` and `x - 1`, `x / (1 - y)` and `x * (1 + y)` are other formulas."""
        for position, side in enumerate(sides[:2]):
            value = self._names.value(side)
            inner = operator(value) if value.type == "unary_expression" else ""
            inner = self._power(value) if value.type == "binary_expression" else inner
            if value.type == "call_expression" and self._names.callee_path(value) == ("Math", "pow"):
                inner = "op:**"
            elif kind == "op:-" and position == 0 and value.type == "number":
                inner = self._names.text(value)[:10]
            if inner in _FORMULAS or inner == "1":
                self._count(f"formula {kind} {inner} {position if kind in _TURNING else ''}")

    def _with_constant(self, node: Node, kind: str) -> None:
        for kid in node.kids:
            if kid.field == "operator":
                continue
            value = bare(kid) if kid.type in _NUMBERS else node
            if value is not node and self._is_number(value):
                number = number_of(self._names.text(value)[:41])
                if number is not None and abs(number) not in _PLAIN_NUMBERS:
                    is_turned = kind in ("op:-", "op:/") and kid.field == "left"
                    self._marks.arithmetic(f"{number:g}", f"{kind}{'<' if is_turned else ''}")

    def _is_number(self, node: Node) -> bool:
        """Whether it is a number, or numbers put together."""
        kind = node.type
        if kind not in _OF_NUMBERS:
            return kind == "number"
        return all(kid.field == "operator" or self._is_number(kid) for kid in node.kids)

    def _number(self, node: Node) -> Kids:
        text = self._names.text(node)
        if len(text) <= 40:
            self._constant(text)
        return _NOTHING

    def _constant(self, text: str) -> None:
        value = number_of(text)
        if value is not None and abs(value) not in _PLAIN_NUMBERS and len(self._words) < 2 * MAX_WORDS:
            self._words[f"#{value:g}"] = None

    def _unary(self, node: Node) -> Kids:
        kind = operator(node)
        self._count(*OPERATORS.get(f"unary {kind}", ()))
        return [kid for kid in node.kids if kid.field != "operator"]

    def _assignment(self, node: Node) -> Kids:
        self._marks.assigned(node)
        if node.type == "update_expression":
            self._count("count")
            target = node.at.get("argument")
            return [] if target is None or target.type == "identifier" else [target]
        kids = [kid for kid in node.kids if kid.field != "operator"]
        if node.type == "augmented_assignment_expression":
            right = node.at.get("right")
            if right is not None and self._names.text(right) == "1":
                self._count("count")
                return kids[:1]
            kind = operator(node).removesuffix("=")
            is_text = right is not None and (right.type in ("string", "template_string") or self._names.is_text(right))
            self._count(*(("text",) if is_text else OPERATORS.get(kind, (kind,))))
            if right is not None and kind in _FORMULAS and not is_text:
                self._formula(kind, [right])
        target = node.at.get("left")
        target = bare(target) if target is not None else None
        if target is not None and target.type == "subscript_expression":
            self._count("dict")
            self._marks.roles.key(target.at.get("index") or target)
        return kids

    def _template(self, node: Node) -> Kids:
        kids = [kid for kid in node.kids if kid.type == "template_substitution"]
        if kids:
            self._count("text")
        self._words_of(node)
        return kids

    def _text(self, node: Node) -> Kids:
        self._words_of(node)
        return _NOTHING

    def _words_of(self, node: Node) -> None:
        if node.end - node.start <= MAX_TEXT_WORDS:
            text = self._names.text(node)
            if "://" not in text:
                self._say(text)

    def _regex(self, node: Node) -> Kids:
        self._count("regex")
        self._marks.regex(self._names.text(node))
        return _NOTHING

    def _data(self, node: Node) -> Kids:
        if self._names.is_constant(node) and node.kids:
            for kid in node.kids[:1]:
                for pair in kid.kids if kid.type == "object" else ():
                    key = pair.at.get("key")
                    if key is not None:
                        self._say(plain(self._names, key))
            return _NOTHING
        return node.kids

    def _object(self, node: Node) -> Kids:
        if self._names.is_constant(node):
            return _NOTHING
        kids = []
        for kid in node.kids:
            key, value = kid.at.get("key"), kid.at.get("value")
            if kid.type == "shorthand_property_identifier":
                key, value = kid, None
            if key is None:
                kids.append(kid)
                continue
            if key.type == "computed_property_name":
                self._count("dict")
                kids.append(key)
            else:
                name = plain(self._names, key)
                self._made.add(name)
                self._say(name)
            if value is not None:
                kids.append(value)
        return kids

    def _function(self, node: Node) -> Kids:
        name = node.at.get("name")
        if name is not None:
            self._say(self._names.text(name))
        patterns = [kid for kid in parameters(node) if kid.type.endswith("pattern")]
        body = node.at.get("body")
        return [*patterns, body] if body is not None else patterns


@lru_cache(maxsize=1024)
def _words_in(name: str) -> dict[str, None]:
    words = (part.lower().removesuffix("s") for part in _SPLIT.findall(name))
    return {word: None for word in words if len(word) > 2 and word not in STOP_WORDS}


@lru_cache(maxsize=4096)
def _hash(text: str) -> str:
    return f"{crc32(text.encode('latin-1', 'replace')):08x}"


_VISITS: dict[str, Callable[[Traits, Node], Kids]] = {
    **dict.fromkeys(_ONLY_ERRORS, Traits._nothing),
    **dict.fromkeys(REFERENCES, Traits._name),
    **dict.fromkeys(FUNCTIONS, Traits._function),
    "if_statement": Traits._if,
    "ternary_expression": Traits._ternary,
    "switch_statement": Traits._switch,
    "for_statement": Traits._for,
    "for_in_statement": Traits._loop,
    "while_statement": Traits._loop,
    "do_statement": Traits._loop,
    "call_expression": Traits._call,
    "new_expression": Traits._new,
    "member_expression": Traits._member,
    "subscript_expression": Traits._subscript,
    "variable_declarator": Traits._declarator,
    "object_pattern": Traits._pattern,
    "binary_expression": Traits._binary,
    "unary_expression": Traits._unary,
    "assignment_expression": Traits._assignment,
    "augmented_assignment_expression": Traits._assignment,
    "update_expression": Traits._assignment,
    "template_string": Traits._template,
    "string": Traits._text,
    "number": Traits._number,
    "regex": Traits._regex,
    "array": Traits._data,
    "object": Traits._object,
}
