"""The arguments that a candidate function is tried with: recorded ones, and others made from its schema. Pure.

Whatever is made fits the schema, because nothing else will ever reach the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from sandbox import BadSchema, schema_problem

if TYPE_CHECKING:
    from ..contracts import Neuron, Recording

Arguments = dict[str, Any]

MAX_EDGES = 40
_MAX_DEPTH = 4
_LONG = 2_000
_MAX_ARRAY_BYTES = 8_000
_ODD_CHARACTERS = "e\u0301 \u202eabc\u202c \U0001f9e0 \x00 ${x} </script> ' \" \\ __proto__"
_ODD_TEXTS = ("", " \n", _ODD_CHARACTERS, "long " * (_LONG // 5))
_ODD_NUMBERS = (0, -1, 0.5, 1, 1e-9, 2**53 - 1, -1e308, 1e308)
# Texts that names ask for: a date that is none tells nothing of a function that computes with dates.
_TEXTS = (
    *(("date", "2026-01-15"), ("time", "09:30"), ("from", "2026-01-15"), ("until", "2026-02-15"), ("to", "2026-02-15")),
    *(("url", "https://example.com/"), ("mail", "someone@example.com"), ("currency", "EUR"), ("zone", "Europe/Berlin")),
)


def recorded(neuron: Neuron, recordings: Sequence[Recording]) -> Iterator[tuple[Arguments, Recording]]:
    """What executions of the habit were given, where it fits the schema."""
    for recording in recordings:
        if isinstance(recording.context, dict) and fits(neuron, recording.context):
            yield recording.context, recording


def typical(neuron: Neuron) -> list[Arguments]:
    """Arguments with all parameters, and with the required ones alone."""
    schema = neuron.parameters or {}
    whole = _object(schema, 0)
    required = {name: value for name, value in whole.items() if name in schema.get("required", ())}
    return _once(neuron, [whole, required, _object(schema, 1)])


def edges(neuron: Neuron) -> list[Arguments]:
    """One parameter at a time is missing, empty, zero, negative, large or odd, as far as the schema allows it."""
    properties = (neuron.parameters or {}).get("properties", {})
    base = next(iter(typical(neuron)), {})
    found: list[Arguments] = []
    for name, schema in properties.items():
        found.append({key: value for key, value in base.items() if key != name})
        found += [{**base, name: value} for value in _odd(schema)]
    found.append({name: next(iter(_odd(schema)), None) for name, schema in properties.items()})
    return _once(neuron, found)[:MAX_EDGES]


def fits(neuron: Neuron, arguments: Mapping[str, Any]) -> bool:
    try:
        return schema_problem(to_json(neuron.parameters or {}), arguments) is None
    except BadSchema:
        return False


def _once(neuron: Neuron, sets: Sequence[Arguments]) -> list[Arguments]:
    unique = {to_json(each): each for each in sets}
    return [each for each in unique.values() if fits(neuron, each)]


def _object(schema: Mapping[str, Any], turn: int, depth: int = 0) -> Arguments:
    properties = schema.get("properties", {})
    numbered = enumerate(properties.items(), 1 + turn)
    return {name: _value(part, name, number, depth + 1) for number, (name, part) in numbered}


def _value(schema: Mapping[str, Any], name: str, number: int, depth: int) -> Any:
    """A usual value of such a parameter: what the schema says of it, or a guess."""
    said = (
        [schema[key] for key in ("default", "const") if key in schema] or schema.get("enum") or schema.get("examples")
    )
    if said:
        return said[number % len(said)]
    if choices := schema.get("anyOf"):
        return _value(choices[0], name, number, depth + 1)
    if depth > _MAX_DEPTH:
        return None
    made: Any = None
    match _type_of(schema):
        case "number" | "integer":
            made = _number(schema, number)
        case "string" | "":
            made = _text(schema, name)
        case "boolean":
            made = number % 2 == 1
        case "array":
            count = max(schema.get("minItems", 0), min(3, schema.get("maxItems", 3)))
            made = _values(schema, name, number, depth, min(count, 50))
        case "object":
            made = _object(schema, number, depth)
    return made


def _values(schema: Mapping[str, Any], name: str, number: int, depth: int, count: int) -> list[Any]:
    """The items of an array: fewer where each is large, because arrays in arrays would multiply."""
    items = schema.get("items", {})
    made: list[Any] = []
    room = _MAX_ARRAY_BYTES
    while len(made) < count and room > 0:
        made.append(_value(items, name, number + len(made), depth + 1))
        room -= len(to_json(made[-1]))
    return made


def _number(schema: Mapping[str, Any], number: int) -> Any:
    low, high = schema.get("minimum"), schema.get("maximum")
    value = number + 1 if low is None else low + number
    return value if high is None or value <= high else (high if low is None else low)


def _text(schema: Mapping[str, Any], name: str) -> str:
    found = next((text for word, text in _TEXTS if word in name.lower()), "text")
    found = found.ljust(min(schema.get("minLength", 0), _LONG), "x")
    return found[: schema.get("maxLength", len(found))]


def _odd(schema: Mapping[str, Any]) -> Iterator[Any]:
    if "enum" in schema:
        yield from schema["enum"][:4]
        return
    yield from (schema[key] for key in ("minimum", "maximum") if key in schema)
    match _type_of(schema):
        case "number" | "integer":
            yield from _ODD_NUMBERS
        case "string":
            yield from _ODD_TEXTS
        case "array":
            yield []
            inner = [*_odd(schema.get("items", {}))][:3]
            yield from ([value] for value in inner)
            yield _values(schema, "", 0, 0, 200)
        case "boolean":
            yield from (True, False)
        case "object":
            yield {}
        case _:
            yield from (None, 0, "", [], {})
    yield None


def _type_of(schema: Mapping[str, Any]) -> str:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = next((kind for kind in kinds if kind != "null"), "null")
    return str(kinds or ("object" if "properties" in schema else ""))
