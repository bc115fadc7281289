from __future__ import annotations

from cortex.discovery.discovery import fused

NAMES = ["a", "b", "c"]


def order(nearness: list[float], by_words: dict[str, float]) -> list[str]:
    return [match.name for match in fused(NAMES, nearness, by_words, 3)]


def test_without_shared_words_the_nearest_by_meaning_are_first():
    assert order([0.1, 0.6, 0.3], {}) == ["b", "c", "a"]


def test_words_that_match_well_beat_a_meaning_that_is_a_little_nearer():
    assert order([0.3, 0.4, 0.2], {"a": 0.5}) == ["a", "b", "c"]


def test_words_that_hardly_match_change_nothing():
    assert order([0.3, 0.4, 0.2], {"c": 0.25, "a": 0.05}) == ["b", "a", "c"]


def test_equal_ones_are_in_the_order_of_their_names_and_scores_stay_between_0_and_1():
    found = fused(["z", "y", "x"], [1.0, -1.0, 1.0], {"z": 1.0, "x": 1.0}, 3)
    assert [match.name for match in found] == ["x", "z", "y"]
    assert [match.score for match in found] == [1.0, 1.0, 0.0]
    assert len(fused(["z", "y", "x"], [1.0, -1.0, 1.0], {}, 2)) == 2
