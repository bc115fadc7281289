from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from sandbox import ToolDeclaration, place_of_tools
from sandbox.tool_types.tool_names import place


def paths(*names: str) -> dict[str, str]:
    lent, _ = place(ToolDeclaration(name) for name in names)
    return {tool.name: tool.expression for tool in lent}


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        ("add", "tools.add"),
        ("github.listCommits", "tools.github.listCommits"),
        ("github/list-commits", "tools.github.list_commits"),
        ("a.b.c", "tools.a.b_c"),
        ("git-hub.x y", "tools.git_hub.x_y"),
        ("2fa.check", "tools._2fa.check"),
        ("delete", "tools.delete"),
        ("class.new", "tools.class.new"),
        ("__proto__", "tools.__proto___"),
        ("constructor", "tools.constructor_"),
        ("a.then", "tools.a.then_"),
        ("日本", "tools.__"),
        (".x.", "tools.x"),
    ],
)
def test_every_name_has_a_place_that_code_can_write(name, expression):
    assert paths(name) == {name: expression}


def test_names_that_would_share_a_place_get_numbers_in_their_order():
    assert paths("a-b", "a b", "a.b") == {"a-b": "tools.a_b", "a b": "tools.a_b_2", "a.b": "tools.a.b"}


def test_a_name_that_code_can_write_is_the_place_of_whoever_is_called_so():
    assert paths("a.x-y", "a.x_y", "b-c", "b_c") == {
        "a.x_y": "tools.a.x_y",
        "a.x-y": "tools.a.x_y_2",
        "b_c": "tools.b_c",
        "b-c": "tools.b_c_2",
    }


def test_a_tool_named_as_a_group_makes_room_for_it():
    assert paths("github", "github.list") == {"github.list": "tools.github.list", "github": "tools.github_2"}


@pytest.mark.parametrize("name", ["", "x" * 129, "a\nb", "a\u202eb", "core.execute", "core/x", "core"])
def test_what_cannot_be_lent_is_said_and_spoils_nothing_else(name):
    lent, unlent = place([ToolDeclaration(name), ToolDeclaration("fine")])
    assert [tool.name for tool in lent] == ["fine"]
    assert [tool.name for tool in unlent] == [name]
    assert unlent[0].reason


def test_the_second_of_two_tools_with_one_name_is_not_lent():
    _, unlent = place([ToolDeclaration("x"), ToolDeclaration("x")])
    assert [tool.reason for tool in unlent] == ["another tool has the same name"]


@given(st.lists(st.text(max_size=20), max_size=12))
def test_places_are_identifiers_and_never_shared(names):
    lent, unlent = place(ToolDeclaration(name) for name in names)
    assert len(lent) + len(unlent) == len(names)
    found = [tool.path for tool in lent]
    assert len(set(found)) == len(found)
    groups = {path[0] for path in found if len(path) == 2}
    for path in found:
        assert len(path) in (1, 2)
        assert len(path) == 2 or path[0] not in groups
        for part in path:
            assert re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*", part)
            assert part not in {"__proto__", "constructor", "then", "prototype"}


def spellings(*tools: ToolDeclaration) -> dict[str, set[str]]:
    """By name, the spellings beside the first, with a slash between the parts."""
    return {name: {"/".join(path) for path in paths[1:]} for name, paths in place_of_tools(tools).items()}


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (ToolDeclaration("github.list_commits"), {"github/listCommits"}),
        (ToolDeclaration("github.listCommits"), set()),
        (ToolDeclaration("github.ListCommits"), {"github/listCommits"}),
        (ToolDeclaration("LIST_COMMITS"), {"listCommits"}),
        (ToolDeclaration("HTTPServer.x"), {"httpServer/x"}),
        (
            ToolDeclaration("git_hub.list_commits", server="git-hub", tool="list.commits"),
            {
                *("git_hub/listCommits", "gitHub/listCommits", "gitHub/list_commits", "git-hub/list.commits"),
                *("git-hub/list_commits", "git-hub/listCommits", "git_hub/list.commits", "gitHub/list.commits"),
            },
        ),
        (ToolDeclaration("a.get_2", server="a", tool="get"), {"a/get", "a/get2"}),
        (ToolDeclaration("a/b-c"), {"a/b-c", "a/bC"}),
        (ToolDeclaration("add-it"), {"add-it", "addIt"}),
        (ToolDeclaration("日本"), {"日本"}),
        (ToolDeclaration("a.b", server="a", tool="x" * 200), set()),
        (ToolDeclaration("a.b", server="a", tool="x\ny"), set()),
    ],
)
def test_a_tool_is_also_found_by_its_own_name_and_in_camel_case(tool, expected):
    assert spellings(tool) == {tool.name: expected}


@pytest.mark.parametrize("part", ["__proto__", "constructor", "then", "toString", "valueOf", "toJSON", "prototype"])
def test_no_spelling_has_a_meaning_of_its_own(part):
    for tool in (ToolDeclaration(f"a.{part}"), ToolDeclaration("a.b", server=part, tool=part), ToolDeclaration(part)):
        [paths] = place_of_tools([tool]).values()
        assert not any(part in path for path in paths)


def test_no_spelling_is_that_of_a_core_tool():
    assert spellings(ToolDeclaration("Core.x_y"), ToolDeclaration("a.b", server="core", tool="execute")) == {
        "Core.x_y": {"Core/xY"},
        "a.b": set(),
    }


def test_a_spelling_takes_no_place_from_a_tool():
    assert spellings(ToolDeclaration("a.get_user"), ToolDeclaration("a.getUser")) == {
        "a.get_user": set(),
        "a.getUser": set(),
    }
    assert spellings(ToolDeclaration("list-all"), ToolDeclaration("listAll.x")) == {
        "listAll.x": set(),
        "list-all": {"list-all"},
    }
    assert spellings(ToolDeclaration("aB"), ToolDeclaration("a-b.c")) == {"a-b.c": {"a-b/c"}, "aB": set()}


def test_a_spelling_that_fits_two_tools_leads_to_neither():
    assert spellings(ToolDeclaration("a.get_user"), ToolDeclaration("a.get-USER")) == {
        "a.get_user": set(),
        "a.get-USER": {"a/get-USER"},
    }
    assert spellings(ToolDeclaration("x.b_c"), ToolDeclaration("b_c")) == {"x.b_c": {"x/bC"}, "b_c": {"bC"}}
    assert spellings(ToolDeclaration("a_b"), ToolDeclaration("a-b.c")) == {
        "a-b.c": {"a-b/c", "aB/c"},
        "a_b": set(),
    }


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9), st.text(max_size=9)), max_size=8))
def test_whatever_the_names_no_two_tools_share_a_spelling(names):
    lent, _ = place(ToolDeclaration(name, server=server, tool=tool) for name, server, tool in names)
    found = [path for tool in lent for path in (tool.path, *tool.aliases)]
    assert len(set(found)) == len(found)
    groups = {path[0] for path in found if len(path) == 2}
    assert not groups & {path[0] for path in found if len(path) == 1}


def test_a_place_that_was_settled_among_more_tools_stays_the_same_among_fewer():
    both = [ToolDeclaration(f"evil.{name}", server="evil", tool=name) for name in ("delete-user", "delete_user")]
    settled = [replace(tool, places=place_of_tools(both)[tool.name]) for tool in both]
    together = place_of_tools(settled)
    assert together == place_of_tools(both)
    for tool in settled:
        assert place_of_tools([tool]) == {tool.name: together[tool.name]}
    assert not set(together["evil.delete-user"]) & set(together["evil.delete_user"])
