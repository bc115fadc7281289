"""Looks into the expressions and functions of a script: the sides of an operator, what is given, what is returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .fingerprint_limits import MAX_NAME_CHARS
from .fingerprint_names import LITERALS, Names, is_negative
from .fingerprint_nodes import FUNCTIONS, Node

MAX_WALK = 200


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


def returned_by(function: Node) -> Iterator[Node]:
    """What a function returns, in whichever branch."""
    if function.type not in FUNCTIONS:
        return
    body = function.at.get("body")
    if body is None:
        return
    if body.type != "statement_block":
        yield body
        return
    for node in inside(body):
        if node.type == "return_statement" and node.kids:
            yield node.kids[0]


def first_two(names: Names, function: Node) -> tuple[set[str], set[str]]:
    """The names in the first and in the second parameter."""
    found = function.at.get("parameters")
    if function.type not in FUNCTIONS or found is None or len(found.kids) < 2:
        return set(), set()
    first, second = (
        {names.text(node) for node in inside(kid) if node.type.startswith(("identifier", "shorthand_"))}
        for kid in found.kids[:2]
    )
    return first, second


def inside(node: Node) -> Iterator[Node]:
    stack = [node]
    for _ in range(MAX_WALK):
        if not stack:
            return
        one = stack.pop()
        yield one
        stack.extend(reversed(one.kids))


def sides(node: Node) -> tuple[Node, Node]:
    both = [kid for kid in node.kids if kid.field != "operator"]
    return (both[0], both[-1]) if both else (node, node)


def is_literal(node: Node) -> bool:
    return node.type in LITERALS or node.type == "null" or (node.type == "unary_expression" and is_negative(node))


def only_jumps(node: Node, *kinds: str) -> bool:
    """Whether the statement is just `if (…) throw …`, or another jump of these kinds."""
    if node.at.get("alternative") is not None:
        return False
    step = only(node.at.get("consequence"))
    return step is not None and step.type in kinds


def only(then: Node | None) -> Node | None:
    """The only statement of a block, or the expression in it."""
    if then is None:
        return None
    steps = then.kids if then.type == "statement_block" else [then]
    if len(steps) != 1:
        return None
    return steps[0].kids[0] if steps[0].type == "expression_statement" and steps[0].kids else steps[0]
