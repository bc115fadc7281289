"""The difference between two texts: right for all texts, and quick for those that are made to be slow."""

from __future__ import annotations

import time

from hypothesis import given, strategies as st

from cortex.text import line_diff
from cortex.text.compared_lines import _rows

LINES = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=30)


def test_changed_lines_come_with_those_around_them_and_their_place():
    before = [f"line {number}" for number in range(1, 21)]
    after = [*before[:9], "new 10", *before[10:18]]
    assert list(line_diff(before, after)) == [
        "@@ 8",
        "  line 8",
        "  line 9",
        "- line 10",
        "+ new 10",
        "  line 11",
        "  line 12",
        "@@ 17",
        "  line 17",
        "  line 18",
        "- line 19",
        "- line 20",
    ]


def test_texts_that_are_the_same_have_no_difference():
    assert list(line_diff(["a", "b"], ["a", "b"])) == []
    assert list(line_diff([], [])) == []
    assert list(line_diff([], ["a"])) == ["@@ 1", "+ a"]


@given(LINES, LINES)
def test_both_texts_can_be_read_from_their_difference(before, after):
    rows = _rows(before, after)
    assert [line for sign, line in rows if sign != "+"] == before
    assert [line for sign, line in rows if sign != "-"] == after
    shown = [line[2:] for line in line_diff(before, after) if line[:2] in ("- ", "+ ")]
    assert shown == [line for sign, line in rows if sign != " "]


def test_texts_that_are_made_to_be_slow_are_not():
    began = time.thread_time()
    for many in (200, 20_000):
        before, after = ["x", "y"] * many, ["y", "z", "x"] * many
        assert sum(line[0] in "+-" for line in line_diff(before, after)) > 0
    assert time.thread_time() - began < 2
