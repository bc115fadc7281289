"""One order of two: by words and by meaning. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from .tool_index import Match

# Found on the part of the corpus that is for it. Words that match well settle it; words that hardly match say nothing,
# and then only the meaning counts: therefore the square.
_BY_WORDS = 1.2


def fused(names: Sequence[str], nearness: Sequence[float], by_words: Mapping[str, float], k: int) -> list[Match]:
    """The best `k` of the names. Nearness is theirs, from -1 to 1; by words, from 0 to 1, are those that share any."""
    scores = (
        ((max(near, 0.0) + _BY_WORDS * by_words.get(name, 0.0) ** 2) / (1 + _BY_WORDS), name)
        for name, near in zip(names, nearness, strict=True)
    )
    best = heapq.nsmallest(k, scores, key=lambda found: (-found[0], found[1]))
    return [Match(name, score) for score, name in best]
