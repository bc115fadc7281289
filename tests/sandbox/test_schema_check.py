"""Schemas come from strangers: each gets an answer soon, and none fetches anything."""

from __future__ import annotations

import pytest
from pydantic_core import to_json

from sandbox import BadSchema, schema_problem
from sandbox.schema_check import unfolded


def problem(schema, value):
    return schema_problem(to_json(schema), value)


def test_a_value_fits_or_the_first_problem_is_told_with_its_place():
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "integer"}}}}
    assert problem(schema, {"items": [1, 2]}) is None
    assert problem(schema, {"items": [1, "two"]}) == 'arguments.items[1]: "two" is not of type "integer"'


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": 5},
        {"$ref": "https://example.com/schema.json"},
        {"type": "strin"},
        {"properties": {"x": {"pattern": "((a{1000}){1000}){1000}"}}},
    ],
)
def test_a_schema_that_cannot_be_used_says_so(schema):
    with pytest.raises(BadSchema):
        problem(schema, {})


def doubling(levels: int) -> dict[str, object]:
    parts: dict[str, object] = {
        f"a{level}": {"anyOf": [{"$ref": f"#/$defs/a{level + 1}"}] * 2} for level in range(levels)
    }
    return {"$ref": "#/$defs/a0", "$defs": {**parts, f"a{levels}": False}}


def test_references_that_would_take_years_are_not_followed():
    with pytest.raises(BadSchema, match="unfold to more than"):
        problem(doubling(60), {})
    assert problem(doubling(8), {}) is not None


def test_references_that_lead_on_and_on_are_not_followed():
    parts: dict[str, object] = {f"a{level}": {"$ref": f"#/$defs/a{level + 1}"} for level in range(20_000)}
    with pytest.raises(BadSchema):
        problem({"$ref": "#/$defs/a0", "$defs": {**parts, "a20000": {}}}, {})


def test_a_schema_that_means_itself_is_used():
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "name": {"type": "string"}}}
    assert problem(tree, {"left": {"right": {"name": "x"}}}) is None
    assert problem(tree, {"left": {"right": {"name": 1}}}) is not None


def test_what_is_said_twice_is_counted_twice():
    assert unfolded({"$defs": {"a": {"type": "string"}}}) == 1
    twice = {"$defs": {"a": {}}, "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}
    assert unfolded(twice) > unfolded({"$defs": {"a": {}}, "allOf": [{"$ref": "#/$defs/a"}]})
