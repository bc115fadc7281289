"""Schemas are untrusted: each check ends soon, and nothing is fetched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import jsonschema_rs
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field
from pydantic_core import from_json, to_json

from sandbox import BadSchema, TooMuchToCheck, schema_problem, usable_schema
from sandbox.tool_types.schema_check import (
    MAX_MATCHED,
    MAX_PATTERN_CHARACTERS,
    MAX_PATTERNS,
    MAX_TOLD_CHARACTERS,
    _Kept,
    is_usable,
)

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def problem(schema: Any, value: Any) -> str | None:
    return schema_problem(to_json(schema), value)


def ref(name: object) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def nested(depth: int, leaf: Any = 1) -> Any:
    for _ in range(depth):
        leaf = {"x": leaf}
    return leaf


def of_arms(count: int, back: dict[str, Any]) -> dict[str, Any]:
    """As many parts that look at the same member, all of which lead back."""
    arms = [
        {"type": "object", "required": ["x"], "minProperties": n % 2, "title": str(n), "properties": {"x": back}}
        for n in range(count)
    ]
    return {"anyOf": [*arms, {"type": "string"}]}


def test_a_value_fits_or_the_first_problem_is_told_with_its_place():
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "integer"}}}}
    assert problem(schema, {"items": [1, 2]}) is None
    assert problem(schema, {"items": [1, "two"]}) == 'arguments.items[1]: "two" is not of type "integer"'


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": 5},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#missing"},
        {"$id": "https://example.com/here", **of_arms(2, {"$ref": "here"})},
        {"type": "strin"},
        {"$ref": "#"},
        {"$defs": {"a": {"allOf": [ref("b")]}, "b": {"anyOf": [ref("a")]}}, **ref("a")},
        {"if": {"$ref": "#"}, "then": {"properties": {"x": {"$ref": "#"}}}},
        {"properties": {"x": {"$id": "https://example.com/other", "type": "string"}}},
        {"properties": {"x": {"$anchor": "a"}, "y": {"$anchor": "a"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"x": {"$ref": "#"}}},
        [],
    ],
)
def test_a_schema_that_cannot_be_used_says_so(schema: Any):
    with pytest.raises(BadSchema):
        usable_schema(to_json(schema))


def test_a_schema_may_say_yes_or_no_to_everything():
    assert problem(True, {"x": 1}) is None
    assert problem(False, {"x": 1}) is not None


def in_one_another(depth: int) -> dict[str, Any]:
    """Parts that lie in one another, each of which is referred to, around many others."""
    part: dict[str, Any] = {"allOf": [{} for _ in range(3_600)]}
    for _ in range(depth):
        part = {"items": part}
    return {"$defs": {"a": part}, "anyOf": [ref("a" + "/items" * n) for n in range(depth)]}


def by_references(count: int, part: dict[str, Any]) -> dict[str, Any]:
    return {"$defs": {"a": part}, "allOf": [ref("a")] * count}


WIDE = 10**4_200
MANY_NAMES = [f"k{n}" for n in range(9_500)]
FAR = {f"a{n}": of_arms(1, {"anyOf": [ref(f"a{m}") for m in range(40) if m != n]}) for n in range(40)}
HOSTILE = {
    "arms": ({"$defs": {"a": of_arms(2, ref("a"))}, **ref("a")}, nested(150)),
    "many arms": ({"$defs": {"a": of_arms(50, ref("a"))}, **ref("a")}, nested(150)),
    "arms of draft 7": ({"$schema": DRAFT_7, "$defs": {"a": of_arms(2, ref("a"))}, **ref("a")}, nested(150)),
    "by the root": (of_arms(3, {"$ref": "#"}), nested(150)),
    "by a name": ({"$defs": {"a": {"$anchor": "here", **of_arms(2, {"$ref": "#here"})}}, "$ref": "#here"}, nested(99)),
    "by a word": ({"$defs": {"a": {"$id": "Here", **of_arms(2, {"$ref": "Here"})}}, "$ref": "Here"}, nested(99)),
    "by an address": ({"$id": "https://example.com/x", **of_arms(2, {"$ref": "https://example.com/x"})}, nested(99)),
    "dynamic": ({"$dynamicAnchor": "a", **of_arms(2, {"$dynamicRef": "#a"})}, nested(150)),
    "each to each": ({"$defs": FAR, **ref("a0")}, nested(30)),
    "doubling": (
        {"$defs": {**{f"a{n}": {"anyOf": [ref(f"a{n + 1}")] * 2} for n in range(30)}, "a30": False}, **ref("a0")},
        {},
    ),
    "doubling with each step": (
        {"$defs": {**{f"a{n}": of_arms(2, ref(f"a{n + 1}")) for n in range(60)}, "a60": False}, **ref("a0")},
        nested(60),
    ),
    "all and one": (
        {
            "$defs": {"a": {"type": "array", "oneOf": [{"items": ref("a")}, {"items": ref("a"), "minItems": 9}]}},
            **ref("a"),
        },
        from_json("[" * 90 + "]" * 90),
    ),
    "a deep stack": (
        {
            "$defs": {
                **{f"a{n}": {"allOf": [ref(f"a{n + 1}")]} for n in range(250)},
                "a250": {"properties": {"x": ref("a0")}},
            },
            **ref("a0"),
        },
        nested(199),
    ),
    "a deep stack of fewer": (
        {
            "$defs": {
                **{f"a{n}": {"if": True, "then": ref(f"a{n + 1}")} for n in range(30)},
                "a30": {"properties": {"x": ref("a0")}},
            },
            **ref("a0"),
        },
        nested(199),
    ),
    "a long way": (
        {"$defs": {**{f"a{n}": ref(f"a{n + 1}") for n in range(3_900)}, "a3900": {}}, **ref("a0")},
        {},
    ),
    "what is left over": (
        {
            "$defs": {
                **{f"a{n}": {"unevaluatedProperties": False, "allOf": [ref(f"a{n + 1}")] * 3} for n in range(14)},
                "a14": {"properties": {"x": {}}},
            },
            **ref("a0"),
        },
        {},
    ),
    "objects to compare with": (
        {"type": "array", "items": {"enum": [{"a": n} for n in range(3_900)]}},
        [{"a": 3_899}] * 20_000,
    ),
    "choices": ({"type": "array", "items": {"anyOf": [{"const": n} for n in range(3_000)]}}, [2_999] * 200_000),
    "wide numbers": ({"type": "array", "uniqueItems": True}, [10**30 + n for n in range(20_000)]),
    "numbers of 63 bits": ({"type": "array", "uniqueItems": True}, [2**62 + n for n in range(90_000)]),
    "huge numbers": ({"type": "array", "items": {"minimum": 3}}, [10**4_000] * 20_000),
    "divisors": ({"type": "array", "items": {"multipleOf": 1e-300}}, [1e300] * 100_000),
    "wide choices": ({"type": "array", "items": {"enum": [*(WIDE + n for n in range(50)), 1]}}, [1] * 1_300),
    "wide choices by references": (
        {"$defs": {"a": {"enum": [WIDE, 1], "items": ref("a")}}, "items": {"allOf": [ref("a")] * 1_000}},
        [1] * 15_000,
    ),
    "fractions for choices": (
        {"type": "array", "items": {"enum": [*(2**52 + n for n in range(1_000)), 1.5]}},
        [1.5] * 190,
    ),
    "choices of fractions": (
        {"type": "array", "items": {"enum": [*(n + 0.5 for n in range(1_000)), 1e308]}},
        [1e308] * 66,
    ),
    "tiny fractions": ({"type": "array", "items": {"maximum": 1.5}}, [5e-324] * 100_000),
    "tiny fractions in arrays": ({"type": "array", "items": {"anyOf": [{"const": [1]}, {}]}}, [[5e-324]] * 40_000),
    "tiny fractions for references": ({"maximum": 1.5, "items": {"$ref": "#"}}, [5e-324] * 19_000),
    "huge fractions": ({"type": "array", "items": {"maximum": 1.7e308}}, [1e308] * 100_000),
    "names that need others": (
        by_references(1_000, {"dependentRequired": {"k0": MANY_NAMES}}),
        dict.fromkeys(MANY_NAMES, 0),
    ),
    "names that need others in draft 7": (
        {"$schema": DRAFT_7, **by_references(1_000, {"dependencies": {"k0": MANY_NAMES}})},
        dict.fromkeys(MANY_NAMES, 0),
    ),
    "an object to compare with": (
        by_references(1_000, {"const": dict.fromkeys(MANY_NAMES)}),
        dict.fromkeys(MANY_NAMES),
    ),
    "an array to compare with": (by_references(3_900, {"const": [None] * 15_000}), [None] * 15_000),
    "long names": ({"anyOf": [{"propertyNames": {"maxLength": 3}}] * 1_000}, {"é" * 4_000_000: 1}),
    "long names for references": (
        {
            "$defs": {"a": {"propertyNames": {"maxLength": 3}, "items": ref("a")}},
            "allOf": [{"not": ref("a")}] * 1_000,
        },
        {"é" * 4_000_000: 1},
    ),
    "parts in one another": (in_one_another(90), {}),
    "texts that are to be JSON": (
        {"$schema": DRAFT_7, "allOf": [{"contentMediaType": "application/json"}] * 400},
        "[" + "{}," * 2_600_000 + "0]",
    ),
    "a text for many choices": ({"anyOf": [{"type": "integer"}] * 400}, "x" * 8_000_000),
    "a text of code for many choices": ({"anyOf": [{"type": "integer"}] * 400}, "x" * 1_900_000),
    "items for many choices": ({"anyOf": [{"items": {"type": "string"}}] * 100}, [0] * 14_000),
    "names for many choices": (
        {"anyOf": [{"propertyNames": {"minLength": 9}}] * 10},
        {str(n): 1 for n in range(3_000)},
    ),
    "names that are missing": ({"anyOf": [{"required": MANY_NAMES[:1_000]}] * 5}, {"a": [0] * 1_000}),
    "nothing but no": ({"anyOf": [False] * 9_000}, [0] * 14_000),
    "texts to choose from": (
        {"$defs": {"a": {"const": "x" * 200_000}}, "anyOf": [ref("a")] * 240},
        1,
    ),
    "arrays to choose from": (
        {"$defs": {"a": {"not": {"enum": [*[None] * 15_000, 1]}}}, "anyOf": [ref("a")] * 240},
        1,
    ),
    "a text for choices that lead back": (
        {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]},
        [[["x" * 1_900_000] * 4] * 4],
    ),
    "patterns": (
        {"properties": {f"p{n}": {"pattern": rf"^(\p{{L}}|\d){{{200 + n}}}$"} for n in range(2_000)}},
        {"p1": "a" * 300},
    ),
    "a slow pattern": ({"properties": {"x": {"pattern": "[ab]*a[ab]{800}c"}}}, {"x": "ab" * 2_000_000}),
    "names by patterns": ({"patternProperties": {"[ab]*a[ab]{800}c": True}}, {"ab" * 2_000_000: 1}),
    "patterns in the value": (
        {"$schema": DRAFT_7, "type": "array", "items": {"format": "regex"}},
        [rf"(\p{{L}}{{99}}){{{n % 99}}}" for n in range(20_000)],
    ),
}

PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
import time
from sandbox import BadSchema, schema_problem
from tests.sandbox.tool_types.test_schema_check import HOSTILE, to_json
for name, (schema, value) in HOSTILE.items():
    written = to_json(schema)
    room = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    try:
        schema_problem(written, value)
    except BadSchema:
        pass
    took = time.process_time() - begun
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - room
    assert took < 1 and grown < 65_536, (name, took, grown)
    print(name, flush=True)
"""


def test_no_schema_takes_the_host_with_it():
    """Each of them took seconds, minutes, gigabytes, or the process itself. What is allowed here, for compiling and
    checking together, leaves room for a busy machine. In a process of its own, which can be killed: the
    library cannot be."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, cwd=Path(__file__).parents[3]
    )
    assert done.stdout.splitlines() == list(HOSTILE), (done.returncode, done.stderr[-500:])
    assert done.returncode == 0


TOO_MUCH = (
    "each to each",
    "doubling",
    "objects to compare with",
    "choices",
    "wide numbers",
    "numbers of 63 bits",
    "huge numbers",
    "divisors",
    "wide choices",
    "wide choices by references",
    "fractions for choices",
    "choices of fractions",
    "tiny fractions",
    "tiny fractions in arrays",
    "tiny fractions for references",
    "huge fractions",
    "names that need others",
    "names that need others in draft 7",
    "an object to compare with",
    "an array to compare with",
    "long names",
    "long names for references",
)


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_is_too_much_for_a_schema_is_told(name: str):
    with pytest.raises(TooMuchToCheck, match="too"):
        problem(*HOSTILE[name])


@pytest.mark.parametrize("bits", [53, 54, 64, 65])
def test_numbers_that_must_be_unique_are_wide_beyond_53_bits(bits: int):
    numbers = [2 ** (bits - 1) + n for n in range(4_000)]
    schema = {"type": "array", "uniqueItems": True}
    if bits <= 53:
        assert problem(schema, numbers) is None
    else:
        with pytest.raises(TooMuchToCheck, match="too many numbers of more than 53 bits"):
            problem(schema, numbers)


@pytest.mark.parametrize("count", [3_990, 4_010])
def test_a_schema_of_more_parts_than_can_be_compiled_at_once_is_refused(count: int):
    """250 KB of them held up the interpreter for two seconds."""
    schema = {"properties": {f"p{n}": {} for n in range(count)}}
    if count <= 4_000:
        assert problem(schema, {}) is None
    else:
        with pytest.raises(BadSchema, match="more than 4000 objects and arrays"):
            problem(schema, {})


def test_references_that_would_take_years_are_not_followed():
    with pytest.raises(TooMuchToCheck, match="references of this schema"):
        problem(*HOSTILE["doubling with each step"])


def test_references_that_lead_on_and_on_are_not_followed():
    with pytest.raises(BadSchema, match="chain of"):
        problem(*HOSTILE["a long way"])


def test_values_that_are_nested_too_deep_for_a_schema_are_told():
    with pytest.raises(TooMuchToCheck, match="nested too deep"):
        problem(*HOSTILE["a deep stack of fewer"])
    with pytest.raises(BadSchema, match="chain of"):
        problem(*HOSTILE["a deep stack"])


def test_where_there_are_many_ways_only_that_it_does_not_fit_is_told():
    schema, _ = HOSTILE["arms"]
    assert problem(schema, nested(150, "text")) is None
    assert "is not valid under any" in str(problem(schema, nested(3)))
    assert "too many choices" in str(problem(schema, nested(150)))


NOT_TOLD = {
    "a text for many choices": "too long to say where",
    "a text of code for many choices": "too many choices to say where",
    "items for many choices": "too many choices to say where",
    "names for many choices": "too many choices to say where",
    "names that are missing": "too many choices to say where",
    "texts to choose from": "too many choices to say where",
    "arrays to choose from": "too many choices to say where",
    "nothing but no": "too many choices to say where",
    "a text for choices that lead back": "too long to say where",
}


@pytest.mark.parametrize(("name", "why"), NOT_TOLD.items())
def test_where_telling_would_copy_too_much_only_that_it_does_not_fit_is_told(name: str, why: str):
    """The library collects all that is wrong with each choice, each time with a copy of the value."""
    assert why in str(problem(*HOSTILE[name]))


def test_what_is_wrong_with_a_text_is_told_up_to_a_length():
    one, two = {"type": "integer"}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert str(problem(one, "x" * MAX_TOLD_CHARACTERS)).startswith('arguments: "xxx')
    assert "too long to say where" in str(problem(one, "x" * (MAX_TOLD_CHARACTERS + 1)))
    assert str(problem(two, "x" * 500_000)).startswith('arguments: "xxx')
    assert "too many choices" in str(problem(two, "x" * MAX_TOLD_CHARACTERS))


def test_what_is_wrong_with_one_of_many_rows_is_told_also_where_it_has_choices():
    """Only the choices for that row are gone into."""
    maybe = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    rows = {"type": "array", "items": {"type": "object", "properties": {"a": maybe, "b": maybe}}}
    values = [*({"a": "x", "b": None} for _ in range(4_900)), {"a": 1}]
    assert "arguments[4900].a: 1 is not valid under any" in str(problem(rows, values))
    few = {"properties": {"rows": {"anyOf": [{"type": "null"}, rows]}}}
    assert "arguments.rows" in str(problem(few, {"rows": values[-50:]}))


def test_numbers_of_every_day_are_checked_in_large_arrays():
    fractions = [n + 0.5 for n in range(90_000)]
    assert problem({"type": "array", "items": {"type": "number"}}, fractions) is None
    assert problem({"items": {"minimum": 0, "maximum": 1.0}}, [n / 10_000 for n in range(10_000)]) is None
    assert problem({"items": {"multipleOf": 0.25}}, [n / 4 for n in range(2_500)]) is None
    assert problem({"items": {"enum": [1, 2, 3]}}, [3.0] * 50_000) is None


def test_what_a_text_holds_is_left_to_the_server():
    """To know whether it is JSON, the library would parse it, once for each part."""
    for keyword, kind in (("contentMediaType", "application/json"), ("contentEncoding", "base64")):
        assert problem({"$schema": DRAFT_7, "properties": {"x": {keyword: kind}}}, {"x": "{"}) is None


BLOCKS = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name"],
}
FILTER = {
    "type": "object",
    "properties": {"filter": ref("Filter")},
    "$defs": {
        "Filter": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"and": {"type": "array", "items": ref("Filter")}},
                    "required": ["and"],
                },
                {"type": "object", "properties": {"or": {"type": "array", "items": ref("Filter")}}, "required": ["or"]},
                {"type": "object", "properties": {"not": ref("Filter")}, "required": ["not"]},
                {
                    "type": "object",
                    "properties": {"field": {"type": "string"}, "equals": {"type": ["string", "number"]}},
                    "required": ["field", "equals"],
                },
            ]
        }
    },
}


def document_of(kinds: int) -> dict[str, Any]:
    """Blocks of many kinds, each of which may hold all the others."""
    block = {"anyOf": [ref(f"Block{n}") for n in range(kinds)]}
    kind = {
        f"Block{n}": {
            "type": "object",
            "properties": {"content": {"type": "array", "items": ref("Block")}, "type": {"const": f"kind{n}"}},
            "required": ["type"],
        }
        for n in range(kinds)
    }
    return {"type": "object", "properties": {"document": ref("Block")}, "$defs": {"Block": block, **kind}}


def tree(depth: int, width: int, leaf: Any = "leaf") -> dict[str, Any]:
    return {"name": leaf, "children": [tree(depth - 1, width, leaf) for _ in range(width)] if depth else []}


def filters(depth: int, leaf: Any = "open") -> dict[str, Any]:
    if depth == 0:
        return {"field": "state", "equals": leaf}
    if depth % 3 == 0:
        return {"not": filters(depth - 1, leaf)}
    return {"and" if depth % 3 == 1 else "or": [{"field": "a", "equals": 1}, filters(depth - 1, leaf)]}


def blocks(depth: int, kinds: int, last: str) -> dict[str, Any]:
    inner = [blocks(depth - 1, kinds, last), {"type": f"kind{depth % kinds}"}] if depth else [{"type": last}]
    return {"type": f"kind{kinds - 1}", "content": inner}


def test_trees_of_blocks_are_checked():
    assert problem(BLOCKS, tree(8, 2)) is None
    assert problem(BLOCKS, tree(3, 12)) is None
    assert "not of type" in str(problem(BLOCKS, tree(3, 2, 5)))
    assert problem(BLOCKS, tree(8, 2, 5)) is not None


def test_grammars_of_filters_are_checked_and_what_is_wrong_is_told():
    for depth in range(12):
        assert problem(FILTER, {"filter": filters(depth)}) is None
        assert "arguments.filter" in str(problem(FILTER, {"filter": filters(depth, None)}))


def test_documents_of_many_kinds_of_blocks_are_checked():
    schema = document_of(20)
    assert problem(schema, {"document": blocks(8, 20, "kind0")}) is None
    assert problem(schema, {"document": blocks(8, 20, "kind99")}) is not None


def test_a_schema_that_means_itself_is_used():
    two = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "name": {"type": "string"}}}
    assert problem(two, {"left": {"right": {"name": "x"}}}) is None
    assert "arguments.left.right.name" in str(problem(two, {"left": {"right": {"name": 1}}}))


def test_what_stands_beside_a_reference_counts_as_its_draft_has_it():
    """Also in schemas that are metered, which are written anew."""
    loop = {"properties": {"x": {"$ref": "#/definitions/a", "maxProperties": 0}}}
    schema = {"$ref": "#/definitions/a", "definitions": {"a": loop}}
    assert problem(schema, {"x": {"y": 1}}) is not None
    assert problem({"$schema": DRAFT_7, **schema}, {"x": {"y": 1}}) is None
    beside = {"$ref": "#/$defs/a", "allOf": [{"required": ["n"]}], "$defs": {"a": {"properties": {"x": {"$ref": "#"}}}}}
    assert problem(beside, {"n": 1, "x": {"n": 1}}) is None
    assert problem(beside, {"n": 1, "x": {}}) is not None


def test_references_that_double_a_few_times_are_followed():
    parts = {f"a{n}": {"anyOf": [ref(f"a{n + 1}")] * 2} for n in range(8)}
    assert problem({"$defs": {**parts, "a8": {"type": "string"}}, **ref("a0")}, {}) is not None
    assert problem({"$defs": {**parts, "a8": {"type": "object"}}, **ref("a0")}, {}) is None


def test_large_values_of_plain_schemas_are_checked():
    rows = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}
    assert problem(rows, [{"id": n} for n in range(40_000)]) is None
    assert "arguments[6999].id" in str(problem(rows, [*({"id": n} for n in range(6_999)), {"id": "x"}]))
    assert "too many to say where" in str(problem(rows, [*({"id": n} for n in range(20_000)), {"id": "x"}]))
    assert problem({"type": "array", "items": {"enum": [f"n{n}" for n in range(2_000)]}}, ["n1999"] * 20_000) is None


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        r"^[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]+$",
        r"^[a-zA-Z0-9_-]{1,128}$",
        r"^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})?)?$",
        r"^https?://",
        r"^arn:(aws|aws-cn|aws-us-gov):[a-z0-9-]+:[a-z0-9-]*:\d{12}:.+$",
    ],
)
def test_patterns_of_every_day_are_matched(pattern: str):
    assert is_usable(pattern)
    assert problem({"properties": {"x": {"pattern": pattern}}}, {"x": "?"}) is not None


@pytest.mark.parametrize("pattern", [r"^(?!x)y", r"(a)\1", r"^.{1,4096}$", r"(\p{L}{99}){99}", "x" * 501, "("])
def test_patterns_that_are_not_used_are_left_to_the_server(pattern: str):
    assert len("x" * 501) > MAX_PATTERN_CHARACTERS
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}, "required": ["x"]}
    assert problem(schema, {"x": "anything"}) is None
    assert problem(schema, {"x": 1}) is not None
    for strict in ("not", "if", "oneOf", "contains"):
        part = {"pattern": pattern}
        with pytest.raises(BadSchema):
            usable_schema(to_json({strict: [part] if strict == "oneOf" else part}))
    with pytest.raises(BadSchema):
        usable_schema(to_json({"patternProperties": {pattern: True}}))


def test_formats_are_left_to_the_server():
    """One of them is to be a pattern, which would be compiled."""
    assert problem({"$schema": DRAFT_7, "items": {"format": "regex"}}, ["("]) is None


def test_at_most_the_limit_of_patterns_is_matched():
    names = [f"p{n:03}" for n in range(MAX_PATTERNS + 1)]
    schema = {"properties": {name: {"pattern": f"^{name}$"} for name in names}}
    assert problem(schema, {names[-2]: "other"}) is not None
    assert problem(schema, {names[-1]: "other"}) is None
    with pytest.raises(BadSchema):
        usable_schema(to_json({"patternProperties": {f"^{name}$": True for name in names}}))


def test_texts_that_are_long_are_not_matched():
    schema = {"properties": {"x": {"pattern": "^a+$"}}}
    assert problem(schema, {"x": "b" * (MAX_MATCHED // 2)}) is not None
    assert problem(schema, {"x": "b" * MAX_MATCHED}) is None
    assert problem(schema, {"x": "b"}) is not None
    with pytest.raises(TooMuchToCheck):
        problem({"not": {"pattern": "^a+$"}}, "b" * (MAX_MATCHED + 1))
    with pytest.raises(TooMuchToCheck):
        problem({"patternProperties": {"^a+$": True}}, {"b" * (MAX_MATCHED + 1): 1})


def test_what_is_known_of_schemas_is_kept_within_bounds():
    kept = _Kept(1_000_000)
    first = to_json({"title": "first"})
    found = kept.check(first)
    assert kept.check(first) is found
    for n in range(100):
        kept.check(to_json({"title": f"{n}", "description": "x" * 10_000}))
    assert kept.check(first) is not found
    assert len(kept._checks) < 10
    many = [{"title": str(n), "properties": {f"p{n}": {"pattern": f"^{n}$"}}} for n in range(20)]
    for schema in many:
        kept.check(to_json(schema))
    assert len(kept._checks) < 5


def test_a_schema_that_was_refused_is_refused_without_another_look():
    kept = _Kept(1_000_000)
    bad = to_json({"$ref": "#"})
    for _ in range(2):
        with pytest.raises(BadSchema, match="without a step"):
            kept.check(bad)
    assert len(kept._checks) == 1


class Label(BaseModel):
    name: str = Field(min_length=1, pattern=r"^[a-z][a-z0-9-]*$")
    color: str | None = None


class Comment(BaseModel):
    text: str
    replies: list[Comment] = []


class Issue(BaseModel):
    title: str
    state: Literal["open", "closed"] = "open"
    labels: list[Label] = []
    comments: list[Comment] = []
    fields: dict[str, str | int | None] = {}
    parent: Issue | None = None


def test_schemas_that_pydantic_writes_are_used():
    schema = Issue.model_json_schema()
    comment = {"text": "a", "replies": [{"text": "b", "replies": [{"text": "c"}]}]}
    issue = {"title": "x", "labels": [{"name": "bug"}], "comments": [comment] * 3, "fields": {"a": 1, "b": None}}
    assert problem(schema, issue | {"parent": issue | {"parent": issue}}) is None
    assert "labels[0].name" in str(problem(schema, issue | {"labels": [{"name": "Not so"}]}))
    assert problem(schema, issue | {"comments": [{"text": "a", "replies": [{"text": 1}]}]}) is not None


def test_schemas_that_zod_writes_are_used():
    node = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "link": {"type": "string", "format": "uri", "pattern": "^(?!javascript:)"},
            "children": {"type": "array", "items": {"$ref": "#/definitions/Node"}},
        },
        "required": ["id"],
        "additionalProperties": False,
    }
    schema = {"$ref": "#/definitions/Node", "definitions": {"Node": node}, "$schema": DRAFT_7}
    assert problem(schema, {"id": "a", "link": "https://a", "children": [{"id": "b", "children": []}]}) is None
    assert problem(schema, {"id": "a", "children": [{"id": "b", "other": 1}]}) is not None
    inline = {
        "type": "object",
        "properties": {"a": node, "b": {"$ref": "#/properties/a"}},
        "definitions": {"Node": node},
    }
    assert problem({"$schema": DRAFT_7, **inline}, {"b": {"id": "x"}}) is None
    assert problem({"$schema": DRAFT_7, **inline}, {"b": {"id": 1}}) is not None


def test_schemas_that_typebox_writes_are_used():
    inner = {"type": "array", "items": {"$ref": "T0"}}
    schema = {"type": "object", "properties": {"tree": {"$id": "T0", "type": "object", "properties": {"nodes": inner}}}}
    assert problem(schema, {"tree": {"nodes": [{"nodes": []}]}}) is None
    assert problem(schema, {"tree": {"nodes": [{"nodes": 1}]}}) is not None


def test_schemas_as_those_of_github_are_used():
    def described(**more: Any) -> dict[str, Any]:
        return {"description": "What it is for, in so many words", **more}

    schema = {
        "type": "object",
        "properties": {
            "owner": described(type="string"),
            "repo": described(type="string"),
            "method": described(type="string", enum=["create", "update"]),
            "page": described(type="number", minimum=1),
            "labels": described(type="array", items={"type": "string"}),
            "files": described(
                type="array",
                items={
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["path", "content"],
                    "properties": {"path": described(type="string"), "content": described(type="string")},
                },
            ),
        },
        "required": ["method", "owner", "repo"],
    }
    given = {"owner": "a", "repo": "b", "method": "create", "page": 2, "labels": ["x"]}
    files = [{"path": f"{n}", "content": "line\n" * 20_000} for n in range(50)]
    assert problem(schema, given | {"files": files}) is None
    assert "arguments.files[1]" in str(problem(schema, given | {"files": [files[0], {"path": "x"}]}))


NAMES = st.sampled_from(["a", "b"])
LEAVES = st.sampled_from([{"type": "string"}, {"type": "object"}, {"minProperties": 1}, True, False, {"const": 1}])
WITHIN = st.builds(
    lambda key, name: {key: {"x": ref(name)} if key == "properties" else ref(name)},
    st.sampled_from(["properties", "items", "additionalProperties", "unevaluatedProperties", "contains"]),
    NAMES,
)
SCHEMAS = st.recursive(
    LEAVES | WITHIN,
    lambda inner: st.one_of(
        st.builds(
            lambda key, parts: {key: parts},
            st.sampled_from(["anyOf", "allOf", "oneOf"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        st.builds(lambda part: {"not": part}, inner),
        st.builds(lambda first, second: {"if": first, "then": second}, inner, inner),
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.sampled_from([1, "text", None]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["x", "y"]), inner, max_size=2),
    max_leaves=8,
)


@given(SCHEMAS, SCHEMAS, VALUES, st.booleans())
def test_a_metered_schema_means_what_it_meant(a: Any, b: Any, value: Any, is_draft_7: bool):
    schema = {**ref("a"), "$defs": {"a": a, "b": b}, **({"$schema": DRAFT_7} if is_draft_7 else {})}
    assert (problem(schema, value) is None) == jsonschema_rs.validator_for(schema).is_valid(value)


def test_a_wrong_value_for_bytes_is_told_to_be_a_uint8array():
    data = {"type": "string", "format": "byte", "contentEncoding": "base64"}
    schema = {"$defs": {"D": {"properties": {"data": data}}}, "properties": {"rows": {"items": ref("D")}}}
    assert problem(schema, {"rows": [{"data": "AQI="}]}) is None
    assert problem(schema, {"rows": [{"data": [1, 2, 3]}]}) == "arguments.rows[0].data takes a Uint8Array"
