"""Whether a word was made by chance, as keys are, or by a person who writes code or prose. Pure."""

from __future__ import annotations

import re

_LABELS = (
    "password passwort passwd pass pwd secret token string null none undefined true false required optional changeme "
    "example redacted hidden masked missing invalid"
)
_NOT_SECRETS = frozenset(_LABELS.split())
_PLACEHOLDER = re.compile(r"[$<{%\[\](#]|&lt;|\*{3}|x{4}|\.{3}|your[-_ ]|process\.|os\.|env[.:]")
_PLACE = re.compile(r"[~.]{0,2}/|[a-z]:\\|[a-z][a-z0-9+]{1,10}://")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[t ][0-9:.]{5,}\S*)?\Z")
_CHANGE = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=[a-z])(?=[A-Z])")
_CASE_CHANGE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[a-z])")
_LETTER_AND_OTHER = re.compile(r"(?=.*[A-Za-z])(?=.*[^A-Za-z_.-])", re.DOTALL)


def is_random(word: str) -> bool:
    """Small letters, capitals and digits take turns far more often than in words and in names of programs."""
    word = word[:200]
    if len(word) < 12 or len(set(word)) < 8:
        return False
    # `Ed25519PrivateKey` changes once in six letters; letters and digits by chance in nearly each second one.
    return len(_CHANGE.findall(word)) * 9 >= len(word) * 2 or len(_CASE_CHANGE.findall(word)) * 9 >= len(word) * 4


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
