"""Makes other inputs of the same kind from a known one, on which a script may well give another result. Pure,
and the same every time.

`mutations` finds edges, where wrong candidates break. These keep to what the value is: words of the text, items of
the list, digits in the places of digits.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import islice
from typing import Any

_MAX_TEXT = 4_000
_MAX_LIST = 400
_MAX_MEMBERS = 12
_MAX_DEPTH = 4
_EACH = 40
_WORDS = re.compile(r"\s+")
_DIGITS = re.compile(r"\d+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_SEED = 20_260_101


def variations(value: Any, depth: int = 0) -> Iterator[Any]:
    """Values like this one, each once, those that differ most first."""
    chance = random.Random(_SEED)  # noqa: S311 - the same every time, and no secret
    seen = {repr(value)}
    for made in islice(_made(value, chance, depth), 3 * _EACH):
        if repr(made) not in seen:
            seen.add(repr(made))
            yield made


def _made(value: Any, chance: random.Random, depth: int) -> Iterator[Any]:
    match value:
        case bool() | None:
            return
        case int():
            yield from _whole(value)
        case float():
            yield from (value * 2, value / 2, value + 1, value * 3.3, value * 0.9, value + 0.25)
        case str() if len(value) <= _MAX_TEXT:
            yield from _texts(value, chance)
        case list() if 0 < len(value) <= _MAX_LIST:
            yield from _lists(value, chance, depth)
        case dict() if depth < _MAX_DEPTH:
            yield from _members(value, depth)


def _whole(value: int) -> Iterator[int]:
    if abs(value) < 2**40:
        yield from (value * 2, value + 7, value // 2 + 1, value * 3 + 1, value + 1, value // 3, value + 38, value * 17)


def _texts(text: str, chance: random.Random) -> Iterator[str]:
    if found := _DATE.match(text):
        yield from _dates(text, found)
        return
    words = _WORDS.split(text)
    if len(words) > 2:
        for at in range(min(len(words), _EACH // 2)):
            yield " ".join([*words[:at], *words[at + 1 :]])
        for _ in range(4):
            yield " ".join(chance.sample(words, len(words)))
        yield " ".join(words[: len(words) // 2])
    for number in (1, 3, 14):
        yield _DIGITS.sub(lambda found, number=number: _digits(found[0], number), text)  # type: ignore[misc]
    for at in range(min(len(text), 6)):
        yield text[:at] + text[at + 1 :]
    letters = [*text]
    if len(words) <= 2:
        for _ in range(4):
            yield "".join(chance.sample(letters, len(letters)))
    yield from (text + text[: len(text) // 2], text[: len(text) // 2 + 1])


def _dates(text: str, found: re.Match[str]) -> Iterator[str]:
    """Other days: other digits would be no date."""
    try:
        day = date.fromisoformat(found[0])
        for days in (1, -1, 5, 31, -45, 2, 100, 400, -3, 4, 1_000):
            yield f"{day + timedelta(days=days)}{text[found.end() :]}"
    except (ValueError, OverflowError):
        return


def _digits(text: str, more: int) -> str:
    """Another number of as many digits."""
    return str((int(text) + more) % 10 ** len(text)).zfill(len(text)) if len(text) < 18 else text


def _lists(items: list[Any], chance: random.Random, depth: int) -> Iterator[list[Any]]:
    for at in range(min(len(items), _EACH // 2)):
        if len(items) > 1:
            yield [*items[:at], *items[at + 1 :]]
    for _ in range(4):
        yield chance.sample(items, len(items))
    for size in (len(items) // 2, max(1, len(items) // 3)):
        if size:
            yield chance.sample(items, size)
    if depth < _MAX_DEPTH:
        for _ in range(_EACH // 4):
            at = chance.randrange(len(items))
            others = [*islice(variations(items[at], depth + 1), 8)]
            if others:
                yield [*items[:at], chance.choice(others), *items[at + 1 :]]
        # All items at once: what is taken of each is seen.
        every = [[*islice(variations(item, depth + 1), 2)] for item in items[:60]]
        if all(every):
            yield [made[0] for made in every]
            yield [made[-1] for made in every]


def _members(value: dict[str, Any], depth: int) -> Iterator[dict[str, Any]]:
    """One member in turn."""
    sources = [(name, variations(inner, depth + 1)) for name, inner in [*value.items()][:_MAX_MEMBERS]]
    while sources:
        left = []
        for name, source in sources:
            made = next(source, None)
            if made is not None:
                yield {**value, name: made}
                left.append((name, source))
        sources = left
