from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import ToolDeclaration
from sandbox.tool_names import place


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
    assert paths("a-b", "a_b", "a b") == {"a-b": "tools.a_b", "a_b": "tools.a_b_2", "a b": "tools.a_b_3"}


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
