"""Verbs and nouns that tools and people use for the same act. Few, and only such as hold for every catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from .words import stem

_NEARNESS = 0.5
"""What another word for the same counts, beside the word itself."""

_ACTS = (
    "get fetch read retrieve show view list load display see look",
    "search find query lookup locate",
    "create add make new open insert",
    "delete remove erase drop",
    "update edit change modify set",
    "send post notify",
    "run execute invoke trigger start",
    "stop cancel abort",
)


def _table() -> dict[str, tuple[tuple[str, float], ...]]:
    found: dict[str, dict[str, float]] = {}
    for line in _ACTS:
        group = [stem(word) for word in line.split()]
        for word in group:
            found.setdefault(word, {}).update((other, _NEARNESS) for other in group if other != word)
    return {word: tuple(others.items()) for word, others in found.items()}


_RELATED = _table()


def related(word: str) -> Sequence[tuple[str, float]]:
    """Stems that mean much the same as this stem, and how near they are, from 0 to 1."""
    return _RELATED.get(word, ())
