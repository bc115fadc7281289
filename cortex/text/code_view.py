"""Code as somebody sees it who has to consent to it: no two codes look the same, and nothing in one is hidden.

What a chat may show as it is, because people write so, can deceive in code: a letter that looks like another, a mark on
top of one, text that runs to the left. Here all of it is spelled out, also a blank that ends a line. What we write for
that is spelled out itself where code has it: from what is shown one can tell the code, character by character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from .terminal import columns_of, is_seen

CODE, MORE = "  | ", "  : "
"""How a line begins that shows code, and how one that goes on with the same line of it."""
TAB, BLANK = "→", "·"
"""Like the brackets of what is spelled out, these are not plain themselves, and must not become so."""

_MOST_LINES = 8
_PARTS = re.compile(r"[\w$]+|[^\w$]+")
_LAST_BLANKS = re.compile(r" +$", re.MULTILINE)

_LATIN = range(0xC0, 0x180)
_GREEK_AND_CYRILLIC = (range(0x386, 0x3CF), range(0x400, 0x460))
# A word that has one of these passes for no word of ASCII letters; "сор" does.
_TELLING = re.compile("[БДЖИЛПФЦЧШЩЪЫЭЮЯбджзилптфцчшщъыэюяΓΔΘΛΞΠΣΦΨΩβδεζηθλμξπσςφψω]")
_ASCII = re.compile(r"[\x00-\x7f]")
_SYMBOLS = range(0x2600, 0x27C0)
_PUNCTUATION = frozenset("–—…‘’‚“”„«»¡¿§°±×÷")
# Parts of Korean syllables look like the syllables that they make up.
_JAMO = (range(0x1100, 0x1200), range(0xA960, 0xA980))


def visible_code(code: str) -> str:
    """The code in the same lines, with all that could deceive spelled out: `⟨U+200B⟩`, `→` for a tab, and `·` for a
    blank at the end of a line."""
    shown = "".join(_shown(part) for part in _PARTS.findall(code))
    return _LAST_BLANKS.sub(lambda blanks: BLANK * len(blanks[0]), shown)


def code_lines(code: str) -> list[str]:
    """Each line of the code, behind a bar."""
    return [f"{CODE}{line}" for line in visible_code(code).split("\n")]


def broken(line: str, width: int) -> Iterator[str]:
    """One of `code_lines` in lines that are no wider. Breaks anywhere, and drops no blank."""
    room, head, piece, used = max(width - len(CODE), 2), CODE, "", 0
    for character in line.removeprefix(CODE):
        columns = columns_of(character)
        if used + columns > room:
            yield head + _LAST_BLANKS.sub(lambda blanks: BLANK * len(blanks[0]), piece)
            head, piece, used = MORE, "", 0
        piece += character
        used += columns
    yield head + piece


def beyond_ascii(code: str) -> str:
    """In which lines the code has characters that are not ASCII: `3, 7 and 2 more`; empty when in none."""
    found = [str(number) for number, line in enumerate(code.split("\n"), 1) if not line.isascii()]
    more = len(found) - _MOST_LINES
    return ", ".join(found[:_MOST_LINES]) + (f" and {more} more" if more > 0 else "")


def _shown(part: str) -> str:
    if part.isascii() and part.isprintable():
        return part
    is_foreign = bool(_TELLING.search(part)) and not _ASCII.search(part)
    return "".join(map(_spelled, part)) if not is_foreign else "".join(map(_spelled_unless_foreign, part))


def _spelled_unless_foreign(character: str) -> str:
    is_letter = any(ord(character) in script for script in _GREEK_AND_CYRILLIC) and character.isalpha()
    return character if is_letter else _spelled(character)


def _spelled(character: str) -> str:
    if character == "\t":
        return TAB
    return character if _is_plain(character) else f"⟨U+{ord(character):04X}⟩"


def _is_plain(character: str) -> bool:
    """Looks like itself and like nothing else, whatever stands beside it."""
    code = ord(character)
    if code < 0x80:
        return character.isprintable() or character == "\n"
    if not is_seen(character):
        return False
    if character in _PUNCTUATION:
        return True
    kind = unicodedata.category(character)
    runs_left = unicodedata.bidirectional(character) in {"R", "AL", "AN"}
    if kind[0] not in "LNPS" or runs_left or unicodedata.normalize("NFKC", character) != character:
        return False
    is_wide = unicodedata.east_asian_width(character) == "W" and not any(code in jamo for jamo in _JAMO)
    return is_wide or kind == "Sc" or (kind == "So" and code in _SYMBOLS) or (kind[0] == "L" and code in _LATIN)
