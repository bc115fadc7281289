"""The schema of what a habit's runs returned."""

from __future__ import annotations

import json

import pytest

from neurons.habits.value_schemas import MAX_SCHEMA_CHARS, joined_schema, schema_of_value
from sandbox import schema_problem

NUMBER, STRING = {"type": "number"}, {"type": "string"}


def of(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ([1, 2.5], NUMBER),
        (["a", ""], STRING),
        ([True, False], {"type": "boolean"}),
        ([[1], [], [2, 3]], {"type": "array", "items": NUMBER}),
        ([[1, "a"], ["b"]], {"type": "array", "items": {}}),
        ([{"a": 1, "b": "x"}, {"b": "y", "a": 2}], of(a=NUMBER, b=STRING)),
        ([{"a": 1, "b": 2}, {"a": 1}], {**of(a=NUMBER, b=NUMBER), "required": ["a"]}),
        ([[{"a": 1}], [{"a": None}]], {"type": "array", "items": of(a={"type": ["number", "null"]})}),
        ([1, None], {"type": ["number", "null"]}),
        ([1, "a"], None),
        ([{"tea": 2}, {"milk": 1}], {"type": "object"}),
        ([{"a b@c.example": 1}, {"x": 1}], {"type": "object"}),
        ([], None),
    ],
)
def test_a_schema_is_what_all_values_have_in_common(values, schema):
    found = joined_schema(map(schema_of_value, values))
    assert found == schema
    for value in values:
        assert schema_problem(json.dumps(found or {}).encode(), value) is None


def test_a_schema_has_no_value_and_is_bounded():
    assert "secret" not in json.dumps(schema_of_value({"a": "secret", "secret of alice@example.com": 1}))
    deep: object = 1
    for _ in range(10_000):
        deep = [deep]
    wide = [{f"n{a}": [{f"m{b}": [[0] * 60] * 60 for b in range(20)}] * 60 for a in range(20)}] * 60
    for value in (deep, wide, "x" * 1_000_000):
        assert len(json.dumps(schema_of_value(value))) <= MAX_SCHEMA_CHARS * 1.3
