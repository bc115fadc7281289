"""Other ways to write a script, made by rules. Each takes code and returns it rewritten; what it cannot rewrite it
returns as it is. They know nothing of fingerprints: they edit the text at places that the parser names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser

_PARSER = Parser(Language(tree_sitter_typescript.language_typescript()))
_NAMES = ("identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern")
Edit = tuple[int, int, str]


def parse(code: str) -> Node:
    return _PARSER.parse(code.encode()).root_node


def nodes(root: Node, *types: str) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in types:
            yield node
        stack.extend(reversed(node.children))


def text(node: Node) -> str:
    return (node.text or b"").decode()


def edited(code: str, edits: list[Edit]) -> str:
    """The code with the parts replaced; of edits within one another only the outer one is made."""
    source = code.encode()
    result, at = b"", 0
    for start, end, new in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if start >= at:
            result += source[at:start] + new.encode()
            at = end
    return (result + source[at:]).decode()


def until_done(step: Callable[[str], str]) -> Callable[[str], str]:
    """For what is nested: the outer ones first, then what is in them."""

    def rewrite(code: str) -> str:
        for _ in range(20):
            before, code = code, step(code)
            if code == before:
                break
        return code

    rewrite.__doc__ = step.__doc__
    rewrite.__name__ = step.__name__
    return rewrite


def renamed(code: str) -> str:
    """All names of its own have other names."""
    root = parse(code)
    own = {text(node) for node in _declared(root)}
    edits = []
    for node in nodes(root, *_NAMES):
        name = text(node)
        if name in own:
            new = f"x{name[::-1]}{len(name)}"
            edits.append((node.start_byte, node.end_byte, new if node.type == "identifier" else f"{name}: {new}"))
    return edited(code, edits)


def _declared(root: Node) -> Iterator[Node]:
    for node in nodes(root, "variable_declarator", "for_in_statement", "catch_clause", "function_declaration"):
        target = (
            node.child_by_field_name("name")
            or node.child_by_field_name("left")
            or node.child_by_field_name("parameter")
        )
        if target is not None:
            yield from nodes(target, *_NAMES)
    for node in nodes(root, "required_parameter"):
        yield from nodes(node, *_NAMES)
    for node in nodes(root, "arrow_function"):
        target = node.child_by_field_name("parameter")
        if target is not None:
            yield target


def other_literals(code: str) -> str:
    """Other numbers and other texts; the hosts stay."""
    root = parse(code)
    edits = [(node.start_byte, node.end_byte, f"{text(node)}7") for node in nodes(root, "number")]
    for node in nodes(root, "string_fragment"):
        new = re.sub(r"(https?://[^/]+/)?(.*)", lambda m: f"{m[1] or ''}{m[2]}zz", text(node), count=1, flags=re.DOTALL)
        edits.append((node.start_byte, node.end_byte, new))
    return edited(code, edits)


def other_data(code: str) -> str:
    """Lists of literals have more of them."""
    edits = []
    for node in nodes(parse(code), "array"):
        kids = node.named_children
        if kids and all(kid.type in ("number", "string", "object", "array") for kid in kids):
            last = kids[-1]
            edits.append((last.end_byte, last.end_byte, f", {text(last)}, {text(kids[0])}"))
    return edited(code, edits)


def commented(code: str) -> str:
    """Comments everywhere, and other spacing."""
    edits = [(node.start_byte, node.start_byte, "/* now */ ") for node in _statements(parse(code))]
    code = edited(code, edits).replace("  ", "\t").replace(" => ", "  =>\n  ").replace(", ", " ,  ")
    return "// what the user asked for\n\n" + code + "\n\n// done\n"


def _statements(root: Node) -> list[Node]:
    return [node for node in root.children if node.type not in ("comment", "function_declaration")]


def logged(code: str) -> str:
    """A line more, that logs."""
    at = _statements(parse(code))[-1].start_byte
    return edited(code, [(at, at, 'console.log("almost there", 1);\n')])


def guarded(code: str) -> str:
    """A line more, that checks something."""
    root = parse(code)
    first = next((n for n in _statements(root) if n.type == "lexical_declaration"), None)
    if first is None:
        return code
    name = next(nodes(first, "identifier", "shorthand_property_identifier_pattern"))
    return edited(code, [(first.end_byte, first.end_byte, f'\nif (!{text(name)}) throw new Error("nothing there");')])


def timed(code: str) -> str:
    """Two lines more, that measure the time."""
    last = _statements(parse(code))[-1].start_byte
    more = "const tookMs = Date.now() - startedAt;\n"
    return "const startedAt = Date.now();\n" + edited(code, [(last, last, more)])


def reordered(code: str) -> str:
    """The properties of objects in the other order."""
    edits = []
    for node in nodes(parse(code), "object"):
        kids = node.named_children
        if len(kids) > 1 and all(kid.type in ("pair", "shorthand_property_identifier") for kid in kids):
            edits.append((node.start_byte, node.end_byte, "{ " + ", ".join(map(text, reversed(kids))) + " }"))
    return edited(code, edits)


def with_let(code: str) -> str:
    return re.sub(r"\bconst\b", "let", code)


@until_done
def without_arrows(code: str) -> str:
    """Functions in the place of arrows."""
    edits = []
    for node in nodes(parse(code), "arrow_function"):
        body = node.child_by_field_name("body")
        parameters = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
        if body is None or parameters is None:
            continue
        inside = text(body) if body.type == "statement_block" else f"{{ return {text(body)}; }}"
        head = "async function" if text(node).startswith("async") else "function"
        names = text(parameters) if text(parameters).startswith("(") else f"({text(parameters)})"
        edits.append((node.start_byte, node.end_byte, f"{head} {names} {inside}"))
    return edited(code, edits)


@until_done
def without_templates(code: str) -> str:
    """Texts put together by `+`."""
    edits = []
    for node in nodes(parse(code), "template_string"):
        pieces = []
        for kid in node.named_children:
            if kid.type == "template_substitution":
                pieces.append(f"({text(kid)[2:-1]})")
            else:
                pieces.append('"' + text(kid).replace('"', '\\"').replace("\n", "\\n") + '"')
        if not pieces or not pieces[0].startswith('"'):
            pieces.insert(0, '""')
        edits.append((node.start_byte, node.end_byte, f"({' + '.join(pieces)})"))
    return edited(code, edits)


def typed(code: str) -> str:
    """With types, as TypeScript has them."""
    edits = [(n.end_byte, n.end_byte, ": any") for n in _plain_declarations(parse(code))]
    return "interface Options { name: string; limit?: number }\n" + edited(code, edits)


def _plain_declarations(root: Node) -> Iterator[Node]:
    for node in nodes(root, "variable_declarator"):
        name = node.child_by_field_name("name")
        if name is not None and name.type == "identifier" and node.child_by_field_name("type") is None:
            yield name


def with_braces(code: str) -> str:
    """Braces around the one statement of an `if` or a loop."""
    edits = []
    for node in nodes(parse(code), "if_statement", "for_in_statement", "for_statement", "while_statement"):
        body = node.child_by_field_name("consequence") or node.child_by_field_name("body")
        if body is not None and body.type != "statement_block":
            edits.append((body.start_byte, body.end_byte, f"{{ {text(body)} }}"))
    return edited(code, edits)


def named_result(code: str) -> str:
    """The result has a name before it is returned."""
    last = _statements(parse(code))[-1]
    if last.type != "return_statement" or not last.named_children:
        return code
    value = text(last.named_children[0])
    return edited(code, [(last.start_byte, last.end_byte, f"const theResult = {value};\nreturn theResult;")])


def in_a_function(code: str) -> str:
    """All of it in a function that is called."""
    return f"async function main() {{\n{code}\n}}\nreturn await main();"


def in_a_try(code: str) -> str:
    """All of it in a `try`."""
    return f'try {{\n{code}\n}} catch (error) {{\n  return "failed: " + error.message;\n}}'


def indexed(code: str) -> str:
    """`a["b"]` in the place of `a.b`, for the names of data."""
    edits = []
    for node in nodes(parse(code), "pair"):
        value = node.child_by_field_name("value")
        if value is not None and value.type == "member_expression":
            owner, name = value.child_by_field_name("object"), value.child_by_field_name("property")
            if owner is not None and name is not None and owner.type == "identifier":
                edits.append((value.start_byte, value.end_byte, f'{text(owner)}["{text(name)}"]'))
    return edited(code, edits)


def all_together(code: str) -> str:
    """Renamed, with other literals, functions, no templates, and a line more."""
    for rewrite in (without_arrows, without_templates, renamed, other_literals, reordered, with_let, logged):
        code = rewrite(code)
    return code


REWRITES: tuple[Callable[[str], str], ...] = (
    renamed,
    other_literals,
    other_data,
    commented,
    logged,
    guarded,
    timed,
    reordered,
    with_let,
    without_arrows,
    without_templates,
    typed,
    with_braces,
    named_result,
    in_a_function,
    in_a_try,
    indexed,
    all_together,
)
