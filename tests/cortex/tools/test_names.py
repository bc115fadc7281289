"""Names of tools, with dots and on the wire."""

from __future__ import annotations

import pytest

from cortex.tools import Toolbox, WireNames, is_core, wire_name


def nothing() -> None: ...


def test_a_dot_is_an_underscore_on_the_wire_and_the_table_leads_back():
    names = WireNames(["core.execute", "shop.stock.count", "git-hub"])
    assert wire_name("core.execute") == "core_execute"
    assert [wire_name(name) for name in names] == ["core_execute", "shop_stock_count", "git-hub"]
    assert [names.name_of(wire_name(name)) for name in names] == list(names)
    assert [names.name_of(name) for name in names] == list(names)


@pytest.mark.parametrize(
    "name", ["__class__", "", "shop.stock_count", "shop_stock.count", "SHOP.STOCK.COUNT", None, 7, ["a"]]
)
def test_no_other_name_leads_anywhere(name):
    assert WireNames(["shop.stock.count"]).name_of(name) is None


def test_two_tools_that_are_one_on_the_wire_are_refused_and_both_are_named():
    toolbox = Toolbox()
    toolbox.add(nothing, name="a.b")
    with pytest.raises(ValueError, match=r'"a_b".*"a\.b".*same on the wire: "a_b"'):
        toolbox.add(nothing, name="a_b")
    with pytest.raises(ValueError, match=r'"a\.b": there is "a\.b" already'):
        toolbox.add(nothing, name="a.b")
    assert toolbox.names() == ["a.b"]


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "a..b", ".a", "a.", "ä", "a/b", "a\n", "<lambda>", "a:b"])
def test_names_that_an_api_would_refuse_are_refused_at_registration(name):
    with pytest.raises(ValueError, match=r"Cannot name a tool .*; give"):
        Toolbox().add(nothing, name=name)


def test_the_longest_name_is_taken():
    assert Toolbox().add(nothing, name="x" * 64).wire_name == "x" * 64


@pytest.mark.parametrize(
    "name", ["core", "core.execute", "core.other", "core_execute", "Core.execute", "CORE_x", "core-x"]
)
def test_names_of_the_core_are_not_for_users(name):
    assert is_core(name)
    with pytest.raises(ValueError, match=f'"{name}": names that begin with core'):
        Toolbox().add(nothing, name=name)


def test_a_name_that_only_looks_a_little_like_the_core_is_free():
    assert Toolbox().add(nothing, name="coreutils.ls").name == "coreutils.ls"
    assert not is_core("score.core")
