"""Recognises phone numbers: by their country code, or by a word for "phone" just before."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spans import Span

# Country codes without the "+": two digits, unless three are assigned.
_COUNTRIES = (
    "20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 "
    "91 92 93 94 95 98"
)
_TWO = frozenset(_COUNTRIES.split())
_THREE_BEGIN = tuple("21 22 23 24 25 26 29 35 37 38 42 50 59 67 68 69 80 85 87 88 96 97 99".split())  # noqa: SIM905
_NOT_DIGIT = re.compile(r"[^0-9]")

# Words in small letters; the number follows after at most a few signs.
_WORDS = ("phone", "mobil", "cell", "tel", "fax", "whatsapp", "sms", "fono", "call")
_PARTS_OF_WORDS = ("cell", "call", "tel")
_NUMBER = re.compile(
    r"(?:efon|e)?(?:_?(?:number|nummer|no|nr|num))?[\"'\\]{0,8}[.:=#\s\x1f>]{1,4}(?:me |us )?(?:at |on )?[\"'\\]{0,8}"
    r"(\+?\(?[0-9](?:[0-9]|[ ./-]{1,2}[0-9]|[ /-]?[()][ /-]?[0-9]){5,17})(?!\w|[.,:-][0-9])"
)


def is_international(number: str) -> bool:
    """Whether the number, without its "+" or "00", has a country code and as many digits as phones have there."""
    digits = _NOT_DIGIT.sub("", number)
    # One dot is a decimal point, and dots beside hyphens are coordinates.
    if "." in number and (number.count(".") < 2 or "-" in number):
        return False
    if digits[0] == "1":
        return len(digits) == 11 and digits[1] > "1" and digits[4] > "1"
    if digits[0] == "7":
        return len(digits) == 11
    return (digits[:2] in _TWO or digits.startswith(_THREE_BEGIN)) and 9 <= len(digits) <= 13


def named_phones(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    """Any digits that could be a phone number, after a word for it."""
    for word in [word for word in _WORDS if word in lowered]:
        begin = 0
        while (at := lowered.find(word, begin)) >= 0:
            begin = at + len(word)
            number = _NUMBER.match(lowered, begin)
            if number is None or (word in _PARTS_OF_WORDS and lowered[at - 1 : at].isalpha()):
                continue
            found = _NOT_DIGIT.sub("", number[1])
            if 7 <= len(found) <= 15 and not _is_date(number[1]):
                yield Span(number.start(1), number.end(1), "phone")
            begin = number.end()


def _is_date(number: str) -> bool:
    return re.match(r"(?:19|20)[0-9]{2}-?[01][0-9]-?[0-3][0-9](?![0-9])", number.lstrip("+(")) is not None
