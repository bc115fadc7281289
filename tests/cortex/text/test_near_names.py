from __future__ import annotations

import pytest

from cortex.text.text import NearNames

NAMES = ["list_commits", "get_commit", "list_authors", "create-issue", "x", ""]


@pytest.mark.parametrize(
    ("asked", "first"),
    [("listCommits", "list_commits"), ("list_comits", "list_commits"), ("createIssue", "create-issue"), ("X", "x")],
)
def test_a_misspelt_name_suggests_the_name_that_was_meant(asked, first):
    assert NearNames(NAMES)(asked, 3)[0] == first


def test_names_with_nothing_in_common_are_not_suggested():
    near = NearNames(NAMES)
    assert near("zzz", 3) == []
    assert len(near) == len(NAMES)
    assert near.some(2) == NAMES[:2]


def test_only_the_beginning_of_a_very_long_name_is_compared():
    near = NearNames(["a" * 1_000_000 + "b", "c" * 50])
    assert near("c" * 1_000_000, 1) == ["c" * 50]
