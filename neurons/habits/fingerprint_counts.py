"""Counts the traits of a script, keeps the members it reads and the words of its author, and weighs them at the end."""

from __future__ import annotations

import re
from functools import lru_cache
from zlib import crc32

from .fingerprint_effects import Effects
from .fingerprint_limits import MAX_TRAITS, MAX_WORDS
from .fingerprint_marks import Marks
from .fingerprint_numbers import PLAIN_NUMBERS, number_of
from .fingerprint_vocabulary import DEFAULT_WEIGHT, GLUE, STOP_WORDS, WEIGHTS

MARK_WEIGHT = 2
FORMULA_WEIGHT = 4
MAX_NAMED = 60
_SPLIT = re.compile(r"[A-Z]?[a-z]+|[A-Z]{2,}(?![a-z])")
# Marks that all styles of a script have. Others only tell scripts apart.
_TRAITS = ("case", "round", "sort", "extreme", "edge", "pad", "date")


class TraitCounts:
    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._counts: dict[str, int] = {}
        self._members: dict[str, int] = {}
        self.owners: set[str] = set()
        """Members that only lead to what is worked with."""
        self.made: set[str] = set()
        """Keys of objects that the script itself puts together."""
        self._words: dict[str, None] = {}
        self._said: set[str] = set()

    def count(self, *traits: str) -> None:
        for trait in traits:
            self._counts[trait] = self._counts.get(trait, 0) + 1

    def say(self, name: str) -> None:
        if name not in self._said and len(self._words) < 2 * MAX_WORDS:
            self._said.add(name)
            self._words |= _words_in(name[:MAX_NAMED])

    def read(self, key: str) -> None:
        if len(self._members) < MAX_TRAITS:
            self._members[key] = self._members.get(key, 0) + 1

    def constant(self, text: str) -> None:
        value = number_of(text)
        if value is not None and abs(value) not in PLAIN_NUMBERS and len(self._words) < 2 * MAX_WORDS:
            self._words[f"#{value:g}"] = None

    def fold(self, effects: Effects, reaches: bool) -> None:
        """Members of what an effect answered are traits; in a pure script they are words of the author."""
        for key in effects.keys:
            self._counts[f"key {key}"] = 1
        for name in self._members:
            # `rates.EUR`, and what was put into an address, are parameters.
            if name.lower() in effects.words or (name.isupper() and len(name) > 1):
                continue
            if reaches and name not in self.made:
                self._counts[f"member {name}"] = 1
                if name not in self.owners:
                    self._marks.member(name)
            self._marks.has(name)
            self.say(name)

    def weighed(self, reaches: bool) -> dict[str, int]:
        weighed: dict[str, int] = {}
        for trait, count in self._counts.items():
            weight = WEIGHTS.get(trait, FORMULA_WEIGHT if trait.startswith("formula") else DEFAULT_WEIGHT)
            if weight and not (reaches and trait in GLUE):
                weighed[_hash(trait)] = weight * 2 if count < 2 else weight * 3
        for mark in self._marks.found():
            if mark.startswith(_TRAITS):
                weighed[_hash(f"mark {mark}")] = MARK_WEIGHT
        kept = sorted(weighed)[:MAX_TRAITS]
        return {trait: weighed[trait] for trait in kept}

    def words(self) -> list[str]:
        return sorted({_hash(word) for word in self._words})[:MAX_WORDS]


@lru_cache(maxsize=1024)
def _words_in(name: str) -> dict[str, None]:
    words = (part.lower().removesuffix("s") for part in _SPLIT.findall(name))
    return {word: None for word in words if len(word) > 2 and word not in STOP_WORDS}


@lru_cache(maxsize=4096)
def _hash(text: str) -> str:
    return f"{crc32(text.encode('latin-1', 'replace')):08x}"
