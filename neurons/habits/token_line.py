"""Writes a script as one line of tokens, so that it can be seen whether two wordings differ in one place only. Pure.

It reads tokens and no syntax: one pass of bounded length, without a parser that could hang. Spacing, comments, logging,
`const` and `await`, and the content of constant data make no difference; strings are kept as hashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from zlib import crc32

MAX_CODE = 16_000
MAX_TOKENS = 400
MAX_LINE = 8_000
MAX_TEXT = 40
MAX_REGEX = 80
# The first character of a piece says what it is.
NAME, MEMBER, KEY, PARAMETER, GLOBAL, NUMBER, TEXT, REGEX, DATA, WORD, SIGN = 'n.k~g#"/dwo'

_SPACE = re.compile(r"\s+|//[^\n]*")
_NAME = re.compile(r"[A-Za-z_$#][\w$]*")
_NUMBER = re.compile(r"0[xX][\da-fA-F_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?")
_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*+"|' + r"'(?:[^'\\\n]|\\.)*+'", re.DOTALL)
# Bounded: what only begins like a regular expression is not read again and again to its end.
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,100}+\]){1,200}+/[a-z]*")
_CHUNK = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*+", re.DOTALL)
_SIGNS = re.compile(
    r"\?\?=|\*\*=|&&=|\|\|=|===|!==|>>>|\.\.\.|=>|\?\.(?!\d)|\?\?|&&|\|\||==|!=|<=|>=|\+\+|--|\+=|-=|\*=|/=|%=|\*\*|."
)
_WORD_IN_TEXT = re.compile(r"[A-Za-z]\w*")
_GLOBALS_TEXT = """
    Math JSON Number String Boolean Object Array Date Map Set RegExp parseInt parseFloat isNaN isFinite fetch tools
    context console encodeURIComponent decodeURIComponent encodeURI decodeURI URL URLSearchParams Intl Promise Infinity
    NaN undefined btoa atob structuredClone store display TextEncoder TextDecoder crypto BigInt Symbol
"""
_GLOBALS = frozenset(_GLOBALS_TEXT.split())
_WORDS_TEXT = """
    return if else for of in while do break continue switch case default new typeof instanceof function class null true
    false throw try catch finally delete void this yield
"""
_WORDS = frozenset(_WORDS_TEXT.split())
_VALUES = frozenset({"wthis", "wnull", "wtrue", "wfalse", "o)", "o]", "o}"})
_DROPPED = frozenset({"const", "let", "var", "async", "await"})
_SAME = {"===": "==", "!==": "!=", "?.": ".", "++": "+=", "--": "-="}
_OPENING, _CLOSING = ("o[", "o{", "o("), ("o]", "o}", "o)")
_IN_DATA = frozenset({"o,", "o:", "o-", "wtrue", "wfalse", "wnull"})
_BEFORE_BLOCK = frozenset({"o)", "o=>", "o{", "o}", "welse", "wtry", "wfinally", "wdo"})
# Words that stand for a state or a direction: another one of them is another script, and not another value.
_STATES_TEXT = """
    open opened closed close paid unpaid due overdue pending active inactive done todo enabled disabled success
    succeeded failed failure error warning info debug passed draft published unpublished public private read unread
    write asc desc ascending descending up down left right credit debit income expense incoming outgoing inbound
    outbound buy sell sent received win won loss lost draw min max first last start end morning afternoon evening
    night even odd home away online offline on off yes no in out accepted declined rejected approved cancelled canceled
    shipped delivered returned available unavailable free busy merged unmerged new old hit miss add remove added removed
    created deleted updated locked unlocked valid invalid male female adult child metric imperial celsius fahrenheit
"""
STATES = frozenset(_STATES_TEXT.split())
# What such an argument is called with is a choice between ways to act, and not a value.
_CHOICES_TEXT = """
    action access visibility permission permissions role mode operation op method direction order sort side scope policy
    state status decision verdict outcome answer vote
"""
CHOICES = frozenset(KEY + one for one in _CHOICES_TEXT.split())


def line_of(code: str) -> str:
    """The tokens of the code; empty when there are too many of them, and then it is never compared."""
    return "" if len(code) > MAX_CODE else _line_of(code)


@lru_cache(maxsize=64)
def _line_of(code: str) -> str:
    # Cached: a habit is code that comes again.
    tokens = _Tokens(code).all()
    if tokens is None:
        return ""
    line = " ".join(_kept(_collapsed(_plain(tokens)))).encode(errors="replace").decode()
    return line if len(line) <= MAX_LINE else ""


class _Tokens:
    """Reads one piece after the other; a string that is put together is read as the sum of its pieces."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._at = 0
        self._found: list[str] = []
        self._open: list[int] = []
        """For each template that is open, how many braces are open in it."""

    def all(self) -> list[str] | None:
        code, end = self._code, len(self._code)
        while self._at < end:
            space = _SPACE.match(code, self._at)
            if space is not None:
                self._at = space.end()
            elif code.startswith("/*", self._at):
                closed = code.find("*/", self._at + 2)
                self._at = end if closed < 0 else closed + 2
            else:
                self._one()
            if len(self._found) > 3 * MAX_TOKENS:
                return None
        return self._found

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._code, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _one(self) -> None:
        first = self._code[self._at]
        if first == "}" and self._open and not self._open[-1]:
            self._open.pop()
            self._at += 1
            self._add(SIGN, ")")
            self._template(is_first=False)
        elif first == "`":
            self._at += 1
            self._template(is_first=True)
        elif first in "'\"":
            text = self._take(_TEXT)
            self._add(TEXT, text[1:-1])
            # A string without an end: no script, and not to be looked for at each quote.
            self._at = self._at if text else len(self._code)
        elif first == "/" and self._may_be_regex() and (regex := self._take(_REGEX)):
            self._add(REGEX, regex)
        elif name := self._take(_NAME):
            self._name(name)
        elif number := self._take(_NUMBER):
            self._add(NUMBER, _number(number))
            self._at += self._code.startswith("n", self._at)
        else:
            self._sign(self._take(_SIGNS) or first)

    def _sign(self, sign: str) -> None:
        if sign == "\n":
            self._at += 1
        if self._open and sign in "{}":
            self._open[-1] += 1 if sign == "{" else -1
        self._add(SIGN, _SAME.get(sign, sign))
        if sign in ("++", "--"):
            self._add(NUMBER, "1")

    def _name(self, name: str) -> None:
        if self._found and self._found[-1] == "o.":
            self._found[-1] = MEMBER + name
        elif name not in _DROPPED:
            self._add(WORD if name in _WORDS else GLOBAL if name in _GLOBALS else NAME, name)

    def _template(self, *, is_first: bool) -> None:
        text = self._take(_CHUNK)
        if text and not is_first:
            self._add(SIGN, "+")
        if text or (is_first and self._code.startswith("`", self._at)):
            self._add(TEXT, text)
        if self._code.startswith("${", self._at):
            self._at += 2
            if text or not is_first:
                self._add(SIGN, "+")
            self._add(SIGN, "(")
            self._open.append(0)
        else:
            self._at += 1

    def _may_be_regex(self) -> bool:
        last = self._found[-1] if self._found else "o;"
        return last[0] in (SIGN, WORD) and last not in _VALUES

    def _add(self, kind: str, text: str) -> None:
        self._found.append(kind + text)


def _without_logging(tokens: list[str]) -> list[str]:
    kept: list[str] = []
    depth = 0
    is_logging = False
    for piece in tokens:
        if piece == "gconsole":
            is_logging, depth = True, 0
        elif is_logging:
            depth += (piece == "o(") - (piece == "o)")
            is_logging = depth > 0 or piece[0] == MEMBER
        else:
            kept.append(piece)
    return kept


def _plain(tokens: list[str]) -> list[str]:
    """Without what is style: logging, semicolons, last commas, brackets around a single name."""
    tokens = _without_logging(tokens)
    kept: list[str] = []
    for position, piece in enumerate(tokens):
        if piece == "o;":
            continue
        after = tokens[position + 1] if position + 1 < len(tokens) else ""
        last = kept[-1] if kept else ""
        if piece in _CLOSING and last == "o,":
            kept.pop()
        if after == "o:" and last in ("o{", "o,") and piece[0] in (NAME, TEXT, WORD, GLOBAL):
            kept.append(KEY + piece[1:])
        elif piece == "o=>" and last == "o)" and kept[-3:-2] == ["o("] and kept[-2][0] == NAME:
            kept[-3:] = [kept[-2], piece]
        elif piece == "o)" and kept[-2:-1] == ["o("] and last[0] in (NAME, NUMBER) and kept[-3:-2] == ["o+"]:
            # What a template inserts, or a piece of a sum.
            kept[-2:] = [last]
        else:
            kept.append(piece)
    return kept


def _collapsed(tokens: list[str]) -> list[str]:
    """Constant arrays and objects as one piece: they are data. Of a small one its flags are kept."""
    kept: list[str] = []
    opened: list[tuple[int, bool]] = []
    for piece in tokens:
        last = kept[-1] if kept else ""
        if piece in _OPENING:
            is_index = piece == "o[" and (last[:1] in (NAME, MEMBER, GLOBAL) or last in ("o)", "o]"))
            is_block = piece == "o{" and last in _BEFORE_BLOCK
            opened.append((len(kept), piece != "o(" and not is_index and not is_block))
        elif piece in _CLOSING and opened:
            start, is_data = opened.pop()
            if is_data and len(kept) > start + 1:
                flags = [one[1] for one in kept[start:] if one in ("wtrue", "wfalse")]
                kept[start:] = [DATA + "".join(flags[:3])]
                continue
            opened = opened if is_data else _not_constant(opened)
        elif not (piece[0] in (TEXT, NUMBER, KEY) or piece in _IN_DATA):
            opened = _not_constant(opened)
        kept.append(piece)
    return kept


def _not_constant(opened: list[tuple[int, bool]]) -> list[tuple[int, bool]]:
    return [*opened[:-1], (opened[-1][0], False)] if opened else opened


def _kept(tokens: list[str]) -> Iterator[str]:
    """The tokens as they are kept: texts as hashes, and members that are named in a text as parameters."""
    named = {word.lower() for one in tokens if one[0] == TEXT for word in _WORD_IN_TEXT.findall(one[:200])}
    for position, piece in enumerate(tokens):
        kind, text = piece[0], piece[1:]
        is_choice = position > 1 and tokens[position - 2].lower() in CHOICES
        match kind:
            case '"':
                yield TEXT + (f"={text.lower()[:MAX_TEXT]}" if is_choice or text.lower() in STATES else _hash(text))
            case "/":
                yield REGEX + re.sub(r"\s", "\\\\s", text[:MAX_REGEX])
            case "." if text.lower() in named or (text.isupper() and len(text) > 1):
                yield PARAMETER + text[:MAX_TEXT]
            case "k":
                yield KEY + re.sub(r"\s", "_", text[:MAX_TEXT])
            case _:
                yield piece[: MAX_TEXT + 1]


def _number(text: str) -> str:
    text = text.replace("_", "")
    try:
        return str(int(text, 16)) if text[:2].lower() == "0x" else f"{float(text):.12g}"
    except (ValueError, OverflowError):
        return text


def _hash(text: str) -> str:
    return f"{crc32(text.encode(errors='replace')):08x}"
