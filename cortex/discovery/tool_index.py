"""Ranks tools by the words of a query: BM25 over weighted fields. Pure: the same input gives the same order."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from .synonyms import related
from .tool_text import ToolText
from .words import query_words, words

MAX_QUERY_CHARACTERS = 2_000
MAX_QUERY_WORDS = 64
# Words of one field of one tool, and of all tools together: names and descriptions come from strangers, and each word
# that only one tool has takes a third of a kilobyte.
MAX_FIELD_WORDS = 200
MAX_WORDS = 50_000
MAX_AMOUNTS = 400_000


class Match(NamedTuple):
    name: str
    score: float
    """From 0 to 1: how much of the query the tool has. Few tools reach 0.5."""


class _Field(NamedTuple):
    weight: float
    """What a word counts in this field."""
    by_length: float
    """How much less a word counts in a long field: 0 not at all, 1 in proportion to the length."""


# Measured on the tuning part of the corpus (tests/cortex/discovery); values close to these do about as well.
# The fields of a ToolText, in their order.
_FIELDS = (_Field(3.0, 0.1), _Field(1.0, 0.4), _Field(0.2, 0.5))
# A word that occurs twice does not count twice.
_SATURATION = 1.5
# One very rare word does not outweigh two rare words.
_RARENESS = 0.8
# A bonus for tools that have much of the query, and for tools whose name is mostly in the query.
_COVERED, _NAMED = 0.6, 0.3

_MIN_PART, _MAX_COMPOUNDED = 3, 16


class ToolIndex:
    def __init__(self, entries: Sequence[ToolText]) -> None:
        self._names = [entry.name for entry in entries]
        self._in_names = [frozenset(words(entry.name)) for entry in entries]
        self._amounts = _amounts(entries)

    def rank(self, query: str, k: int) -> list[Match]:
        """The best `k` tools that share a word with the query; equal tools in the order of their names."""
        asked = query_words(query[:MAX_QUERY_CHARACTERS])[:MAX_QUERY_WORDS]
        said: defaultdict[int, dict[str, float]] = defaultdict(dict)
        covered: defaultdict[int, float] = defaultdict(float)
        most = 0.0
        for word, times in Counter(self._with_compounds(asked)).items():
            found = self._of_meaning(word)
            # Words that no tool has count, too: a query full of them gives low scores.
            worth = math.sqrt(times) * self._rareness(len(found))
            most += worth
            for tool, (amount, spelled) in found.items():
                # A word of the tool counts once, even if "find" and "look for" both led to it.
                said[tool][spelled] = max(said[tool].get(spelled, 0.0), worth * amount / (amount + _SATURATION))
                covered[tool] += worth
        scores = ((self._score(tool, words, covered[tool], most), self._names[tool]) for tool, words in said.items())
        return [Match(name, score) for score, name in heapq.nsmallest(k, scores, key=lambda one: (-one[0], one[1]))]

    def _score(self, tool: int, said: Mapping[str, float], covered: float, most: float) -> float:
        in_name = self._in_names[tool]
        named = sum(word in in_name for word in said) / len(in_name) if in_name else 0.0
        extra = (1 + _COVERED * covered / most) * (1 + _NAMED * named) / (1 + _COVERED) / (1 + _NAMED)
        return sum(said.values()) / most * extra

    def _with_compounds(self, asked: Sequence[str]) -> Iterator[str]:
        """The words, and also two of them as one word where a tool has it: "log work" finds "worklog"."""
        yield from asked
        for one, other in permutations(dict.fromkeys(asked[:_MAX_COMPOUNDED]), 2):
            if len(one) >= _MIN_PART <= len(other) and one + other in self._amounts:
                yield one + other

    def _of_meaning(self, word: str) -> Mapping[int, tuple[float, str]]:
        """How much each tool has of the word or of a synonym, whichever is more, and which of them it is."""
        found = {tool: (amount, word) for tool, amount in self._amounts.get(word, {}).items()}
        for other, nearness in related(word):
            for tool, amount in self._amounts.get(other, {}).items():
                if tool not in found or found[tool][0] < nearness * amount:
                    found[tool] = (nearness * amount, other)
        return found

    def _rareness(self, having: int) -> float:
        """What a word is worth, by the number of tools that have it or a synonym."""
        return float(math.log(1 + (len(self._names) - having + 0.5) / (having + 0.5)) ** _RARENESS)


def _fields(entry: ToolText) -> tuple[list[str], list[str], list[str]]:
    # As a set: servers repeat their own name in the names of their tools.
    name, description, parameters = list(set(words(entry.name))), words(entry.description), words(entry.parameters)
    return name[:MAX_FIELD_WORDS], description[:MAX_FIELD_WORDS], parameters[:MAX_FIELD_WORDS]


def _amounts(entries: Sequence[ToolText]) -> dict[str, dict[int, float]]:
    """How much each tool has of each word, in all its fields together."""
    # Each entry is split into words twice, to save memory: a server may list thousands of tools without a common word.
    lengths = [0] * len(_FIELDS)
    for entry in entries:
        for place, found in enumerate(_fields(entry)):
            lengths[place] += len(found)
    usual = [max(1.0, length / max(1, len(entries))) for length in lengths]
    amounts: dict[str, dict[int, float]] = {}
    left = MAX_AMOUNTS
    for number, entry in enumerate(entries):
        for field, found, length in zip(_FIELDS, _fields(entry), usual, strict=True):
            worth = field.weight / (1 - field.by_length + field.by_length * len(found) / length)
            for word, times in Counter(found).items():
                of_word = amounts.get(word)
                if of_word is None:
                    if len(amounts) >= MAX_WORDS:
                        continue
                    of_word = amounts[word] = {}
                if number not in of_word:
                    left -= 1
                    if left < 0:
                        return amounts
                of_word[number] = of_word.get(number, 0.0) + worth * times
    return amounts
