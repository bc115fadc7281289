"""Changes a value so that it fits a JSON Schema, where the intent is clear. Pure and bounded: both may be hostile.

Adapted are `camelCase` for `snake_case`, "5" for 5, JSON in a string, and a choice in other capitals. The work is
counted: a value that would take too long is left as it is, because the mistakes of a weak model are small.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from sandbox import bounded_json

from .arguments import ARGUMENT_LIMITS, invalid, unfenced

# Less than 100 ms: a step is one value, one name, one choice, or 64 characters read.
MAX_STEPS = 20_000
MAX_DEPTH = 32
_STEP_CHARACTERS = 64

_NUMBER = re.compile(r"[+-]?\d{1,40}(\.\d{0,40})?([eE][+-]?\d{1,3})?", re.ASCII)
_LONGEST_NUMBER = 90
_BETWEEN_WORDS = re.compile(r"[\s_.-]")


def fitted(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value adapted to the schema. Whether it is valid is checked elsewhere. Raises ToolError for NaN and
    infinity."""
    try:
        return _Fitting(schema).fit(value, schema, 0)
    except _TooMuch:
        return value


class _TooMuch(Exception):
    """The value takes more steps than allowed."""


class _Names:
    """Names that differ only in capitals and separators count as one. Each stands for something."""

    def __init__(self, named: list[tuple[str, Any]]) -> None:
        # A longer name could only match through its separators.
        self._longest = 2 * max((len(name) for name, _ in named), default=0)
        self._by_fold: dict[str, list[Any]] = {}
        for name, meant in named:
            self._by_fold.setdefault(_fold(name), []).append(meant)

    def close_to(self, name: str) -> list[Any]:
        return self._by_fold.get(_fold(name), []) if len(name) <= self._longest else []


def _fold(name: str) -> str:
    return _BETWEEN_WORDS.sub("", name).casefold()


class _Fitting:
    """Adapts one value. Facts about a part of the schema are computed once."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = MAX_STEPS
        self._names: dict[int, _Names] = {}
        self._takes_null: dict[int, bool] = {}

    def fit(self, value: Any, schema: Any, depth: int) -> Any:
        self._spend(1)
        schema = self._resolved(schema)
        if depth > MAX_DEPTH or not schema:
            return value
        choices = _choices(schema)
        if choices:
            self._spend(len(choices))
            others = [choice for choice in choices if not self.takes_null(choice)]
            return self.fit(value, others[0], depth + 1) if len(others) == 1 and value is not None else value
        match schema:
            case {"enum": list(listed)}:
                return self._choice(value, listed)
            case {"type": "object"}:
                members = self._unquoted(value, dict)
                return self._object(members, schema, depth) if isinstance(members, dict) else members
            case {"type": "array"}:
                items, part = self._unquoted(value, list), schema.get("items")
                value = [self.fit(item, part, depth + 1) for item in items] if isinstance(items, list) else items
            case {"type": "integer" | "number"}:
                value = _number(value)
        return value

    def takes_null(self, schema: Any) -> bool:
        schema = self._resolved(schema)
        if not schema:
            return True
        known = self._takes_null.get(id(schema))
        if known is None:
            # False while it is being computed: choices may lead back to themselves.
            self._takes_null[id(schema)] = False
            known = self._takes_null[id(schema)] = self._found_to_take_null(schema)
        return known

    def _found_to_take_null(self, schema: Mapping[str, Any]) -> bool:
        self._spend(1)
        choices = _choices(schema)
        if choices:
            return any(self.takes_null(choice) for choice in choices)
        if "enum" in schema or "const" in schema:
            listed = schema.get("enum", (schema.get("const", 0),))
            self._spend(len(listed))
            return None in listed
        kind = schema.get("type")
        return kind is None or kind == "null" or (isinstance(kind, list) and "null" in kind)

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        for _ in range(MAX_DEPTH):
            if not isinstance(schema, Mapping):
                return {}
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            self._spend(1)
            schema = (self._root.get("$defs") or {}).get(reference.removeprefix("#/$defs/"))
        return {}

    def _object(self, value: dict[str, Any], schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        is_exact = value.keys() <= properties.keys()
        new_names: dict[str, str] = {} if is_exact else self._new_names(value, properties)
        left_out = set(new_names.values())
        fit: dict[str, Any] = {}
        for given, part in value.items():
            if given in left_out:
                continue  # it was null, and another member takes its name
            name = new_names.get(given, given)
            if name not in properties:
                fit[name] = self.fit(part, others, depth + 1)
            elif part is not None or self.takes_null(properties[name]):
                fit[name] = self.fit(part, properties[name], depth + 1)
        return fit

    def _new_names(self, value: dict[str, Any], properties: Mapping[str, Any]) -> dict[str, str]:
        """The schema's names for members with other names. An exact name is kept; a similar one gets a schema name that
        is free and that no second member is similar to."""
        known = self._names_in(properties, lambda: [(name, name) for name in properties])
        close: dict[str, list[str]] = {}
        for name in value:
            self._spend(1 + len(name) // _STEP_CHARACTERS)
            if name not in properties:
                free = [wanted for wanted in known.close_to(name) if value.get(wanted) is None]
                if len(free) == 1:
                    close.setdefault(free[0], []).append(name)
        return {names[0]: wanted for wanted, names in close.items() if len(names) == 1}

    def _choice(self, value: Any, listed: list[Any]) -> Any:
        if not isinstance(value, str):
            return value
        self._spend(len(value) // _STEP_CHARACTERS)
        close = self._names_in(listed, lambda: [(str(one), one) for one in listed if not isinstance(one, dict | list)])
        meant = close.close_to(value)
        return meant[0] if len(meant) == 1 and value not in meant else value

    def _names_in(self, part: Any, named: Callable[[], list[tuple[str, Any]]]) -> _Names:
        known = self._names.get(id(part))
        if known is None:
            names = named()
            self._spend(len(names) + sum(len(name) for name, _ in names) // _STEP_CHARACTERS)
            known = self._names[id(part)] = _Names(names)
        return known

    def _unquoted(self, value: Any, kind: type) -> Any:
        if not isinstance(value, str):
            return value
        self._spend(1 + len(value) // _STEP_CHARACTERS)
        try:
            inside = bounded_json(unfenced(value), ARGUMENT_LIMITS)
        except ValueError:
            return value
        return inside if isinstance(inside, kind) else value

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _TooMuch


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    return [choice for key in ("anyOf", "oneOf") for choice in schema.get(key, ())]


def _number(value: Any) -> Any:
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER:
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
