"""Ranks tools by the words of a query: BM25 over weighted fields. Pure; the same tools and words, the same order."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .entry import Entry
from .synonyms import related
from .words import words

MAX_QUERY_CHARACTERS = 2_000
MAX_QUERY_WORDS = 64


class Match(NamedTuple):
    name: str
    score: float
    """Higher is better; comparable only with others of the same answer."""


class _Field(NamedTuple):
    weight: float
    """What a word counts here."""
    by_length: float
    """How much less it counts among many others: 0 not at all, 1 in proportion."""


_NAME, _DESCRIPTION, _PARAMETERS = _Field(3.0, 0.3), _Field(1.0, 0.5), _Field(0.4, 0.6)
_FIELDS = (_NAME, _DESCRIPTION, _PARAMETERS)
# A word that is there twice is not twice as telling.
_SATURATION = 1.2


class ToolIndex:
    def __init__(self, entries: Sequence[Entry]) -> None:
        self._names = [entry.name for entry in entries]
        self._weights = _weights([tuple(Counter(words(text)) for text in entry) for entry in entries])

    def rank(self, query: str, k: int) -> list[Match]:
        """The best `k` of those that share a word with the query; of equal ones, the first by name."""
        scores: defaultdict[int, float] = defaultdict(float)
        asked = words(query[:MAX_QUERY_CHARACTERS])[:MAX_QUERY_WORDS]
        for word, times in Counter(asked).items():
            for tool, weight in self._of_meaning(word).items():
                scores[tool] += weight * math.sqrt(times)
        best = heapq.nsmallest(k, scores.items(), key=lambda found: (-found[1], self._names[found[0]]))
        return [Match(self._names[tool], score) for tool, score in best]

    def _of_meaning(self, word: str) -> Mapping[int, float]:
        """By the word itself or by one that means much the same, whichever is better: never by both."""
        found = self._weights.get(word, {})
        others = related(word)
        if not others:
            return found
        best = dict(found)
        for other, nearness in others:
            for tool, weight in self._weights.get(other, {}).items():
                best[tool] = max(best.get(tool, 0.0), nearness * weight)
        return best


def _weights(tools: Sequence[tuple[Counter[str], ...]]) -> dict[str, dict[int, float]]:
    """What each word says for each tool that has it: everything about a score but the query."""
    usual = [max(1.0, sum(fields[place].total() for fields in tools) / max(1, len(tools))) for place in range(3)]
    often: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for number, fields in enumerate(tools):
        for field, counts, length in zip(_FIELDS, fields, usual, strict=True):
            worth = field.weight / (1 - field.by_length + field.by_length * counts.total() / length)
            for word, times in counts.items():
                of_word = often[word]
                of_word[number] = of_word.get(number, 0.0) + worth * times
    for of_word in often.values():
        rareness = math.log(1 + (len(tools) - len(of_word) + 0.5) / (len(of_word) + 0.5))
        for number, amount in of_word.items():
            of_word[number] = rareness * amount * (1 + _SATURATION) / (amount + _SATURATION)
    return dict(often)
