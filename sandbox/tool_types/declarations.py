"""Turns the JSON Schemas of lent tools into TypeScript declarations, for the model to read and for `deno check`.

Schemas come from outside. Every name and string in them is checked or quoted before it reaches the text, and any part
that is unknown, invalid, too deep or too long becomes `unknown` instead of an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

from ..ports import ToolDeclaration
from .tool_names import Lent, place

MAX_DEPTH = 32
# At most this much text for the arguments of one tool, and as much for its result.
MAX_SCHEMA_CHARACTERS = 16_000
MAX_DOC_CHARACTERS = 1_000
MAX_INLINE_CHARACTERS = 72

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_MAX_SAFE_INTEGER = 2**53 - 1
_PLAIN_TYPES = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}
_ANY_OBJECT = "Record<string, unknown>"
# The error class that the tools of MCP servers throw.
_ERROR_CLASS = (
    "declare class MCPToolError extends Error { server: string; tool: string; code: string; retryable: boolean }\n"
)


class TypeText(NamedTuple):
    """A type and the operator (`|`, `&`) that joins its parts, if any: beside another operator it needs parentheses."""

    text: str
    sign: str = ""

    def beside(self, sign: str) -> str:
        return self.text if self.sign in ("", sign) else f"({self.text})"


UNKNOWN = TypeText("unknown")
NEVER = TypeText("never")

Tree: TypeAlias = "dict[str, str | Tree]"


def typescript_of(declarations: Iterable[ToolDeclaration]) -> str:
    """The text of a `.d.ts` file that declares these tools, for a model or an editor. It leaves out tools that cannot
    be lent."""
    lent, _ = place(declarations)
    return declare(lent)


def declare(tools: Sequence[Lent]) -> str:
    """The text of a `.d.ts` file that declares `tools`. The same tools in the same order give the same text."""
    aliases: list[str] = []
    names: set[str] = set()
    tree: Tree = {}
    for tool in tools:
        _group_of(tool, tree)[tool.path[-1]] = _signature(tool, names, aliases)
    text = "".join(f"{alias}\n\n" for alias in aliases) + f"declare const tools: {_group(tree)};\n"
    return text + _ERROR_CLASS if any(tool.declaration.server for tool in tools) else text


def _group_of(tool: Lent, tree: Tree) -> Tree:
    for name in tool.path[:-1]:
        below = tree.setdefault(name, {})
        if isinstance(below, str):
            raise ValueError(f'Cannot declare "{tool.expression}": another tool is in its way')
        tree = below
    return tree


def _group(tree: Tree) -> str:
    members = [
        member if isinstance(member, str) else f"readonly {_key(name)}: {_group(member)};"
        for name, member in tree.items()
    ]
    return _lines(members) if members else "{}"


def _signature(tool: Lent, names: set[str], aliases: list[str]) -> str:
    declaration, name = tool.declaration, tool.path[-1]
    arguments = _convert(declaration.input_schema or None, f"{name}_args", names, aliases)
    result = _convert(declaration.output_schema, f"{name}_result", names, aliases)
    mark = "" if arguments != UNKNOWN and _needs_arguments(declaration.input_schema) else "?"
    argument_type = _ANY_OBJECT if arguments == UNKNOWN else arguments.text
    return f"{_doc(declaration.description)}{_key(name)}(args{mark}: {argument_type}): Promise<{result.text}>;"


def _convert(schema: object, name: str, names: set[str], aliases: list[str]) -> TypeText:
    if schema is None:
        return UNKNOWN
    conversion = _Conversion(schema, name, names)
    try:
        type_ = conversion.type_of(schema, 0)
        referred = list(conversion.finish_aliases())
    except _TooLongError:
        return UNKNOWN
    aliases.extend(referred)
    names.update(conversion.alias_names.values())
    return type_


def _needs_arguments(schema: object) -> bool:
    """True when the tool cannot be called without arguments: then `args` is not optional."""
    waiting, seen = [schema], 0
    while waiting and seen < MAX_DEPTH:
        part, seen = waiting.pop(), seen + 1
        if not isinstance(part, Mapping):
            continue
        if any(_listed(part, key) for key in ("required", "anyOf", "oneOf")):
            return True
        waiting.extend(_listed(part, "allOf"))
        if isinstance(part.get("$ref"), str):
            waiting.append(_resolve(schema, part["$ref"]))
    return bool(waiting)


class _TooLongError(Exception):
    """The declaration would take more text than one tool may."""


class _Conversion:
    """Converts one schema to a type. Each reference becomes a named alias, so that recursive schemas end."""

    def __init__(self, root: object, name: str, names: set[str]) -> None:
        self._root = root
        self._name = name
        self._names = names
        self._left = MAX_SCHEMA_CHARACTERS
        self.alias_names: dict[str, str] = {}
        self._unfinished: list[str] = []
        self._alias: str | None = None
        # Which aliases an alias is directly made of, not merely inside an object. TypeScript refuses a cycle there.
        self._is_made_of: dict[str, set[str]] = {}

    def type_of(self, schema: object, depth: int, *, inside: bool = False) -> TypeText:
        """The type of the values that a schema accepts. `inside` is True below an object or an array."""
        self._spend(4)
        if schema is False:
            return NEVER
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
            return UNKNOWN
        parts = [self._own_type(schema, depth)]
        if "$ref" in schema:
            parts.append(self._reference(schema["$ref"], inside=inside))
        parts.extend(self._choice(_listed(schema, key), depth, inside=inside) for key in ("anyOf", "oneOf"))
        parts.extend(self.type_of(part, depth + 1, inside=inside) for part in _listed(schema, "allOf"))
        type_ = _intersection(parts)
        return _union((type_, TypeText("null"))) if schema.get("nullable") is True else type_

    def _choice(self, choices: Sequence[object], depth: int, *, inside: bool) -> TypeText:
        if not choices:
            return UNKNOWN
        return _union(self.type_of(choice, depth + 1, inside=inside) for choice in choices)

    def finish_aliases(self) -> Iterator[str]:
        """Yield the declarations of all referenced schemas, and of those that they refer to in turn."""
        while self._unfinished:
            reference = self._unfinished.pop(0)
            self._alias = reference
            schema = _resolve(self._root, reference)
            doc = self._doc(schema)
            yield f"{doc}type {self.alias_names[reference]} = {self.type_of(schema, 0).text};"

    def _own_type(self, schema: Mapping[Any, Any], depth: int) -> TypeText:
        if "const" in schema:
            return self._literal(schema["const"], depth)
        if isinstance(schema.get("enum"), (list, tuple)):
            return _union(self._literal(value, depth) for value in schema["enum"])
        kinds = _listed(schema, "type") or [schema.get("type", _implied_type(schema))]
        return _union(self._of_kind(kind, schema, depth + 1) for kind in kinds)

    def _of_kind(self, kind: object, schema: Mapping[Any, Any], depth: int) -> TypeText:
        self._spend(4)
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "string" if schema.get("format") == "byte" and schema.get("contentEncoding") == "base64":
                return TypeText("Uint8Array")
            case str() if kind in _PLAIN_TYPES:
                return TypeText(_PLAIN_TYPES[kind])
            case _:
                return UNKNOWN

    def _object(self, schema: Mapping[Any, Any], depth: int) -> TypeText:
        properties = {key: value for key, value in _mapped(schema, "properties").items() if isinstance(key, str)}
        required = [key for key in _listed(schema, "required") if isinstance(key, str)]
        properties.update({key: True for key in required if key not in properties})
        needed = frozenset(required)
        members = [self._member(key, "" if key in needed else "?", value, depth) for key, value in properties.items()]
        rest = self._rest(schema, depth)
        if not members:
            return TypeText(_ANY_OBJECT if rest in (None, UNKNOWN) else _block([f"[key: string]: {rest.text};"]))
        if rest not in (None, NEVER):
            # `unknown` and not the type itself: TypeScript requires all properties to fit the index signature.
            members.append("[key: string]: unknown;")
        return TypeText(_block(members))

    def _member(self, key: str, mark: str, schema: object, depth: int) -> str:
        doc = self._doc(schema)
        name = _key(key)
        self._spend(len(name) + 2 * depth)
        return f"{doc}{name}{mark}: {self.type_of(schema, depth, inside=True).text};"

    def _rest(self, schema: Mapping[Any, Any], depth: int) -> TypeText | None:
        """The type of the properties that the schema does not name; None when it says nothing about them."""
        rest = list(_mapped(schema, "patternProperties").values())
        if "additionalProperties" in schema:
            rest.append(schema["additionalProperties"])
        return _union(self.type_of(part, depth, inside=True) for part in rest) if rest else None

    def _array(self, schema: Mapping[Any, Any], depth: int) -> TypeText:
        # Before 2020 a tuple was written as a list in `items`, with `additionalItems` for the rest.
        is_old = isinstance(schema.get("items"), list)
        first = _listed(schema, "items" if is_old else "prefixItems")
        rest_schema = schema.get("additionalItems" if is_old else "items", True)
        rest = self.type_of(rest_schema, depth, inside=True)
        if not first:
            return TypeText(f"{rest.beside('[]')}[]")
        items = [self.type_of(item, depth, inside=True).text for item in first]
        if rest != NEVER and schema.get("maxItems") != len(first):
            items.append(f"...{rest.beside('[]')}[]")
        return TypeText(f"[{', '.join(items)}]")

    def _literal(self, value: object, depth: int) -> TypeText:
        """The TypeScript type of exactly this JSON value."""
        self._spend(4)
        match value:
            case None | bool():
                return TypeText(json.dumps(value))
            case str():
                return TypeText(self._spent(_quoted(value)))
            case int() | float():
                return TypeText(json.dumps(value) if abs(value) <= _MAX_SAFE_INTEGER else "number")
            case list() | tuple() if depth <= MAX_DEPTH:
                return TypeText(f"[{', '.join(self._literal(item, depth + 1).text for item in value)}]")
            case Mapping() if depth <= MAX_DEPTH:
                return TypeText(_block(self._literal_members(value, depth)))
        return UNKNOWN

    def _literal_members(self, value: Mapping[Any, Any], depth: int) -> Iterator[str]:
        for key, item in value.items():
            yield f"{self._spent(_key(str(key)))}: {self._literal(item, depth + 1).text};"

    def _reference(self, reference: object, *, inside: bool) -> TypeText:
        if not isinstance(reference, str) or _resolve(self._root, reference) is None:
            return UNKNOWN
        if not inside and self._alias is not None:
            if self._leads_to(reference, self._alias):
                return UNKNOWN
            self._is_made_of.setdefault(self._alias, set()).add(reference)
        if reference not in self.alias_names:
            self.alias_names[reference] = self._new_name(reference)
            self._unfinished.append(reference)
        return TypeText(self._spent(self.alias_names[reference]))

    def _leads_to(self, start: str, goal: str) -> bool:
        waiting, seen = [start], {start}
        while waiting:
            reference = waiting.pop()
            if reference == goal:
                return True
            further = self._is_made_of.get(reference, set()) - seen
            seen |= further
            waiting.extend(further)
        return False

    def _new_name(self, reference: str) -> str:
        """A new name for an alias. It contains an underscore, so that it never clashes with a TypeScript type such as
        `Record`."""
        last = reference.rpartition("/")[2] if "/" in reference else ""
        wanted = "_".join(filter(None, (self._name, last)))
        name = re.sub(r"[^A-Za-z0-9_$]+", "_", wanted)[:80]
        name = name if _IDENTIFIER.fullmatch(name) else f"_{name}"
        taken = self._names.union(self.alias_names.values())
        candidate, number = name, 1
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        return candidate

    def _doc(self, schema: object) -> str:
        return self._spent(_doc(schema.get("description"))) if isinstance(schema, Mapping) else ""

    def _spent(self, text: str) -> str:
        self._spend(len(text))
        return text

    def _spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise _TooLongError


def _implied_type(schema: Mapping[Any, Any]) -> str | None:
    """Guess the type of a schema without `type` from its other keywords."""
    if any(key in schema for key in ("properties", "additionalProperties", "patternProperties")):
        return "object"
    return "array" if any(key in schema for key in ("items", "prefixItems")) else None


def _resolve(root: object, reference: str) -> object:
    """The target of a reference into the same schema; None when it points elsewhere or nowhere."""
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return None
    target = root
    for part in reference[2:].split("/"):
        if not isinstance(target, Mapping):
            return None
        target = target.get(unquote(part).replace("~1", "/").replace("~0", "~"))
    return target


def _listed(schema: Mapping[Any, Any], key: str) -> list[Any]:
    value = schema.get(key)
    return list(value) if isinstance(value, (list, tuple)) else []


def _mapped(schema: Mapping[Any, Any], key: str) -> Mapping[Any, Any]:
    value = schema.get(key)
    return value if isinstance(value, Mapping) else {}


def _union(types: Iterable[TypeText]) -> TypeText:
    parts = [part for part in dict.fromkeys(types) if part != NEVER]
    if UNKNOWN in parts:
        return UNKNOWN
    return _joined(parts, "|", nothing=NEVER)


def _intersection(types: Iterable[TypeText]) -> TypeText:
    parts = [part for part in dict.fromkeys(types) if part != UNKNOWN]
    if NEVER in parts:
        return NEVER
    if len(parts) > 1:  # "any object" adds nothing to a more exact type
        parts = [part for part in parts if part.text != _ANY_OBJECT]
    return _joined(parts, "&", nothing=UNKNOWN)


def _joined(parts: Sequence[TypeText], sign: str, nothing: TypeText) -> TypeText:
    if len(parts) <= 1:
        return parts[0] if parts else nothing
    return TypeText(f" {sign} ".join(part.beside(sign) for part in parts), sign)


def _block(members: Iterable[str]) -> str:
    """An object type: on one line when it is short and has no comments, else one line per member."""
    lines = list(members)
    inline = f"{{ {' '.join(lines).removesuffix(';')} }}" if lines else "{}"
    return inline if len(inline) <= MAX_INLINE_CHARACTERS and "\n" not in inline else _lines(lines)


def _lines(members: Iterable[str]) -> str:
    # No string in the text contains a line end (they are quoted), so this changes only the layout.
    return "{\n  " + "\n".join(members).replace("\n", "\n  ") + "\n}"


def _doc(description: object) -> str:
    """The description as a comment line. Nothing in it can end the comment: neither `*/` nor a line end."""
    if not isinstance(description, str):
        return ""
    # Remove invisible characters first: one between `*` and `/` would hide the pair from the replacement below.
    visible = "".join(
        character if character.isprintable() else " " for character in description[: 4 * MAX_DOC_CHARACTERS]
    )
    text = " ".join(visible.split())
    text = text if len(text) <= MAX_DOC_CHARACTERS else f"{text[:MAX_DOC_CHARACTERS]}…"
    return f"/** {text.replace('*/', '* /')} */\n" if text else ""


def _key(name: str) -> str:
    """The name of a member, quoted where needed. `new` is quoted too: it would be read as a constructor."""
    return name if _IDENTIFIER.fullmatch(name) and name != "new" else _quoted(name)


def _quoted(text: str) -> str:
    """The text as a JSON string in which invisible characters are escaped as well."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(character if character.isprintable() else json.dumps(character)[1:-1] for character in quoted)
