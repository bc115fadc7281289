"""Reads the traits of a script: what it works with, whatever the style in which it is written.

A trait is a thing that it does (`sort`, `round`, `%`, `loop`), or a member of data that it reads. A loop and an array
method are the same trait, `await` and `then` are none, and it makes no difference in which function something stands.
Marks tell scripts apart that do nearly the same: up or down, largest or smallest. Words are of the author's names.

Like `fingerprint_tree.py`, it must not run in the host process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .fingerprint_arithmetic import Arithmetic
from .fingerprint_counts import TraitCounts
from .fingerprint_effects import Effects
from .fingerprint_expressions import arguments, only_jumps, parameters
from .fingerprint_marks import Marks
from .fingerprint_members import Members
from .fingerprint_names import Names, Path, bare, operator
from .fingerprint_nodes import FUNCTIONS, NO_KIDS, REFERENCES, Local, Node
from .fingerprint_tree import MAX_NODES, Tree
from .fingerprint_vocabulary import MEMBERS, OF_GLOBALS

MAX_CALLS = 400
MAX_TEXT_WORDS = 40
_ONLY_ERRORS = frozenset({"catch_clause", "throw_statement"})


class Traits:
    def __init__(self, names: Names, tree: Tree) -> None:
        self._names = names
        self._tree = tree
        self._marks = Marks(names)
        self._counts = TraitCounts(self._marks)
        self._arithmetic = Arithmetic(names, self._marks, self._counts)
        self._members = Members(names, self._marks, self._counts)
        self._known: set[Local] = set()
        self._calls: list[tuple[Node, Path | None]] = []

    def of(self, root: Node) -> dict[str, Any]:
        for kid in root.kids:
            if kid.type == "return_statement" and kid.kids:
                self._marks.roles.returned(kid.kids[0])
        stack = [root]
        pop, visits = stack.pop, self._visits()
        for _ in range(MAX_NODES):
            if not stack:
                break
            node = pop()
            visit = visits.get(node.type)
            stack += node.kids if visit is None else visit(node)
        effects = Effects(self._names, self._tree)
        found = effects.of(self._calls)
        self._marks.without(effects.words)
        self._counts.fold(effects, bool(found))
        return {
            "effects": found,
            "traits": self._counts.weighed(bool(found)),
            "marks": self._marks.found(),
            "words": self._counts.words(),
        }

    def _visits(self) -> dict[str, Callable[[Node], list[Node]]]:
        """What is called for the nodes of each type. It returns the nodes to look at next."""
        arithmetic, members = self._arithmetic, self._members
        return {
            **dict.fromkeys(_ONLY_ERRORS, self._nothing),
            **dict.fromkeys(REFERENCES, self._name),
            **dict.fromkeys(FUNCTIONS, self._function),
            "if_statement": self._if,
            "ternary_expression": self._ternary,
            "switch_statement": self._switch,
            "for_statement": self._for,
            "for_in_statement": self._loop,
            "while_statement": self._loop,
            "do_statement": self._loop,
            "call_expression": self._call,
            "new_expression": self._new,
            "member_expression": members.member,
            "subscript_expression": members.subscript,
            "variable_declarator": members.declarator,
            "object_pattern": members.pattern,
            "binary_expression": arithmetic.binary,
            "unary_expression": arithmetic.unary,
            "assignment_expression": arithmetic.assignment,
            "augmented_assignment_expression": arithmetic.assignment,
            "update_expression": arithmetic.assignment,
            "template_string": self._template,
            "string": self._text,
            "number": arithmetic.number,
            "regex": self._regex,
            "array": members.data,
            "object": members.object,
        }

    def _nothing(self, _node: Node) -> list[Node]:
        return NO_KIDS

    def _name(self, node: Node) -> list[Node]:
        if node.local is not None and node.local not in self._known:
            self._known.add(node.local)
            self._counts.say(self._names.text(node))
        return NO_KIDS

    def _if(self, node: Node) -> list[Node]:
        if only_jumps(node, "throw_statement") or self._is_guard(node):
            return NO_KIDS
        self._counts.count("extreme" if self._marks.conditions.choice(node) else "if")
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

    def _ternary(self, node: Node) -> list[Node]:
        self._counts.count("extreme" if self._marks.conditions.choice(node) else "if")
        return node.kids

    def _switch(self, node: Node) -> list[Node]:
        self._counts.count("if")
        return node.kids

    def _for(self, node: Node) -> list[Node]:
        self._counts.count("loop")
        kids = [kid for kid in node.kids if kid.field in ("body", "initializer")]
        condition, step = node.at.get("condition"), node.at.get("increment")
        if condition is not None and condition.type == "binary_expression":
            kids += [kid for kid in condition.kids if kid.type == "binary_expression"]
            self._arithmetic.limits.update(kids)
        if step is not None and step.type != "update_expression":
            kids += [kid for kid in step.kids if kid.type not in ("identifier", "number", "operator")]
        self._marks.conditions.loop(node.at.get("body"))
        self._marks.roles.bound(node)
        return kids

    def _loop(self, node: Node) -> list[Node]:
        self._counts.count("loop")
        self._marks.conditions.loop(node.at.get("body"))
        right = node.at.get("right")
        if right is not None:
            self._members.own(right)
        return [kid for kid in node.kids if kid.field != "left"] + [
            kid for kid in node.kids if kid.field == "left" and kid.type.endswith("pattern")
        ]

    def _call(self, node: Node) -> list[Node]:
        path = self._names.callee_path(node)
        if len(self._calls) < MAX_CALLS:
            self._calls.append((node, path))
        given = arguments(node)
        if path is not None:
            if path[0] == "console":
                return NO_KIDS
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
            self._members.pick(name, owner, given)
        if known is None:
            self._counts.say(name)
        elif self._marks.sorting.is_picked(node, name):
            self._counts.count("extreme")
            self._marks.called(name, node, given)
        else:
            self._counts.count(*known)
            self._marks.called(name, node, given)
        if owner is not None:
            if known is not None and "loop" in known:
                self._members.own(owner)
            return [owner, *given]
        return given

    def _global(self, name: str, path: tuple[str, ...], given: list[Node]) -> None:
        if path[0] == "tools":
            return
        known = OF_GLOBALS.get(name)
        if known is None:
            known = MEMBERS.get(path[-1]) if len(path) > 2 else None
        self._counts.count(*((f"call {name}",) if known is None else known))
        self._marks.global_called(name, given)
        if name == "Math.pow":
            self._arithmetic.formula("op:**", given)
            self._arithmetic.exponent(given[-1] if given else None)

    def _new(self, node: Node) -> list[Node]:
        name = self._names.made(node).removeprefix("new:")
        if f"new {name}" not in OF_GLOBALS and len(self._calls) < MAX_CALLS:
            # Perhaps a class of the script.
            self._calls.append((node, None))
        self._counts.count(*OF_GLOBALS.get(f"new {name}", (f"new {name}",) if name else ()))
        if name == "Date":
            self._marks.roles.monthday(arguments(node))
        if name == "RegExp":
            self._marks.regex(f"/{''.join(self._names.text(kid)[1:-1] for kid in arguments(node)[:1])}/")
        return arguments(node)

    def _template(self, node: Node) -> list[Node]:
        kids = [kid for kid in node.kids if kid.type == "template_substitution"]
        if kids:
            self._counts.count("text")
        self._text(node)
        return kids

    def _regex(self, node: Node) -> list[Node]:
        self._counts.count("regex")
        self._marks.regex(self._names.text(node))
        return NO_KIDS

    def _function(self, node: Node) -> list[Node]:
        name = node.at.get("name")
        if name is not None:
            self._counts.say(self._names.text(name))
        patterns = [kid for kid in parameters(node) if kid.type.endswith("pattern")]
        body = node.at.get("body")
        return [*patterns, body] if body is not None else patterns

    def _text(self, node: Node) -> list[Node]:
        if node.end - node.start <= MAX_TEXT_WORDS:
            text = self._names.text(node)
            if "://" not in text:
                self._counts.say(text)
        return NO_KIDS
