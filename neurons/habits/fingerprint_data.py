"""Visits the literals of a script, the texts that it joins, and the lists and objects made of them."""

from __future__ import annotations

from collections.abc import Iterator

from .fingerprint_limits import MAX_NAME_CHARS
from .fingerprint_names import DATA, LITERALS, bare, is_negative, operator
from .fingerprint_nodes import REFERENCES, Node
from .fingerprint_walk import MAX_DEPTH, Walk

_UNKNOWN = "${}"


class Data(Walk):
    def _literal(self, node: Node, above: str) -> None:
        kind, text = LITERALS[node.type], self._names.text(node)
        if above and not self._quiet:
            self._parts[above, kind] += 1
        self._keep(above, kind, text[1:-1] if kind == "text" else text)

    def _unary(self, node: Node, above: str) -> None:
        if not is_negative(node):
            self._any(node, above)
            return
        self._note(above, "number")
        self._keep(above, "number", self._names.text(node))

    def _binary(self, node: Node, above: str) -> None:
        if self._names.is_text(node):
            self._joined(node, above)
        else:
            self._any(node, above)

    def _joined(self, node: Node, above: str) -> None:
        """A template string, or strings and values joined by `+`."""
        self._note(above, "text")
        self._keep(above, "text", "".join(self._pieces(node)))

    def _pieces(self, node: Node) -> Iterator[str]:
        """The known pieces of the text; the unknown ones are visited."""
        node = bare(node)
        literal = self._constant(node)
        if literal is not None:
            text = self._names.text(literal)
            text = text[1:-1] if literal.type == "string" else text
            self._found.addresses(text)
            yield text
        elif self._depth >= MAX_DEPTH - 1:
            yield _UNKNOWN
        elif node.type == "template_string":
            self._depth += 1
            for kid in node.kids:
                if kid.type != "template_substitution":
                    yield self._names.text(kid)
                elif kid.kids:
                    yield from self._pieces(kid.kids[0])
            self._depth -= 1
        elif node.type == "binary_expression" and operator(node) == "op:+":
            self._depth += 1
            for kid in node.kids:
                if kid.field != "operator":
                    yield from self._pieces(kid)
            self._depth -= 1
        else:
            yield _UNKNOWN
            self._visit(node, "text")

    def _constant(self, node: Node) -> Node | None:
        """The literal that the node is, or that its variable stands for."""
        if node.type in LITERALS:
            return node
        local = node.local if node.type in REFERENCES else None
        value = bare(local.value) if local is not None and local.value is not None else None
        if local is None or value is None or value.type not in LITERALS:
            return None
        local.used = True
        return value

    def _data(self, node: Node, above: str) -> None:
        """An object or an array. Constant content is kept as a literal, and not counted, however large it is."""
        label, outer = node.type, self._place
        self._note(above, label)
        if above not in DATA:
            self._place = above
        if label == "array" and self._names.is_constant(node):
            self._keep(above, "list", self._names.text(node))
        else:
            for kid in node.kids:
                self._item(kid, label)
        self._place = outer

    def _item(self, node: Node, above: str) -> None:
        key, value = node.at.get("key"), node.at.get("value") if node.type == "pair" else node
        outer = self._place
        if key is not None:
            self._place = f"{outer[:MAX_NAME_CHARS]} {self._names.text(key)[:MAX_NAME_CHARS]}"
        if value is not None and self._names.is_constant(value):
            self._quiet += 1
            self._visit(value, above)
            self._quiet -= 1
        elif value is not None:
            self._visit(value, above)
        self._place = outer
