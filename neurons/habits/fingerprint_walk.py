"""Walks through the syntax tree of a script, counts its parts and keeps its literals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from .fingerprint_names import DATA, Names
from .fingerprint_nodes import Node
from .fingerprint_parts import Found

MAX_DEPTH = 150
"""Nesting limit, for variables whose values use other variables: deeper values are visited from the top again."""
# Larger than any nesting of data. Inside constant data literals are kept but not counted; inside error handling
# neither.
IN_FAILURE = 1_000


class Walk:
    """Visits nodes below labels. What is done with a node of each type is in `_visits`."""

    _visits: ClassVar[Mapping[str, Callable[[Any, Node, str], None]]]

    def __init__(self, names: Names) -> None:
        self._names = names
        self._found = Found()
        self._parts = self._found.parts
        self._place = ""
        """What the data being visited is given to."""
        self._depth = 0
        self._quiet = 0
        """While above 0, no part is counted."""

    def _note(self, above: str, label: str) -> None:
        if above and not self._quiet:
            self._parts[above, label] += 1

    def _keep(self, above: str, kind: str, text: str) -> None:
        """Keep a literal with what it is given to."""
        if kind in ("text", "list"):
            self._found.addresses(text)
        if self._quiet < IN_FAILURE:
            self._found.literal(self._place if above in DATA else above, kind, text)

    def _visit(self, node: Node, above: str) -> None:
        """Count the node below the label above it, then visit its children."""
        depth = self._depth
        if depth < MAX_DEPTH:
            self._depth = depth + 1
            self._visits.get(node.type, Walk._any)(self, node, above)
            self._depth = depth

    def _below(self, node: Node, label: str) -> None:
        self._each([kid for kid in node.kids if kid.field != "operator"], label)

    def _inside(self, node: Node, above: str) -> None:
        """Visit the children in place of the node itself."""
        self._each(node.kids, above)

    def _each(self, nodes: list[Node], above: str) -> None:
        """Visit all of them: `_visit` without a call for each node."""
        depth, visit, other = self._depth, self._visits.get, Walk._any
        if depth < MAX_DEPTH:
            self._depth = depth + 1
            for node in nodes:
                visit(node.type, other)(self, node, above)
            self._depth = depth

    def _first(self, node: Node, above: str) -> None:
        """Visit the first child in place of the node: the rest is a type."""
        for kid in node.kids[:1]:
            self._visit(kid, above)

    def _any(self, node: Node, above: str) -> None:
        label = self._names.label(node)
        if above and not self._quiet:
            self._parts[above, label] += 1
        self._below(node, label)

    def _nothing(self, node: Node, above: str) -> None:
        """Skip the node."""

    def _quietly(self, node: Node, _above: str) -> None:
        """Error handling: the names that it uses count as used, but its parts do not count."""
        self._quiet += IN_FAILURE
        self._below(node, "fn")
        self._quiet -= IN_FAILURE
