"""Whether a word was made by chance, as keys are, or by a person who writes code or prose. Pure."""

from __future__ import annotations

import re

_LABELS = (
    "password passwort passwd pass pwd secret token string null none undefined true false required optional changeme "
    "example redacted hidden masked missing invalid"
)
_NOT_SECRETS = frozenset(_LABELS.split())
_PLACEHOLDER = re.compile(r"[$<{%\[(#]|\*{3}|x{4}|\.{3}|your[-_ ]|process\.|os\.|env[.:]")
_PLACE = re.compile(r"[~.]{0,2}/|[a-z]:\\|[a-z][a-z0-9+]{1,10}://")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[t ][0-9:.]{5,}\S*)?\Z")
_CHANGE = re.compile(
    r"(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=[A-Z])(?=[0-9])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[a-z])"
)
_LETTER_AND_OTHER = re.compile(r"(?=.*[A-Za-z])(?=.*[^A-Za-z_.-])", re.DOTALL)


def is_random(word: str) -> bool:
    """Small letters, capitals and digits take turns far more often than in names and in words."""
    if len(word) < 12:
        return False
    # Names in programs change at most once in five letters; of letters and digits by chance each second one does.
    return len(_CHANGE.findall(word[:200])) * 4 >= min(len(word), 200) and len(set(word)) >= 8


def is_placeholder(word: str) -> bool:
    """What stands where a secret would: its name, a variable, stars; or a place or a time, which are none."""
    small = word.lower()
    return (
        small.strip("_-.*x") in _NOT_SECRETS
        or not small.strip("*x.•-_")
        or _PLACEHOLDER.match(small) is not None
        or _PLACE.match(small) is not None
        or _MOMENT.match(small) is not None
    )


def is_password(word: str) -> bool:
    """What somebody may have chosen for one: not a word alone, which is more likely a label or a type."""
    if len(word) < 5 or is_placeholder(word):
        return False
    return word.isdigit() or is_random(word) or _LETTER_AND_OTHER.match(word) is not None
