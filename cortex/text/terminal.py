"""Terminal output: colour only where a terminal shows it, and no printed text can control the terminal."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Literal, TextIO

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
PLAIN_COLUMNS = 80
_NARROWEST = 20
# Characters that show nothing: fillers, joiners, vowels that are never written, Braille without a dot, notes and
# hieroglyphs without a shape, the object replacement character, and variation selectors that emoji do not use.
_BLANKS = frozenset(
    (
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164),
        *(
            *range(0xFE00, 0xFE0E),
            0xFFA0,
            0xFFFC,
            0x1107F,
            0x13441,
            0x13442,
            0x16FE4,
            0x1D159,
            *range(0xE0100, 0xE01F0),
        ),
    )
)

# Persian words and emoji of several people need these, between two visible characters. Elsewhere they hide data.
_JOINERS = "\u200c\u200d"
# Emoji need these, once and after a symbol. Elsewhere, like others of their kind, they are invisible data.
_SELECTORS = "\ufe0e\ufe0f"
_HAVE_VARIANTS = "0123456789#*ℹ"
# No script stacks more marks than this; higher stacks cover the lines around them.
_MOST_MARKS = 4
_LEFT = f"\n\t{_JOINERS}"
# The decision about a character depends on at most this many characters before it.
_CONTEXT = _MOST_MARKS + 2


def has_colour(stream: TextIO) -> bool:
    """Whether the stream is a terminal with colour, and NO_COLOR is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def has_symbols(stream: TextIO) -> bool:
    """Whether the stream is a terminal that shows more than ASCII."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return stream.isatty() and os.environ.get("TERM") != "dumb" and encoding.lower().replace("-", "") == "utf8"


def picture_protocol(stream: TextIO) -> Literal["iterm", "kitty"] | None:
    """How the terminal shows pictures between its lines; None if it does not, or is no terminal. Inside tmux or screen
    the sequences would not arrive."""
    environment = os.environ
    if not stream.isatty() or "TMUX" in environment or environment.get("TERM", "").startswith(("screen", "tmux")):
        return None
    program = environment.get("TERM_PROGRAM", "")
    if environment.get("TERM") == "xterm-kitty" or "KITTY_WINDOW_ID" in environment or program == "ghostty":
        return "kitty"
    return "iterm" if program in {"iTerm.app", "WezTerm"} else None


def styled(text: str, style: str, stream: TextIO) -> str:
    """The text in a style, where the stream has colour."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if has_colour(stream) else text


def visible(text: str) -> str:
    """The text with every character spelled out that could control a terminal, change the reading direction, end a line
    for other programs, or be invisible."""
    # Each distinct character is checked once, however long the text is.
    found = set(text)
    unseen = {ord(character): spelled(character) for character in found if not is_seen(character)}
    if any(character in _JOINERS or _is_mark(character) for character in found):
        return "".join(_by_neighbours(text, unseen))
    return text.translate(unseen)


def _by_neighbours(text: str, unseen: Mapping[int, str]) -> Iterator[str]:
    """Also spell out joiners that join nothing, selectors that select nothing, and marks stacked too high."""
    before, marks = "", 0
    for place, character in enumerate(text):
        marks = marks + 1 if _is_mark(character) else 0
        if ord(character) in unseen:
            stays = False
        elif character in _JOINERS:
            after = text[place + 1 : place + 2]
            stays = (
                _can_be_joined(before) and _can_be_joined(after) and not _is_mark(after) and ord(after) not in unseen
            )
        elif character in _SELECTORS:
            stays = before != "" and _has_variants(before)
        else:
            stays = marks <= _MOST_MARKS
        before = character if stays else ""
        yield character if stays else spelled(character)


def _has_variants(character: str) -> bool:
    is_symbol = not character.isascii() and unicodedata.category(character)[0] in "SP"
    return is_symbol or character in _HAVE_VARIANTS


def _can_be_joined(character: str) -> bool:
    return not character.isascii() and not character.isspace() and character not in _JOINERS


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in {"Mn", "Me"}


def is_seen(character: str) -> bool:
    """Whether the character is visible, in any place."""
    # Python calls no space printable but the plain one.
    is_shown = character.isprintable() or character in _LEFT or unicodedata.category(character) == "Zs"
    return is_shown and ord(character) not in _BLANKS


def spelled(character: str) -> str:
    """The character as a JavaScript escape."""
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\u{{{code:x}}}"


def terminal_columns(stream: TextIO) -> int:
    """The width of the stream in columns; 80 if it is no terminal."""
    if not stream.isatty():
        return PLAIN_COLUMNS
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    if not columns:
        from shutil import get_terminal_size  # noqa: PLC0415 - it loads much, and the kill switch loads this file

        columns = get_terminal_size((PLAIN_COLUMNS, 24)).columns
    return max(columns, _NARROWEST)


def columns_of(text: str) -> int:
    """The width of the text in columns."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def fit(text: str, columns: int, cut: str = "…") -> str:
    """The text on one line of at most `columns`, with a mark where it was cut. Control characters are spelled out."""
    text = visible(" ".join(text.split())).encode(errors="backslashreplace").decode()
    if columns_of(text) <= columns:
        return text
    kept, used = [], 0
    for character in text:
        used += _columns(character)
        if used > columns - len(cut):
            break
        kept.append(character)
    return "".join(kept) + cut


def padded(text: str, columns: int) -> str:
    return text + " " * (columns - columns_of(text))


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width`. Control characters are spelled out."""
    wrap = Wrap(width)
    return (wrap.add(text) + wrap.end()).split("\n")


def hanging(head: str, text: str, columns: int) -> list[str]:
    """The text behind a head, as in a table: wrapped between words, and set in below itself."""
    indent = columns_of(head)
    lines = wrapped(text, max(columns - indent, _NARROWEST))
    return [(head if place == 0 else " " * indent) + line for place, line in enumerate(lines)]


class Wrap:
    """Wraps a text that comes in pieces: what `add` returns can be printed at once.

    The last word is held back until it is known to fit; `end` returns it.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._column = 0
        self._spaces = 0
        self._word = ""
        self._word_columns = 0
        self._before = ""
        self._joiner = ""

    def add(self, piece: str) -> str:
        text = self._joiner + piece
        # The next character shows whether it joins anything.
        self._joiner = text[-1] if text and text[-1] in _JOINERS else ""
        return self._add(text.removesuffix(self._joiner))

    def end(self) -> str:
        """Return what was held back. The next piece continues the same line."""
        rest = self._add(self._joiner) + self._word_out()
        self._joiner = ""
        self._spaces = 0
        return rest

    def _add(self, text: str) -> str:
        if not text:
            return ""
        before, self._before = self._before, (self._before + text)[-_CONTEXT:]
        return "".join(map(self._take, visible(before + text)[len(visible(before)) :]))

    def _take(self, character: str) -> str:
        if character == "\n":
            out = self._word_out() + "\n"
            self._column = self._spaces = 0
            return out
        if character in " \t":
            out = self._word_out()
            self._spaces += 1 if character == " " else 4
            return out
        columns = _columns(character)
        # Scripts with wide characters have no spaces: a line may end after each character. An endless word is broken.
        out = self._word_out() if columns > 1 or self._word_columns + columns > self._width else ""
        self._word += character
        self._word_columns += columns
        return out + (self._word_out() if columns > 1 else "")

    def _word_out(self) -> str:
        word, columns = self._word, self._word_columns
        if not word:
            return ""
        room = self._width - columns
        spaces = min(self._spaces, max(room, 0)) if self._column == 0 else self._spaces
        breaks = self._column > 0 and self._column + spaces > room
        self._column = columns if breaks else self._column + spaces + columns
        self._word, self._word_columns, self._spaces = "", 0, 0
        return f"\n{word}" if breaks else " " * spaces + word


def _columns(character: str) -> int:
    if _is_mark(character) or character in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
