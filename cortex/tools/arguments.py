"""What a model sent as arguments, made into what was meant. Models that are weak at JSON are met half way: null for
what they leave out, `camelCase` for `snake_case`, "5" for 5, JSON in a string, a text where an object belongs.

All of it is hostile: bounded before it is parsed, and every complaint is a `ToolError` that says what to send instead.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json, to_json

from sandbox import ToolError

MAX_ARGUMENT_CHARACTERS = 1_048_576
# Each value that does not fit becomes an error of its own before the first can be told.
MAX_VALUES = 20_000
MAX_DEPTH = 32
MAX_CHOICES = 200

_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_FENCE = "```"
_NUMBER = re.compile(r"[+-]?\d{1,40}(\.\d{0,40})?([eE][+-]?\d{1,3})?", re.ASCII)
_BETWEEN_WORDS = re.compile(r"[\s_.-]")


def invalid(message: str) -> ToolError:
    return ToolError(message[:1_000], code="invalid_arguments")


def unfenced(text: str) -> str:
    """The text without the marks of a code block around it, if there are any."""
    # No pattern: a megabyte of blanks must not take the square of a megabyte.
    first, line_end, rest = text.strip().partition("\n")
    if not line_end or not first.startswith(_FENCE) or not rest.endswith(_FENCE):
        return text
    return rest.removesuffix(_FENCE).rstrip()


def object_of(raw: Any, tool: str, bare: str | None = None) -> dict[str, Any]:
    """The arguments as one object of plain JSON, made anew. A text that is not JSON is the parameter `bare`, if there
    is one. Raises ToolError."""
    value = _parsed(raw, tool, bare) if isinstance(raw, str) else raw
    match value:
        case None:
            return {}
        case str() if bare is not None:
            value = {bare: value}
        case [Mapping() as only]:
            value = only
    if not isinstance(value, Mapping):
        raise invalid(f"{tool} takes one object with its arguments, not {_kind(value)}")
    return _plain(value, tool)


def _parsed(text: str, tool: str, bare: str | None) -> Any:
    if len(text) > MAX_ARGUMENT_CHARACTERS:
        raise invalid(f"The arguments of {tool} are {len(text)} characters long, more than {MAX_ARGUMENT_CHARACTERS}")
    if not text.strip():
        return None
    inside = unfenced(text)
    try:
        value = _loaded(inside)
    except (ValueError, RecursionError) as error:
        # What begins like an object was meant as one; taken for code, half a message would be run.
        if bare is not None and not inside.lstrip().startswith("{"):
            return text
        raise invalid(
            f"The arguments of {tool} are not JSON: {str(error)[:200]}. Send one whole object, and escape quotes and "
            "line ends inside its texts"
        ) from error
    if isinstance(value, str) and value.lstrip().startswith("{"):
        # JSON of JSON. A text that only begins like that may be code.
        try:
            return _loaded(value)
        except (ValueError, RecursionError):
            return value
    return value


def _loaded(text: str) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        # Line ends and tabs inside of texts, which JSON forbids and models write.
        if not any(character in text for character in "\n\r\t"):
            raise
    return json.loads(text, strict=False, parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise ValueError(f"JSON has no {name}")


def _plain(value: Mapping[Any, Any], tool: str) -> dict[str, Any]:
    """A copy with nothing in it that JSON does not have, and not too much of what it has."""
    try:
        text = to_json(dict(value), inf_nan_mode="null")
    except (ValueError, TypeError, RecursionError, AttributeError) as error:
        raise invalid(f"The arguments of {tool} are not JSON: {str(error)[:200]}") from error
    if len(text) > 4 * MAX_ARGUMENT_CHARACTERS:
        raise invalid(f"The arguments of {tool} are {len(text)} bytes long, more than {4 * MAX_ARGUMENT_CHARACTERS}")
    if text.count(b",") > MAX_VALUES and _TEXTS.sub(b"", text).count(b",") > MAX_VALUES:
        raise invalid(f"The arguments of {tool} hold more than {MAX_VALUES} values")
    try:
        plain: dict[str, Any] = from_json(text)
    except ValueError as error:
        raise invalid(f"The arguments of {tool} cannot be read: {str(error)[:200]}") from error
    return plain


def fitted(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value brought nearer to the schema, where there is no doubt how. Whether it fits is for others to say. Raises
    ToolError for a number that is none."""
    return _fit(value, schema, schema, 0)


def _fit(value: Any, schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    schema = _resolved(schema, root)
    if depth > MAX_DEPTH or not schema:
        return value
    choices = _choices(schema)
    if choices:
        others = [choice for choice in choices if not _takes_null(choice, root)]
        return _fit(value, others[0], root, depth + 1) if len(others) == 1 and value is not None else value
    match schema:
        case {"enum": listed}:
            return _listed(value, listed)
        case {"type": "object"}:
            return _fit_object(_unquoted(value, dict), schema, root, depth)
        case {"type": "array"}:
            items, part = _unquoted(value, list), schema.get("items")
            value = [_fit(item, part, root, depth + 1) for item in items] if isinstance(items, list) else items
        case {"type": "integer" | "number"}:
            value = _number(value)
    return value


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    return [choice for key in ("anyOf", "oneOf") for choice in schema.get(key, ())]


def _fit_object(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(value, dict):
        return value
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    fit: dict[str, Any] = {}
    for name, part in _renamed(value, properties):
        if name not in properties:
            fit[name] = _fit(part, others, root, depth + 1)
        elif part is not None or _takes_null(properties[name], root):
            fit[name] = _fit(part, properties[name], root, depth + 1)
    return fit


def _renamed(value: dict[str, Any], properties: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The members under the names that the schema has for them. Who has the exact name has it; who comes close gets a
    name that is free and that no second one is close to."""
    by_fold: dict[str, list[str]] = {}
    for name in properties:
        if value.get(name) is None:
            by_fold.setdefault(_fold(name), []).append(name)
    close: dict[str, list[str]] = {}
    for name in value:
        if name not in properties and len(free := by_fold.get(_fold(name), [])) == 1:
            close.setdefault(free[0], []).append(name)
    new_names = {names[0]: wanted for wanted, names in close.items() if len(names) == 1}
    for name, part in value.items():
        if name in new_names:
            yield new_names[name], part
        elif name not in close or len(close[name]) != 1:
            yield name, part


def _fold(name: str) -> str:
    return _BETWEEN_WORDS.sub("", name).casefold()


def _takes_null(schema: Any, root: Mapping[str, Any], seen: set[int] | None = None) -> bool:
    schema = _resolved(schema, root)
    if not schema:
        return True
    # Each part is looked at once: choices that lead back to themselves would double with every step.
    seen = set() if seen is None else seen
    if id(schema) in seen or len(seen) > MAX_CHOICES:
        return False
    seen.add(id(schema))
    choices = _choices(schema)
    if choices:
        return any(_takes_null(choice, root, seen) for choice in choices)
    if "enum" in schema or "const" in schema:
        return None in schema.get("enum", (schema.get("const", 0),))
    kind = schema.get("type")
    return kind is None or kind == "null" or (isinstance(kind, list) and "null" in kind)


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        schema = (root.get("$defs") or {}).get(reference.removeprefix("#/$defs/"))
    return {}


def _listed(value: Any, listed: list[Any]) -> Any:
    if not isinstance(value, str) or value in listed:
        return value
    close = [choice for choice in listed if _fold(str(choice)) == _fold(value)]
    return close[0] if len(close) == 1 else value


def _unquoted(value: Any, kind: type) -> Any:
    if not isinstance(value, str):
        return value
    try:
        inside = from_json(unfenced(value), allow_inf_nan=False)
    except ValueError:
        return value
    return inside if isinstance(inside, kind) else value


def _number(value: Any) -> Any:
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.fullmatch(text):
            value = float(text) if set(text) & set(".eE") else int(text)
        elif text.lstrip("+-").casefold() in {"nan", "inf", "infinity"}:
            value = math.nan
    if isinstance(value, float):
        if not math.isfinite(value):
            raise invalid("A number in the arguments is not finite: JSON has no NaN and no infinity")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list() | tuple():
            return "an array"
        case _:
            return f"a {type(value).__name__}"
