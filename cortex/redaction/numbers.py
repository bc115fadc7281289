"""Finds personal numbers (social security, cards, IBANs, phones) and, in the same pass, IPv4 addresses.

One pattern for everything that begins with a digit, so that a text is scanned once. It is strict, because each false
match costs a hundred times as much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .addresses import is_ipv4
from .checksums import IBAN_LENGTHS, is_card, is_iban
from .spans import NAMED, Span, searched

_NUMBER = re.compile(
    # The first digit is taken before the lookbehind, because a pattern that begins with a lookbehind is slow to search.
    # The lookahead holds for everything that follows, and for few ordinary numbers.
    r"[0-9](?<![\w.][0-9])(?=[0-9]{0,4}[-. \xa0]|[0-9]{13})(?:"
    r"(?P<ip>[0-9]{0,2}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(?!\w|\.[0-9]|-[A-Za-z]))"
    r"|(?<![0-9]-[0-9])(?:"
    r"(?P<ssn>[0-9]{2}-[0-9]{2}-[0-9]{4}(?![\w-]))"
    r"|(?<=[2-6])(?P<card>[0-9]{3}(?:[0-9]{10,15}|"
    r"(?P<by>[ \xa0-])[0-9]{4}(?P=by)[0-9]{4}(?P=by)[0-9]{4}(?:(?P=by)[0-9]{3})?|"
    r"(?P<in>[ \xa0-])[0-9]{6}(?P=in)[0-9]{4,5})(?!\w|[.-][0-9]))"
    r"|(?P<phone>(?<=1)(?P<a>[-. ])[2-9][0-9]{2}(?P=a)[2-9][0-9]{2}(?P=a)[0-9]{4}(?![\w-]|\.[0-9])"
    r"|(?<=[2-9])[0-9]{2}(?P<b>[-.])[2-9][0-9]{2}(?P=b)[0-9]{4}(?![\w-]|\.[0-9])"
    # France; then Britain and others in three groups; then numbers that begin with 00 and a country.
    r"|(?<=0)[1-9](?P<c>[ .-])[0-9]{2}(?P=c)[0-9]{2}(?P=c)[0-9]{2}(?P=c)[0-9]{2}(?![\w.-])"
    r"|(?<=0)[1-9][0-9]{1,3} [0-9]{3,4} [0-9]{3,4}(?![\w-]| ?[0-9]|\.[0-9])"
    r"|(?<=0)0[1-9][0-9]{0,2}(?:[ -][0-9]{2,9}){2,5}(?![\w-]|\.[0-9]))"
    r"))"
)
_INTERNATIONAL = re.compile(
    r"\+(?<![\w+]\+)[1-9](?:[0-9]|[ .-]{1,2}[0-9]|[ -]?\([0-9]{1,4}\)[ -]?){7,16}(?!\w|[./][0-9])"
)
_AMERICAN = re.compile(r"\((?<!\w\()[2-9][0-9]{2}\) ?[2-9][0-9]{2}[-. ][0-9]{4}(?!\w)")
_IBAN = re.compile(r"[A-Z](?<!\w[A-Z])[A-Z][0-9]{2}(?:[ \xa0-]?[A-Z0-9]{4}){2,7}(?:[ \xa0-]?[A-Z0-9]{1,3}(?!\w))?")
_BLANKS = re.compile(r"[ \xa0-]")

_SSN_WORDS = re.compile(
    r"(?:ssn|social[ _-]security)(?:[ _-]?(?:number|no\.?|#))?[^\w+(\n]{1,16}"
    r"([0-9]{3})[ .-]?([0-9]{2})[ .-]?([0-9]{4})(?![\w-])"
)

# Country codes without the "+": two digits, unless three are assigned.
_COUNTRIES = (
    "20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 "
    "91 92 93 94 95 98"
)
_TWO = frozenset(_COUNTRIES.split())
_THREE_BEGIN = tuple("21 22 23 24 25 26 29 35 37 38 42 50 59 67 68 69 80 85 87 88 96 97 99".split())  # noqa: SIM905
_NOT_DIGIT = re.compile(r"[^0-9]")

# Words in small letters; the number follows after at most a few signs.
_PHONE_WORDS = ("phone", "mobil", "cell", "tel", "fax", "whatsapp", "sms", "fono", "call")
_PARTS_OF_PHONE_WORDS = ("cell", "call", "tel")
_NAMED_PHONE = re.compile(
    r"(?:efon|e)?(?:_?(?:number|nummer|no|nr|num))?[\"'\\]{0,8}[.:=#\s\x1f>]{1,4}(?:me |us )?(?:at |on )?[\"'\\]{0,8}"
    r"(\+?\(?[0-9](?:[0-9]|[ ./-]{1,2}[0-9]|[ /-]?[()][ /-]?[0-9]){5,17})(?!\w|[.,:-][0-9])"
)


def numbers(text: str, lowered: str) -> Iterator[Span]:
    for match in searched(_NUMBER, text):
        start, end = match.start(), match.end()
        if match["ssn"] is not None:
            if is_ssn(text[start : start + 3], text[start + 4 : start + 6], text[start + 7 : end]):
                yield Span(start, end, "ssn")
        elif match["ip"] is not None:
            if is_ipv4(lowered, start, end):
                yield Span(start, end, "ip")
        elif match["card"] is not None:
            if is_card(_BLANKS.sub("", match[0])) and not _is_negative(text, start):
                yield Span(start, end, "card")
        elif not match[0].startswith("00") or is_international(match[0][2:]):
            yield Span(start, end, "phone")


def _is_negative(text: str, start: int) -> bool:
    return text[start - 1 : start] == "-" and not text[max(0, start - 2) : start - 1].isalnum()


def phones(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    for match in searched(_INTERNATIONAL, text) if "+" in text else ():
        if is_international(match[0][1:]):
            yield Span(match.start(), match.end(), "phone")
    for match in searched(_AMERICAN, text) if "(" in text else ():
        yield Span(match.start(), match.end(), "phone")


def ibans(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    for match in searched(_IBAN, text):
        length = IBAN_LENGTHS.get(match[0][:2], 0)
        account = _BLANKS.sub("", match[0])
        # The match may include capitals or digits that follow the account.
        end = match.start() + _reach(match[0], length)
        if length and is_iban(account[:length]) and not text[end : end + 1].isalnum():
            yield Span(match.start(), end, "iban")


def named_ssns(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    """Nine digits without hyphens count only after a word that says what they are."""
    if "ssn" in lowered or "social" in lowered:
        for match in searched(_SSN_WORDS, lowered.replace(NAMED, ":")):
            if is_ssn(*match.groups()):
                yield Span(match.start(1), match.end(3), "ssn")


def is_ssn(area: str, group: str, serial: str) -> bool:
    return area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"


def _reach(text: str, characters: int) -> int:
    """The length of the text up to the given number of characters, not counting separators."""
    for place, character in enumerate(text):
        characters -= character not in " \xa0-"
        if not characters:
            return place + 1
    return len(text)


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
    for word in [word for word in _PHONE_WORDS if word in lowered]:
        begin = 0
        while (at := lowered.find(word, begin)) >= 0:
            begin = at + len(word)
            number = _NAMED_PHONE.match(lowered, begin)
            if number is None or (word in _PARTS_OF_PHONE_WORDS and lowered[at - 1 : at].isalpha()):
                continue
            found = _NOT_DIGIT.sub("", number[1])
            if 7 <= len(found) <= 15 and not _is_date(number[1]):
                yield Span(number.start(1), number.end(1), "phone")
            begin = number.end()


def _is_date(number: str) -> bool:
    return re.match(r"(?:19|20)[0-9]{2}-?[01][0-9]-?[0-3][0-9](?![0-9])", number.lstrip("+(")) is not None
