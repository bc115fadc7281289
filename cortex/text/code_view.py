"""Shows code to the owner who must consent to it: different code always looks different, and nothing is hidden.

Some characters are harmless in a chat and can deceive in code: a letter that looks like another, a combining mark, text
that runs from right to left. Here all of it is spelled out, also a blank at the end of a line. Our own marks
are spelled out, too, where the code contains them: the code can be read back from what is shown, character by
character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from .terminal import columns_of, is_seen

CODE, MORE = "  | ", "  : "
"""The beginning of a line of code, and the beginning of its continuation lines."""
TAB, BLANK = "→", "·"
"""Like the brackets around spelled-out characters, these are not plain characters, and must never be treated as
plain."""

_MOST_LINES = 8
_PARTS = re.compile(r"[\w$]+|[^\w$]+")
_LAST_BLANKS = re.compile(r" +$", re.MULTILINE)

_LATIN = range(0xC0, 0x180)
_GREEK_AND_CYRILLIC = (range(0x386, 0x3CF), range(0x400, 0x460))
# A word with one of these letters cannot pass for a word in ASCII letters; "сор" can.
_TELLING = re.compile("[БДЖИЛПФЦЧШЩЪЫЭЮЯбджзилптфцчшщъыэюяΓΔΘΛΞΠΣΦΨΩβδεζηθλμξπσςφψω]")
_ASCII = re.compile(r"[\x00-\x7f]")
_SYMBOLS = range(0x2600, 0x27C0)
_PUNCTUATION = frozenset("–—…‘’‚“”„«»¡¿§°±×÷")
# Parts of Korean syllables look like the syllables they form.
_JAMO = (range(0x1100, 0x1200), range(0xA960, 0xA980))


def visible_code(code: str) -> str:
    """The code in the same lines, with everything deceptive spelled out: `⟨U+200B⟩`, `→` for a tab, and `·` for a blank
    at the end of a line."""
    shown = "".join(_shown(part) for part in _PARTS.findall(code))
    return _LAST_BLANKS.sub(lambda blanks: BLANK * len(blanks[0]), shown)


def code_lines(code: str) -> list[str]:
    """Each line of the code, after a bar."""
    return [f"{CODE}{line}" for line in visible_code(code).split("\n")]


def broken(line: str, width: int) -> Iterator[str]:
    """A line from `code_lines` broken into lines of at most `width`. Breaks anywhere, and drops no blank."""
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
    """The lines with characters beyond ASCII: `3, 7 and 2 more`; empty when there are none."""
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
    """Whether the character looks only like itself, whatever stands beside it."""
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
