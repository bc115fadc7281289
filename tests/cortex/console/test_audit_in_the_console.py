"""The audit in the console: a search reaches as far back as the index does, and goes on without one."""

from __future__ import annotations

import re

import pytest

from cortex.audit import Audit
from cortex.console import pages
from cortex.settings.sections import AuditSettings

from .served import served


@pytest.fixture
def owner(tmp_path):
    home = tmp_path / "home"
    audit = Audit(home / "audit", AuditSettings())
    audit.record("refusal", reason="the needle in the hay")
    for number in range(60):
        audit.record("refusal", reason=f"hay {number}")
    audit.record(
        "execution", purpose="a sum", turn="t", call=1, cost=0.050000000000000044, cached=True, execution_ms=0.0
    )
    audit.close()
    with served(home) as found:
        yield found.log_in()


def numbers(text: str) -> list[int]:
    return [int(seq) for seq in re.findall(r'<tr data-seq="(\d+)">', text)]


def test_a_search_finds_what_lies_behind_all_that_is_read(owner, monkeypatch):
    monkeypatch.setattr(pages, "MAX_LOOKED_AT", 20)
    assert numbers(owner.get("/audit?q=NEEDLE").text) == [1]
    assert numbers(owner.get("/audit?q=needle&kind=execution").text) == []
    # All pieces of it are in the record, and yet the text is not: the index alone would not know.
    assert numbers(owner.get("/audit?q=needle+hay").text) == []
    monkeypatch.setattr(pages, "CATCH_UP_S", 0.0)
    monkeypatch.setattr(owner.served.console.desk.index, "catch_up", lambda _: False)
    without = owner.get("/audit?q=needle").text
    assert numbers(without) == []
    assert "Older" in without


def test_a_search_works_where_no_index_can_be_made(owner):
    index = owner.served.console.desk.index
    index.close()
    assert numbers(owner.get("/audit?q=needle").text) == [1]


def test_pages_of_a_search_go_on(owner):
    first = owner.get("/audit?q=hay").text
    assert numbers(first) == list(range(61, 11, -1))
    more = re.search(r'href="(/audit\?[^"]+before=\d+)"', first)
    assert numbers(owner.get(more[1].replace("&amp;", "&")).text) == list(range(11, 0, -1))


def test_no_dust_of_floating_point_and_no_time_of_a_cached_run(owner):
    page = owner.get("/").text
    assert "from the cache" in page
    assert "0.0 ms" not in page
    assert "0000044" not in page
