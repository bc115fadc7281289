from __future__ import annotations

from hypothesis import given, strategies as st

from cortex.discovery import text_of_tool
from cortex.discovery.tool_text import MAX_DESCRIPTION_CHARACTERS, MAX_PARAMETER_CHARACTERS
from sandbox import ToolDeclaration


def parameters_of(schema: object) -> str:
    return text_of_tool(ToolDeclaration("a.b", "", schema)).parameters  # type: ignore[arg-type]


def test_the_text_of_a_tool_has_its_name_description_and_words_of_parameters():
    schema = {
        "type": "object",
        "properties": {
            "repo": {"type": "string", "description": "Name of the repository"},
            "state": {"enum": ["open", "closed", 3]},
            "filter": {"type": "object", "properties": {"author": {"description": "Login"}}},
            "labels": {"type": "array", "items": {"type": "string", "description": "A label"}},
        },
    }
    entry = text_of_tool(ToolDeclaration("github.list_issues", "List issues", schema))
    assert entry.name == "github.list_issues"
    assert entry.description == "List issues"
    assert entry.parameters == "repo state filter labels Name of the repository open closed author Login A label"


def test_shared_definitions_and_choices_of_schemas_are_read():
    schema = {
        "properties": {"to": {"anyOf": [{"$ref": "#/$defs/Person"}, {"properties": {"team": {}}}]}},
        "$defs": {"Person": {"properties": {"surname": {}}}},
    }
    assert set(parameters_of(schema).split()) == {"to", "surname", "team"}


def test_a_name_that_was_cut_to_fit_is_still_searched_in_full():
    declaration = ToolDeclaration("crm.very_long_1f2e", "Does it", server="crm", tool="very_long_name_of_opportunities")
    assert "opportunities" in text_of_tool(declaration).description
    assert text_of_tool(ToolDeclaration("crm.get", "Does it", server="crm", tool="get")).description == "Does it"


def test_a_schema_without_end_costs_no_more_than_a_large_one():
    wide = {"properties": {f"parameter{n}": {"description": "x" * 1000} for n in range(100_000)}}
    deep: dict[str, object] = {}
    for _ in range(10_000):
        deep = {"properties": {"inner": deep}}
    circle: dict[str, object] = {}
    circle["properties"] = {"again": circle}
    for schema in (wide, deep, circle):
        assert 0 < len(parameters_of(schema)) <= MAX_PARAMETER_CHARACTERS
    entry = text_of_tool(ToolDeclaration("a.b", "y" * 10**6))
    assert len(entry.description) == MAX_DESCRIPTION_CHARACTERS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["properties", "items", "anyOf", "$defs", "enum", "description", "x"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_schema_gives_a_text(schema):
    assert isinstance(parameters_of(schema), str)
