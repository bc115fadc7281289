"""The JSON Schemas of a draft: of each parameter by what was seen of it, and of the result. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from ..contracts import cost_of
from .value_schemas import Schema, joined_schema, schema_of_value

if TYPE_CHECKING:
    from ..contracts import CostSettings, Recording

MAX_TEXT_LENGTH = 1_000
MAX_EXAMPLE_CHARS = 200
MAX_SCHEMA_CHARS = 3_000
MIN_RUNS = 2
"""Fewer runs show no type that can be promised."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Other numbers that were whole so far, such as a price, may have a fraction tomorrow.
_COUNTED = frozenset(
    {
        *("count", "day", "days", "hour", "hours", "minute", "minutes", "month", "months", "week", "weeks", "weekday"),
        *("year", "years", "limit", "page", "pages", "size", "top", "length", "index", "id", "number", "quantity"),
        *("times", "people", "guests", "persons", "places", "digits", "n", "k", "shift", "retries"),
    }
)


@dataclass(frozen=True, slots=True)
class RecordedRuns:
    """What the recordings of a habit tell a draft: no more than types, the latest input and what a run cost."""

    contexts: tuple[dict[str, Any], ...] = ()
    """The newest first."""
    returns: Schema | None = None
    """The schema of what the runs returned, where they agree."""
    energy: float | None = None
    """What the dearest of them would cost as a call."""


def recorded_runs(recordings: Sequence[Recording], prices: CostSettings) -> RecordedRuns:
    """`recordings` are those of the habit, the newest first."""
    results = [one.returns for one in recordings if one.returns is not None]
    costs = [cost_of(one.work, 1, prices) for one in recordings if one.work is not None]
    contexts = tuple(one.context for one in recordings if isinstance(one.context, dict))
    agreed = joined_schema(results) if len(results) >= MIN_RUNS else None
    return RecordedRuns(contexts, agreed, max(costs, default=None))


def schema_of_place(kind: str, name: str, latest: str, seen: Mapping[str, Any]) -> Schema:
    """The schema of the parameter in the place of a literal. `latest` is what stood there last, and `seen` all that
    did: texts, each with the value that it is as data."""
    if kind == "data":
        return schema_of_seen(name, [value for value in seen.values() if isinstance(value, list)])
    if kind == "boolean":
        return {"type": "boolean", "examples": [latest == "true"]}
    if kind == "number":
        return schema_of_seen(name, [number_of(text) for text in (latest, *(text for text in seen if text != latest))])
    most = max(map(len, (latest, *seen)))
    longest = MAX_TEXT_LENGTH if 2 * most <= MAX_TEXT_LENGTH else 10 * MAX_TEXT_LENGTH
    return {"type": "string", "maxLength": longest, **_example(latest)}


def schema_of_seen(name: str, values: Sequence[Any]) -> Schema:
    """The schema of a parameter by the values that it had, the newest first."""
    schema = _opened(joined_schema(map(schema_of_value, values)) or {})
    numbers = [value for value in values if isinstance(value, int | float)]
    is_whole = all(float(value).is_integer() for value in numbers)
    if schema.get("type") == "number" and is_whole and _is_counted(name):
        schema["type"] = "integer"
    return {**schema, **(_example(values[0]) if values else {})}


def number_of(text: str) -> int | float:
    """The number of a literal; of one in another notation any number."""
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        return 0.5
    return int(number) if number.is_integer() and abs(number) < 2**53 else number if abs(number) < 1e300 else 0.5


def fitting(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    """The schemas of all parameters within the size that a proposal may have: without examples where they are too
    large, and at last with types alone."""
    for keys in (None, {"examples"}, {"examples", "properties", "required", "items"}):
        left = {name: {k: v for k, v in one.items() if not keys or k not in keys} for name, one in properties.items()}
        if len(to_json(left)) <= MAX_SCHEMA_CHARS:
            return left
    return {name: {} for name in properties}


def named_members(schema: Schema | None, code: str) -> Schema | None:
    """The schema of a result with the members that pure code names. Others come of its input, such as words that it
    counts, and are others for another input."""
    if schema is None:
        return None
    made = dict(schema)
    if "items" in schema:
        made["items"] = named_members(schema["items"], code)
    if "properties" in schema:
        known = {name: one for name, one in schema["properties"].items() if re.search(rf"\b{re.escape(name)}\b", code)}
        del made["properties"], made["required"]
        if known:
            made["properties"] = {name: named_members(one, code) for name, one in known.items()}
            made["required"] = [name for name in schema["required"] if name in known]
    return made


def _example(value: Any) -> Schema:
    return {"examples": [value]} if len(to_json(value)) <= MAX_EXAMPLE_CHARS else {}


def _opened(schema: Schema) -> Schema:
    """Anything where nothing but null was seen: that tells no type."""
    if schema.get("type") == "null":
        return {}
    opened = dict(schema)
    if "items" in schema:
        opened["items"] = _opened(schema["items"])
    if "properties" in schema:
        opened["properties"] = {name: _opened(one) for name, one in schema["properties"].items()}
    return opened


def _is_counted(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    return bool(words) and words[-1] in _COUNTED
