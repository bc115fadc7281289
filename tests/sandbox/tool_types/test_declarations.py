"""The declarations that the model reads: their exact text, that TypeScript accepts them, and that nothing in a
schema can break out of them."""

from __future__ import annotations

import subprocess
import time
from textwrap import dedent

import pytest
from hypothesis import given, settings, strategies as st

from sandbox.ports.ports import ToolDeclaration
from sandbox.ports.settings import SandboxSettings
from sandbox.process.command import find_deno
from sandbox.tool_types.declarations import MAX_DEPTH, MAX_SCHEMA_CHARACTERS, declare, typescript_of
from sandbox.tool_types.tool_names import Lent, place


def declared(*declarations: ToolDeclaration) -> str:
    lent, _ = place(declarations)
    return declare(lent)


def result_type(schema) -> str:
    """The text between `Promise<` and `>` for a tool with this output schema, and the aliases before it."""
    text = declared(ToolDeclaration("t", output_schema=schema))
    return text.replace("declare const tools: {\n  t(args?: Record<string, unknown>): Promise<", "").removesuffix(
        ">;\n};\n"
    )


def argument_type(schema) -> str:
    text = declared(ToolDeclaration("t", input_schema=schema))
    return text.partition("t(")[2].rpartition("): Promise<unknown>")[0]


LIST_COMMITS = ToolDeclaration(
    "github.listCommits",
    "List commits.",
    {
        "type": "object",
        "properties": {
            "owner": {"type": "string", "description": "Owner of the repository"},
            "since": {"type": "string"},
        },
        "required": ["owner"],
    },
    {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"sha": {"type": "string"}, "author": {"type": "string"}},
            "required": ["sha", "author"],
        },
    },
)


def test_a_tool_is_declared_where_the_code_finds_it():
    assert declared(LIST_COMMITS) == dedent("""\
        declare const tools: {
          readonly github: {
            /** List commits. */
            listCommits(args: {
              /** Owner of the repository */
              owner: string;
              since?: string;
            }): Promise<{ sha: string; author: string }[]>;
          };
        };
        """)


def test_groups_stay_together_in_the_order_of_their_first_tool():
    tools = [ToolDeclaration(name) for name in ("b.one", "a.one", "b.two", "plain")]
    assert declared(*tools) == dedent("""\
        declare const tools: {
          readonly b: {
            one(args?: Record<string, unknown>): Promise<unknown>;
            two(args?: Record<string, unknown>): Promise<unknown>;
          };
          readonly a: {
            one(args?: Record<string, unknown>): Promise<unknown>;
          };
          plain(args?: Record<string, unknown>): Promise<unknown>;
        };
        """)


def test_no_tools_are_an_empty_object():
    assert declare([]) == "declare const tools: {};\n"


def test_a_tool_in_the_way_of_a_group_is_an_error_of_the_caller():
    with pytest.raises(ValueError, match="another tool is in its way"):
        declare([Lent(("a",), ToolDeclaration("a")), Lent(("a", "b"), ToolDeclaration("a.b"))])


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (None, "unknown"),
        ({}, "unknown"),
        (True, "unknown"),
        (False, "never"),
        ("nonsense", "unknown"),
        ({"type": "nonsense"}, "unknown"),
        ({"type": 7}, "unknown"),
        ({"type": []}, "unknown"),
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "null"}, "null"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"type": ["integer", "number"]}, "number"),
        ({"type": "string", "nullable": True}, "string | null"),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"type": "object", "properties": {}}, "Record<string, unknown>"),
        ({"type": "object", "additionalProperties": False}, "{ [key: string]: never }"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "{ [key: string]: number }"),
        ({"patternProperties": {"^a": {"type": "number"}}}, "{ [key: string]: number }"),
        ({"properties": {"a": {"type": "string"}}}, "{ a?: string }"),
        ({"properties": {"a": True}, "additionalProperties": False}, "{ a?: unknown }"),
        (
            {"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "number"}},
            "{ a?: string; [key: string]: unknown }",
        ),
        ({"type": "object", "required": ["a"]}, "{ a: unknown }"),
        ({"type": "array"}, "unknown[]"),
        ({"items": {"type": ["string", "null"]}}, "(string | null)[]"),
        ({"items": {"items": {"type": "number"}}}, "number[][]"),
        ({"prefixItems": [{"type": "string"}, {"type": "number"}], "items": False}, "[string, number]"),
        ({"prefixItems": [{"type": "string"}], "maxItems": 1}, "[string]"),
        ({"prefixItems": [{"type": "string"}]}, "[string, ...unknown[]]"),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}, "[string, ...number[]]"),
        ({"items": [{"type": "string"}], "additionalItems": False}, "[string]"),
        ({"enum": ["a", "b", 1, -1.5, True, None]}, '"a" | "b" | 1 | -1.5 | true | null'),
        ({"enum": []}, "never"),
        ({"enum": "a"}, "unknown"),
        ({"enum": ["a"], "nullable": True}, '"a" | null'),
        ({"const": {"a": [1, "x"]}}, '{ a: [1, "x"] }'),
        ({"const": 10**400}, "number"),
        ({"const": float("nan")}, "number"),
        ({"anyOf": [{"type": "string"}, {"type": "number"}]}, "string | number"),
        ({"oneOf": [{"type": "string"}, {"enum": [1, 2]}]}, "string | 1 | 2"),
        ({"anyOf": [{"type": "string"}, {}]}, "unknown"),
        ({"anyOf": []}, "unknown"),
        (
            {"allOf": [{"properties": {"a": True}}, {"properties": {"b": True}}]},
            "{ a?: unknown } & { b?: unknown }",
        ),
        (
            {"type": "object", "allOf": [{"properties": {"a": True}}, {"type": ["string", "null"]}]},
            "{ a?: unknown } & (string | null)",
        ),
        ({"properties": {"a": True}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "{ a?: unknown }"),
        ({"type": ("string", "null")}, "string | null"),
    ],
)
def test_a_schema_becomes_a_type(schema, expected):
    assert result_type(schema) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "args?: Record<string, unknown>"),
        ({"type": "object"}, "args?: Record<string, unknown>"),
        ({"type": "object", "properties": {}}, "args?: Record<string, unknown>"),
        ({"properties": {"a": {"type": "string"}}}, "args?: { a?: string }"),
        ({"properties": {"a": {"type": "string"}}, "required": ["a"]}, "args: { a: string }"),
        ({"allOf": [{"properties": {"a": True}, "required": ["a"]}]}, "args: { a: unknown }"),
        ({"anyOf": [{"properties": {"a": True}}]}, "args: { a?: unknown }"),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": True}, "required": ["a"]}}},
            "args: t_args_A",
        ),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": True}}}}, "args?: t_args_A"),
    ],
)
def test_arguments_are_optional_when_nothing_is_required(schema, expected):
    assert argument_type(schema) == expected


NODE = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {
            "description": "A node of the tree",
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            },
            "required": ["value"],
        }
    },
}


def test_a_recursive_schema_becomes_a_named_type():
    assert declared(ToolDeclaration("grow", input_schema=NODE, output_schema=NODE)) == dedent("""\
        /** A node of the tree */
        type grow_args_Node = { value: number; children?: grow_args_Node[] };

        /** A node of the tree */
        type grow_result_Node = { value: number; children?: grow_result_Node[] };

        declare const tools: {
          grow(args: grow_args_Node): Promise<grow_result_Node>;
        };
        """)


def test_a_schema_may_refer_to_itself_as_a_whole():
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    assert result_type(schema) == "type t_result = { next?: t_result };\n\n{ next?: t_result }"


def test_named_types_of_different_tools_have_different_names():
    text = declared(ToolDeclaration("a.x", output_schema=NODE), ToolDeclaration("b.x", output_schema=NODE))
    assert "type x_result_Node = " in text
    assert "type x_result_Node_2 = " in text
    assert "children?: x_result_Node_2[]" in text


CIRCLES = [
    {"A": {"$ref": "#/$defs/A"}},
    {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}},
    {"A": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/A"}]}},
    {"A": {"allOf": [{"$ref": "#/$defs/B"}]}, "B": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/A"}]}},
    {"A": {"additionalProperties": {"$ref": "#/$defs/A"}}},
    {"A": {"items": {"$ref": "#/$defs/A"}}},
    {"A": {"prefixItems": [{"$ref": "#/$defs/A"}], "items": {"$ref": "#/$defs/A"}}},
    {"A": {"$ref": "#"}},
]


def test_a_definition_that_is_only_itself_is_unknown():
    schema = {"$ref": "#/$defs/A", "$defs": CIRCLES[1]}
    assert result_type(schema) == "type t_result_A = t_result_B;\n\ntype t_result_B = unknown;\n\nt_result_A"


@pytest.mark.deno
def test_definitions_in_a_circle_are_types_that_typescript_accepts(tmp_path):
    schemas_ = [{"$ref": "#/$defs/A", "$defs": definitions} for definitions in CIRCLES]
    tools = [ToolDeclaration(f"t{n}", "", schema, schema) for n, schema in enumerate(schemas_)]
    assert check(tmp_path, declared(*tools)) == ""


@pytest.mark.parametrize(
    "reference", ["https://example.com/x", "#/nowhere", "#anchor", "other.json#/a", "", 7, None, "#/$defs/~2/%ZZ"]
)
def test_a_reference_that_leads_nowhere_is_unknown(reference):
    assert result_type({"$ref": reference, "$defs": {"A": True}}) == "unknown"


def test_a_reference_may_be_escaped():
    schema = {"$ref": "#/definitions/a~1b%20c", "definitions": {"a/b c": {"type": "string"}}}
    assert result_type(schema) == "type t_result_a_1b_20c = string;\n\nt_result_a_1b_20c"


@pytest.mark.parametrize(
    ("description", "comment"),
    [
        ("Ends */ here", "/** Ends * / here */"),
        ("**//", "/** ** // */"),
        ("*\u200b/ x", "/** * / x */"),
        ("one\ntwo\r\n\tthree\u2028four", "/** one two three four */"),
        ("\x00\x1b[31mred\u202e", "/** [31mred */"),
        ("/** */ evil(); /*", "/** /** * / evil(); /* */"),
        ("x" * 5_000, f"/** {'x' * 1_000}… */"),
    ],
)
def test_a_description_cannot_leave_its_comment(description, comment):
    text = declared(ToolDeclaration("t", description))
    assert text.splitlines()[1] == f"  {comment}"


@pytest.mark.parametrize("description", ["", " \n ", None, 7, ["x"]])
def test_a_description_that_says_nothing_gives_no_comment(description):
    schema = {"properties": {"a": {"type": "string", "description": description}}}
    assert "/*" not in declared(ToolDeclaration("t", input_schema=schema))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("plain_$1", "plain_$1"),
        ("delete", "delete"),
        ("new", '"new"'),
        ("1st", '"1st"'),
        ("with-dash", '"with-dash"'),
        ("größe", '"größe"'),
        ("", '""'),
        ('"; evil(); "', r'"\"; evil(); \""'),
        ("a\nb\u2028\u202e", r'"a\nb\u2028\u202e"'),
        ("\ud800", r'"\ud800"'),
        ("\\", r'"\\"'),
    ],
)
def test_a_property_name_is_an_identifier_or_quoted(name, key):
    assert result_type({"properties": {name: True}}) == f"{{ {key}?: unknown }}"
    assert result_type({"const": {name: 1}}) == f"{{ {key}: 1 }}"


def test_the_name_of_a_definition_cannot_break_out_of_the_text():
    schema = {"$ref": "#/$defs/A; evil()", "$defs": {"A; evil()": {"type": "string"}}}
    assert result_type(schema) == "type t_result_A_evil_ = string;\n\nt_result_A_evil_"


def test_a_path_that_is_no_identifier_is_quoted():
    text = declare([Lent(("a b", "new"), ToolDeclaration("x"))])
    assert 'readonly "a b": {\n    "new"(args?: ' in text


def test_what_is_too_deep_is_unknown():
    schema: dict = {"type": "string"}
    for _ in range(MAX_DEPTH * 3):
        schema = {"items": schema}
    assert result_type(schema) == "unknown" + "[]" * (MAX_DEPTH + 1)
    circle: dict = {}
    circle["items"] = circle["const"] = circle
    circle["allOf"] = [circle, circle]
    assert "unknown" in result_type(circle)


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [f"value {number}" for number in range(100_000)]},
        {"properties": {f"p{number}": {"type": "string"} for number in range(100_000)}},
        {"properties": {"x" * 1_000_000: True}},
        {"anyOf": [{"items": {"const": number}} for number in range(100_000)]},
        {
            "$ref": "#/$defs/n0",
            "$defs": {f"n{i}": {"items": {"$ref": f"#/$defs/n{i + 1}"}} for i in range(10_000)},
        },
    ],
)
def test_what_is_too_long_is_unknown_and_takes_little_time(schema):
    start = time.process_time()
    text = declared(ToolDeclaration("t", "Long.", schema, schema), LIST_COMMITS)
    assert time.process_time() - start < 2
    assert "  t(args?: Record<string, unknown>): Promise<unknown>;" in text
    assert "type t_" not in text
    assert "owner: string;" in text


def test_a_schema_shared_many_times_does_not_explode():
    schema: dict = {"type": "string"}
    for _ in range(30):
        schema = {"properties": {"a": schema, "b": schema}}
    assert result_type(schema) == "unknown"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
REFERENCES = st.sampled_from(["#", "#/$defs/a", "#/definitions/b", "#/$defs/c", "#/properties/a", "x", "#/$defs/*~1/"])
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null", "other"])


def schemas(inner):
    named = st.dictionaries(
        st.sampled_from(["a", "b", "c", "*/", "new", "\n"]) | st.text(max_size=5), inner, max_size=3
    )
    words = {
        "type": TYPES | st.lists(TYPES, max_size=3) | JSON,
        "properties": named | JSON,
        "required": st.lists(st.sampled_from(["a", "b", "z"]) | JSON, max_size=3) | JSON,
        "additionalProperties": inner,
        "patternProperties": named,
        "items": inner | st.lists(inner, max_size=3),
        "prefixItems": st.lists(inner, max_size=3) | JSON,
        "maxItems": st.integers(0, 3) | JSON,
        "enum": st.lists(JSON, max_size=3) | JSON,
        "const": JSON,
        "anyOf": st.lists(inner, max_size=3) | JSON,
        "oneOf": st.lists(inner, max_size=3),
        "allOf": st.lists(inner, max_size=3),
        "nullable": st.booleans() | JSON,
        "description": st.text(max_size=20) | st.just("*/ x") | JSON,
        "$ref": REFERENCES | JSON,
        "$defs": named | JSON,
        "definitions": named,
    }
    return st.fixed_dictionaries({}, optional=words)


SCHEMAS = st.recursive(st.booleans() | JSON | schemas(st.booleans()), schemas, max_leaves=6)


@settings(deadline=None)
@given(SCHEMAS, SCHEMAS)
def test_any_schema_gives_bounded_text(input_schema, output_schema):
    tool = Lent(("group", "tool"), ToolDeclaration("group.tool", "*/", input_schema, output_schema))
    text = declare([tool])
    assert text == declare([tool])
    assert len(text) < 20 * MAX_SCHEMA_CHARACTERS
    assert all(character.isprintable() or character == "\n" for character in text)


EVERYTHING = {
    "type": "object",
    "description": "All of it */ at once",
    "properties": {
        "kind": {"enum": ["a", "b", 1, None]},
        "pair": {"prefixItems": [{"type": "string"}, {"type": "number"}], "items": False},
        "many": {"prefixItems": [{"type": "string"}], "items": {"type": ["number", "null"]}},
        "either": {"anyOf": [{"type": "string"}, {"items": {"type": "number"}}]},
        "both": {
            "allOf": [
                {"properties": {"x": {"type": "number"}}, "required": ["x"]},
                {"properties": {"y": {"type": "number"}}, "required": ["y"]},
            ]
        },
        "map": {"additionalProperties": {"type": "number"}},
        "open": {"properties": {"id": {"type": "string"}}, "additionalProperties": {"type": "number"}},
        "tree": {"$ref": "#/$defs/Node"},
        "with-dash": {"const": {"a": ["\u2028", -1]}},
        "new": {"type": "string", "description": "*/ oops"},
        "__proto__": {"type": "string"},
        "readonly": {"type": "string"},
        "get": False,
    },
    "required": ["kind"],
    "$defs": NODE["$defs"],
}

PROGRAM = """
const commits = await tools.github.listCommits({ owner: "deno" });
const sha: string = commits[0].sha;
const all = await tools.everything({ kind: "a", both: { x: 1, y: 2 }, tree: { value: 1, children: [] } });
const pair: [string, number] | undefined = all.pair;
const deep: number | undefined = all.tree?.children?.[0].children?.[0].value;
const values: number[] = Object.values(all.map ?? {});
const nothing: unknown = await tools.new();
try { await tools.s.t() } catch (error) { if (error instanceof MCPToolError) console.log(error.server, error.tool) }
console.log(sha, pair, deep, values, nothing);
"""


def test_the_error_class_of_mcp_servers_is_declared_where_one_has_a_tool():
    assert "MCPToolError" not in declared(ToolDeclaration("s.t"))
    text = declared(
        ToolDeclaration("s.get_it", server="s", tool="get_it"), ToolDeclaration("s.t", server="s", tool="t")
    )
    assert text.count("declare class MCPToolError extends Error { server: string; tool: string;") == 1
    assert "get_it(args" in text  # as search names it; camelCase works and is not repeated


@pytest.mark.deno
def test_typescript_accepts_the_declarations_and_their_right_use(tmp_path):
    assert check(tmp_path, declarations_of_everything() + PROGRAM) == ""


WRONG_USES = {
    "tools.github.listCommits()": "Expected 1 arguments",
    "tools.github.listCommits({ owner: 1 })": "Type 'number' is not assignable to type 'string'",
    "tools.github.listCommits({ owner: 'a', other: 1 })": "'other' does not exist",
    "tools.github.none()": "Property 'none' does not exist",
    "tools.everything({ kind: 'c' })": "Type '\"c\"' is not assignable",
    "(await tools.github.listCommits({ owner: 'a' }))[0].missing": "Property 'missing' does not exist",
}


@pytest.mark.deno
def test_typescript_refuses_every_wrong_use(tmp_path):
    problems = check(tmp_path, declarations_of_everything() + "".join(f"{use};\n" for use in WRONG_USES))
    for problem in WRONG_USES.values():
        assert problem in problems
    assert f"Found {len(WRONG_USES)} errors" in problems


def declarations_of_everything() -> str:
    everything = ToolDeclaration("everything", "*/ evil();", EVERYTHING, EVERYTHING)
    return declared(LIST_COMMITS, everything, ToolDeclaration("new"), ToolDeclaration("s.t", server="s", tool="t"))


def check(folder, program: str) -> str:
    """What `deno check` has to say against a program; nothing when it is right."""
    file = folder / "program.ts"
    file.write_text(f"{program}\nexport {{}};\n", encoding="utf-8")
    done = subprocess.run(
        [find_deno(SandboxSettings()), "check", "--no-config", "--quiet", file],
        env={"DENO_DIR": str(folder / "cache"), "NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stderr if done.returncode else ""


def test_declarations_are_enough_to_make_the_text():
    text = typescript_of([ToolDeclaration("shop.stock", "What is left.")])
    assert "shop: {" in text
    assert "stock(args?: " in text
