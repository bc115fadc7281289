"""Values are brought nearer to their schema in a bounded number of steps."""

from __future__ import annotations

from typing import Any

import pytest

from cortex.tools.fitting import MAX_STEPS, fitted
from tests.cpu_clock import cpu_clock


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def many(part: Any) -> dict[str, Any]:
    return of(x={"type": "array", "items": part})


@pytest.mark.parametrize(
    ("value", "schema", "meant"),
    [
        ({"x": "New-York"}, of(x={"enum": ["new_york", "london"]}), {"x": "new_york"}),
        ({"x": "london"}, of(x={"enum": ["LONDON", "london"]}), {"x": "london"}),
        ({"x": "London"}, of(x={"enum": ["LONDON", "london"]}), {"x": "London"}),
        ({"x": "2"}, of(x={"enum": [1, 2, None]}), {"x": 2}),
        ({"x": "none"}, of(x={"enum": [{"none": 1}, ["none"]]}), {"x": "none"}),
        ({"perPage": 5}, of(per_page={"type": "integer"}), {"per_page": 5}),
        ({"perPage": 5, "per_page": None}, of(per_page={"type": "integer"}), {"per_page": 5}),
        ({"perPage": 5, "PerPage": 6}, of(per_page={"type": "integer"}), {"perPage": 5, "PerPage": 6}),
        ({"perPage": 5, "per_page": 6}, of(per_page={"type": "integer"}), {"perPage": 5, "per_page": 6}),
        ({"x": '[{"perPage": "5"}]'}, many(of(per_page={"type": "integer"})), {"x": [{"per_page": 5}]}),
        ({"x": None}, of(x={"type": "string"}), {}),
        ({"x": None}, of(x={"anyOf": [{"type": "string"}, {"type": "null"}]}), {"x": None}),
        ({"x": "5"}, of(x={"anyOf": [{"type": "integer"}, {"type": "null"}]}), {"x": 5}),
    ],
)
def test_what_is_meant_without_doubt_is_taken(value, schema, meant):
    assert fitted(value, schema) == meant


LONG_CHOICES = [f"{'b' * 1_000}{n}" for n in range(200)]
MANY_PROPERTIES = {f"prop_{n}": {"type": "string"} for n in range(3_000)}
LEADS_ON = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(30)}
DOUBLING = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(30)}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"x": "A" * 200_000}, of(x={"enum": LONG_CHOICES})),
        ({"x": ["Zz-z"] * 19_000}, many({"enum": [f"zzz{n}" for n in range(9_000)]})),
        ({"x": [{"PROP1": 1}] * 9_000}, many(of(**MANY_PROPERTIES))),
        ({f"Prop{n}": 1 for n in range(19_000)}, of(**MANY_PROPERTIES)),
        ({"Z" * 1_000_000: 1}, of(**MANY_PROPERTIES)),
        ({"x": ['{"a": 1}'] * 19_000}, many(of(a={"type": "integer"}))),
        ({"x": f"[{'[],' * 300_000}0]"}, many({"type": "array"})),
        ({"x": ["a"] * 19_000}, many({"anyOf": [{"type": "null"}, *[{"type": "string"}] * 300]})),
        ({"x": ["a"] * 19_000}, many({"enum": [None] * 9_000})),
        ({"x": ["1"] * 19_000}, {"$defs": {**LEADS_ON, "a30": {"type": "integer"}}, **many({"$ref": "#/$defs/a0"})}),
        ({"x": None}, {"$defs": {**DOUBLING, "a30": {"type": "string"}}, **of(x={"$ref": "#/$defs/a0"})}),
    ],
    ids=[
        "a long text among long choices",
        "many texts among many choices",
        "many objects with many properties",
        "many names that come close",
        "a name of a megabyte",
        "much JSON in strings",
        "a million lists in a string",
        "many values with many choices",
        "many empty choices",
        "many references",
        "references that double",
    ],
)
def test_no_value_and_no_schema_takes_long(value, schema):
    with cpu_clock(1.0):
        fitted(value, schema)


def test_what_takes_too_many_steps_is_left_as_it_is():
    schema = many({"type": "integer"})
    assert fitted({"x": ["1"] * (MAX_STEPS - 10)}, schema)["x"][0] == 1
    assert fitted({"x": ["1"] * MAX_STEPS}, schema)["x"][0] == "1"


def test_a_schema_that_leads_back_to_itself_has_an_end():
    schema = {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}, **of(x={"$ref": "#/$defs/a"})}
    assert fitted({"x": "5"}, schema) == {"x": "5"}
    assert fitted({"x": None}, schema) == {"x": None}
