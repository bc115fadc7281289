"""Tells whether a word is random, like a key, or was written by a person, like code or prose. Pure."""

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
# A UUID, or a hash of twelve bytes and more.
_HEX = re.compile(r"(?=(?:[^0-9]*[0-9]){4})(?=(?:[^a-f]*[a-f]){2})[0-9a-f-]{24,}\Z")
# Forty bytes in base64 begin with "/" one time in 64, and have few more. A path has one before each name.
_BASE64 = re.compile(r"[A-Za-z0-9+/]{32,}={0,2}\Z")
# The pairs of letters that make up two thirds of all words in programs, by our own count over fifty thousand; and those
# of words that stand for secrets. By chance one pair in six is among them.
_COMMON = (
    "in er re te at st on es le ti en ar se et co de or nt al ed li ng tr ra an ta ri is ro ma me ge it ec ne nd lo la "
    "as to el di pe ea un io ca pa ac ns fi si ch pr il ce ve ic na ct no ll ex ou ol rs ad nc ab ss rt am om ts th he "
    "im bl ha po em mp ur od op da mi ut mo os ap sc ef sh ot ni pl id ck oc su sp us so va ep ul ig rr ke ho fo tt ty "
    "cl rm rc ag ir ia ba ok ey sw wo ki pi ph eb"
)
_WRITTEN = frozenset(spelt for pair in _COMMON.split() for spelt in (pair, pair.upper(), pair.capitalize()))
# All pairs except two digits, which say nothing: years and counts have them, too.
_PAIR = re.compile(r"(?=([A-Za-z][A-Za-z0-9]|[0-9][A-Za-z]))")
_LOOKED_AT = 100
# With fewer letters, a name of three abbreviations would pass as random.
_MIN_UNLIKE_WORDS, _MIN_PAIRS, _MANY_MIXED = 16, 10, 5
_LETTER_AND_OTHER = re.compile(r"(?=.*[A-Za-z])(?=.*[^A-Za-z_.-])", re.DOTALL)


def is_random(word: str) -> bool:
    """Whether small letters, capitals and digits alternate far more often than in words and names; or the pairs of
    letters are not those of words."""
    word = word[:_LOOKED_AT]
    if len(word) < 12 or len(set(word)) < 8:
        return False
    # `Ed25519PrivateKey` changes once in six letters; random letters and digits at nearly every second one.
    if len(_CHANGE.findall(word)) * 9 >= len(word) * 2 or len(_CASE_CHANGE.findall(word)) * 9 >= len(word) * 4:
        return True
    return len(word) >= _MIN_UNLIKE_WORDS and (_HEX.match(word.lower()) is not None or _is_unlike_words(word))


def _is_unlike_words(word: str) -> bool:
    pairs = _PAIR.findall(word)
    if len(pairs) < _MIN_PAIRS:
        return False
    # With digits scattered in it, it takes more common pairs to count as a name.
    limit = 0.45 if sum(not pair.isalpha() for pair in pairs) >= _MANY_MIXED else 0.3
    return sum(pair in _WRITTEN for pair in pairs) < len(pairs) * limit


def is_placeholder(word: str) -> bool:
    """Whether the word is a placeholder for a secret (its name, a variable, stars), or a path or a time, which are no
    secrets."""
    small = word.lower()
    return (
        small.strip("_-.*x") in _NOT_SECRETS
        or not small.strip("*x.•-_")
        or _PLACEHOLDER.match(small) is not None
        or (_PLACE.match(small) is not None and not _is_base64(word))
        or _MOMENT.match(small) is not None
    )


def _is_base64(word: str) -> bool:
    return _BASE64.match(word) is not None and word.count("/") * 8 <= len(word) and is_random(word)


def is_password(word: str) -> bool:
    """Whether the word may be a password that a person chose: not a plain word, which is more likely a label or a
    type."""
    if len(word) < 5 or is_placeholder(word):
        return False
    return word.isdigit() or is_random(word) or _LETTER_AND_OTHER.match(word) is not None
