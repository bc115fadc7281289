"""What a script reaches for, as lines to compare: `GET api.example/users/*/notes`, `tools.github.list`. Pure.

Also imported where code is parsed, outside of its package, so it imports nothing of the project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MAX_EFFECTS = 32
MAX_EFFECT_CHARS = 200
MAX_SEGMENTS = 16
UNKNOWN = "*"
_ADDRESS = re.compile(r"(?:(?:https?|wss?):)?//(?:[^/?#@]{0,200}@)?([^/?#]{0,255})([^?#]{0,1000})", re.IGNORECASE)
_HOST = re.compile(r"[\w.-]+(?::\d{1,5})?")
_WORD = re.compile(r"v\d{1,3}(?:\.\d{1,3})?|[a-z][a-z_.-]*\d?|[a-z]+(?:[A-Z][a-z]+)*|[A-Z][a-z]+(?:[A-Z][a-z]+)*")
_KEY = re.compile(r"(?:^|&)([^=&*]{1,60})=")


def request(method: str, address: str) -> tuple[str, list[str]]:
    """The effect of a request, and the names in its query."""
    address, _, query = address.partition("#")[0].partition("?")
    found = _ADDRESS.match(address)
    if found is not None:
        host, path = found[1].lower().removesuffix(":443"), found[2]
        if not _HOST.fullmatch(host):
            host = UNKNOWN
    else:
        # A base that is not known, and then perhaps a path.
        host, path = UNKNOWN, address.lstrip(UNKNOWN) if address.startswith((UNKNOWN, "/")) else f"/{UNKNOWN}"
        path = path if path.startswith("/") else f"/{UNKNOWN}"
    segments = [_segment(one) for one in path.split("/") if one][:MAX_SEGMENTS]
    keys = _KEY.findall(query)
    return f"{method} {'/'.join((host, *segments))}"[:MAX_EFFECT_CHARS], keys


def _segment(text: str) -> str:
    """A path segment as it is, if it is a word; UNKNOWN for an id, a number, a date, or what is put in at run time."""
    return text if len(text) <= 40 and _WORD.fullmatch(text) else UNKNOWN


def same_effects(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether both may stand for the same effects: each line of one has a line of the other."""
    if a == b:
        return True
    return _all_known(a, b) and _all_known(b, a)


def _all_known(some: Iterable[str], others: Sequence[str]) -> bool:
    return all(any(same_effect(one, other) for other in others) for one in some)


def same_effect(a: str, b: str) -> bool:
    if a == b:
        return True
    if UNKNOWN not in a and UNKNOWN not in b and not ("/" in a and "/" in b):
        return False
    method, _, place = a.partition(" ")
    other_method, _, other = b.partition(" ")
    if not place or not other or not _fits(method, other_method):
        return False
    return _same_path(place.split("/"), other.split("/"))


def _fits(one: str, other: str) -> bool:
    return one == other or UNKNOWN in (one, other)


def _same_path(a: list[str], b: list[str]) -> bool:
    if len(a) != len(b):
        # An unknown end may stand for several segments.
        short, long = sorted((a, b), key=len)
        return short[-1] == UNKNOWN and len(short) > 1 and all(map(_fits, short, long))
    return all(
        _fits(one, other) or _is_name(a, b, position) for position, (one, other) in enumerate(zip(a, b, strict=True))
    )


def _is_name(a: list[str], b: list[str], position: int) -> bool:
    """Whether the segments are names of one of many, as in `/users/anna/notes` or `/repos/acme/app`: they stand behind
    the name of many, and the same follows; or behind such a name that differs, too."""
    if position < 2:
        return False
    if a[position - 1] != b[position - 1]:
        # `/users/ada/followers` and `/users/*/following` are two things of one user.
        is_two = UNKNOWN in (a[position - 1], b[position - 1]) or _is_many(a[position]) or _is_many(b[position])
        return position > 2 and _is_many(a[position - 2]) and a[position - 2] == b[position - 2] and not is_two
    is_followed = position + 1 < len(a) and (
        a[position + 1 :] == b[position + 1 :] or a[position + 2 :] == b[position + 2 :]
    )
    return is_followed and _is_many(a[position - 1])


def _is_many(segment: str) -> bool:
    return len(segment) > 3 and segment.endswith("s") and not segment.endswith("ss")


def key_of(effects: Iterable[str]) -> str | None:
    """Scripts whose keys differ never have the same effects. None when a host or method is not known, and any key may
    do."""
    places = set()
    for effect in effects:
        method, _, place = effect.partition(" ")
        host = place.partition("/")[0]
        if UNKNOWN in (method, host):
            return None
        places.add(f"{method} {host}" if host else effect)
    return "\n".join(sorted(places))
