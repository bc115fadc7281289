"""Shows several calls of one tool as one question: what is the same in all once, and where they differ. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from cortex.text import visible

MAX_SHOWN_VALUE = 2_000
MAX_ALL_SHOWN = 60_000
MAX_SHOWN_ARGUMENTS = 2_000
"""Of all calls together, also where they are the same."""
BEGIN, END = "«", "»"
"""Stand around what differs."""
_LEAST_COMMON = 3
_ABSENT = object()


def collected_lines(head: str, calls: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """The lines of one question about all these calls, whose arguments are given. None where that would be too long for
    one: then each is a question of its own."""
    texts = _texts(calls)
    if texts is None:
        return None
    same = {name: found[0] for name, found in texts.items() if len({*found}) == 1}
    marked = {name: _marked(found) for name, found in texts.items() if name not in same}
    lines = [f"{head}, {len(calls)} times"]
    lines += [f"  in each: {_name(name)} = {visible(text or '')}" for name, text in same.items()]
    for number in range(len(calls)):
        # An argument that others have is named: a tool may do most where it is told least.
        told = [
            f"{_name(name)} = {found[number]}" if found[number] else f"without {_name(name)}"
            for name, found in marked.items()
        ]
        lines.append(f"  {number + 1}. {', '.join(told) or '(the same)'}")
    return lines if sum(map(len, lines)) <= MAX_ALL_SHOWN else None


def _texts(calls: Sequence[Mapping[str, Any]]) -> dict[str, list[str | None]] | None:
    """The arguments by their names, each as JSON for every call. None for too many, or too long ones: whoever calls may
    have made them so, and nothing here may take long."""
    if any(len(call) * len(calls) > MAX_SHOWN_ARGUMENTS for call in calls):
        return None
    names = dict.fromkeys(name for call in calls for name in call)
    texts: dict[str, list[str | None]] = {}
    room = MAX_ALL_SHOWN if len(names) * len(calls) <= MAX_SHOWN_ARGUMENTS else -1
    for name in names:
        found = texts[name] = [_text(call.get(name, _ABSENT)) for call in calls]
        longest = max(len(text) for text in found if text is not None)
        room -= len(name) + (longest if len({*found}) == 1 else sum(len(text or "") for text in found))
        if longest > MAX_SHOWN_VALUE or room < 0:
            return None
    return texts


def numbers_in(text: str, most: int) -> frozenset[int] | None:
    """The numbers that "1,3-5" names, from 1 to the most; None for what names none, or others."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or max(len(first), len(last)) > 6:
            return None
        numbers = range(int(first), int(last or first) + 1)
        if not numbers or numbers[0] < 1 or numbers[-1] > most:
            return None
        found.update(numbers)
    return frozenset(found) or None


def _marked(texts: Sequence[str | None]) -> list[str]:
    """The values, each with the part that differs between marks. Empty for a call without the argument."""
    given = [text for text in texts if text is not None]
    before = _common(given)
    after = _common([text[before:][::-1] for text in given])
    if before + after < _LEAST_COMMON:
        before = after = 0
    return ["" if text is None else _between(text, before, after) for text in texts]


def _common(texts: Sequence[str]) -> int:
    """How many characters all of them begin with."""
    if len(texts) < 2:
        return 0
    first, last = min(texts), max(texts)  # those that differ first
    return next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))


def _between(text: str, before: int, after: int) -> str:
    end = len(text) - after
    return visible(f"{text[:before]}{BEGIN}{text[before:end]}{END}{text[end:]}")


def _text(value: Any) -> str | None:
    return None if value is _ABSENT else to_json(value, inf_nan_mode="constants", serialize_unknown=True).decode()


def _name(name: str) -> str:
    """The name of an argument, which a model may have invented, on one line."""
    return visible(" ".join(name.split()))
