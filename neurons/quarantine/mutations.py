"""Changed inputs: what a recorded run was given, with one thing in it changed at a time. Pure, and the same every time.

Wrong candidates differ at edges: at a bound, in an empty list, at the first or last of several. So each change is one
that some plausible mistake would be seen by. Fields of the elements of one list count as one, or a long list would take
all the room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from typing import Any, TypeVar

Path = tuple[str | int, ...]
T = TypeVar("T")

_MAX_GROUPS = 24
_MAX_PATHS = 4_000
_MAX_CONSTANTS = 8
_MAX_GROWN = 60
_MAX_LIST = 2_000
_HUGE = 1e300
"""A server may answer with an integer of a thousand digits, which no float can hold: nothing is computed with it."""
_DATE = re.compile(r"^(\d{4})-(\d\d)-(\d\d)(?!\d)")
_ODD_TEXT = "Ünï ✓"


@dataclass(frozen=True, slots=True)
class Mutation:
    what: str
    """What was changed, like `items[0].qty: 5 became 6`."""
    value: Any


def mutations(value: Any, constants: Sequence[Any] = (), *, may_lack: bool = False) -> Iterator[Mutation]:
    """Changed copies of the value, the most telling first. `constants` are those of the programs that are compared:
    a bound is only seen at itself. `may_lack`: the script expects that numbers may be missing. Else none is left out:
    "not less" and "at least" agree on all numbers, and not on none.
    """
    groups = _groups(value)
    fields = [path for path in groups if len(path) > 1 or not isinstance(value, list)]
    sources = [_of_group(value, groups, group, constants) for group in [*groups][:_MAX_GROUPS]]
    sources += [_of_field(value, groups[path], may_lack) for path in fields[:_MAX_GROUPS] if path]
    yield from in_turn(sources)


def in_turn(sources: Sequence[Iterator[T]]) -> Iterator[T]:
    """One of each in turn, so that a limit leaves something of all."""
    while sources:
        left = []
        for source in sources:
            for made in islice(source, 1):
                yield made
                left.append(source)
        sources = left


def _groups(value: Any) -> dict[Path, list[Path]]:
    """The paths of all parts, by the path in which each place in a list is "*"."""
    found: dict[Path, list[Path]] = {}
    stack: list[tuple[Path, Path, Any]] = [((), (), value)]
    count = 0
    while stack and count < _MAX_PATHS:
        path, group, part = stack.pop()
        count += 1
        found.setdefault(group, []).append(path)
        if isinstance(part, dict):
            stack += [((*path, name), (*group, name), inner) for name, inner in reversed(part.items())]
        elif isinstance(part, list):
            stack += [((*path, at), (*group, "*"), part[at]) for at in reversed(range(min(len(part), 50)))]
    return found


def _of_group(value: Any, groups: dict[Path, list[Path]], group: Path, constants: Sequence[Any]) -> Iterator[Mutation]:
    paths = groups[group]
    yield from _rotated(value, paths)
    chosen = dict.fromkeys([paths[0], paths[-1], paths[len(paths) // 2]])
    sources = [_of_part(value, path, _siblings(value, paths, path), constants) for path in chosen]
    yield from in_turn(sources)


def _of_part(value: Any, path: Path, siblings: list[Any], constants: Sequence[Any]) -> Iterator[Mutation]:
    part = at(value, path)
    for other in _others(part, siblings, constants):
        if type(other) is not type(part) or other != part:
            yield Mutation(f"{shown(path)}: {_short(part)} became {_short(other)}", put(value, path, other))


def _of_field(value: Any, paths: list[Path], may_lack: bool) -> Iterator[Mutation]:
    for path in dict.fromkeys([paths[0], paths[-1]]):
        part = at(value, path)
        is_number = isinstance(part, int | float) and not isinstance(part, bool)
        if isinstance(path[-1], str) and (may_lack or not is_number):
            around = at(value, path[:-1])
            changed = put(value, path[:-1], {name: part for name, part in around.items() if name != path[-1]})
            # Not null: two ways to read a date or a number agree on all but that.
            yield Mutation(f"{shown(path)} was left out", changed)


def _others(part: Any, siblings: list[Any], constants: Sequence[Any]) -> Iterator[Any]:
    match part:
        case bool():
            yield not part
        case int() | float():
            yield from _numbers(part, siblings, constants)
        case str():
            yield from _texts(part, siblings, constants)
        case list():
            yield from _lists(part, constants)


def _numbers(part: float, siblings: list[Any], constants: Sequence[Any]) -> Iterator[Any]:
    if not abs(part) < _HUGE:
        yield 0
        return
    mine = [one for one in constants if isinstance(one, int | float) and not isinstance(one, bool) and abs(one) < _HUGE]
    mine = mine[:_MAX_CONSTANTS]
    yield part + 1
    yield from mine
    yield part / 3
    yield 0
    yield -part if part else -1
    yield part - 1
    yield part * 10
    yield part + 0.37
    yield from (one for one in siblings[:3] if isinstance(one, int | float))
    yield from (one + 1 for one in mine[:3])
    yield from (one - 1 for one in mine[:3])
    yield part * 1.0173


def _texts(part: str, siblings: list[Any], constants: Sequence[Any]) -> Iterator[str]:
    if found := _DATE.match(part):
        yield from _dates(part, found)
    yield from [one for one in siblings if isinstance(one, str)][:2]
    yield part.swapcase()
    yield from [one for one in constants if isinstance(one, str)][:_MAX_CONSTANTS]
    yield ""
    yield f"{part}x"
    yield f" {part} "
    yield _ODD_TEXT
    yield f"{part} {part}"


def _dates(part: str, found: re.Match[str]) -> Iterator[str]:
    try:
        day = date(int(found[1]), int(found[2]), int(found[3]))
        yield from (f"{day + timedelta(days=days)}{part[10:]}" for days in (1, -1, 31))
    except (ValueError, OverflowError):
        return


def _lists(part: list[Any], constants: Sequence[Any]) -> Iterator[list[Any]]:
    yield part[::-1]
    yield []
    yield part[1:]
    yield part[:-1]
    yield part[:1]
    if len(part) > _MAX_LIST:
        return
    yield [*part, *part]
    for constant in constants:
        if part and type(constant) is int and 1 <= constant <= _MAX_GROWN:
            yield [part[place % len(part)] for place in range(constant + 1)]


def _rotated(value: Any, paths: list[Path]) -> Iterator[Mutation]:
    """The values of one field, each moved on to the next element: an order by another field is seen."""
    parts = [at(value, path) for path in paths]
    is_plain = all(isinstance(part, int | float | str) for part in parts)
    if is_plain and len({repr(part) for part in parts}) > 1 and len(parts) <= _MAX_LIST:
        changed = _copied(value)
        for path, part in zip(paths, [*parts[1:], parts[0]], strict=True):
            at(changed, path[:-1])[path[-1]] = part
        yield Mutation(f"{shown(paths[0])} and its like were rotated", changed)


def _siblings(value: Any, paths: list[Path], path: Path) -> list[Any]:
    """Other values of the same field, and the numbers beside it in the same object."""
    mine = at(value, path)
    others = [at(value, other) for other in paths if other != path]
    around = at(value, path[:-1]) if path else None
    beside = [
        inner
        for inner in (around.values() if isinstance(around, dict) else ())
        if isinstance(inner, int | float) and not isinstance(inner, bool)
    ]
    plain = [one for one in [*others[:8], *beside] if isinstance(one, int | float | str) and one != mine]
    return list(dict.fromkeys(plain))


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def put(value: Any, path: Path, part: Any) -> Any:
    """A copy with another part there. It shares all else with the value: nobody changes what is compared."""
    if not path:
        return part
    step, *rest = path
    changed = value.copy()
    changed[step] = put(value[step], tuple(rest), part)
    return changed


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(part) for name, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value


def shown(path: Path) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")[:120] or "it"


def _short(part: Any) -> str:
    text = repr(part) if not isinstance(part, list | dict) else f"{len(part)} entries"
    return text if len(text) <= 40 else f"{text[:39]}…"
