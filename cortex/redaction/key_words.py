"""Finds secrets by the word before them (`password=`, `"api_key": `, `--token `, `Bearer `), and passwords in URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spans import NAMED, Span, searched
from .strength import is_password, is_placeholder, is_random

# The word in small letters, and what must stand before it to mean a secret; () means anything.
_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pass", ()),
    ("pwd", ()),
    ("secret", ()),
    ("token", ()),
    ("credential", ()),
    ("authorization", ()),
    ("cookie", ()),
    ("session", ()),
    ("key", ("api", "access", "private", "secret", "signing", "encryption", "account", "auth", "shared", "master")),
)
# Harmless: tokens for the next page of results, which the model needs, and public keys. They open nothing.
_HARMLESS = ("publickey", "public_key", "page", "next", "cursor", "continuation", "sync", "nextpage", "pagination")

_VALUE = re.compile(
    r"(?:word|wd|phrase|code)?(?:[_-]?(?:access[_-]?)?(?:key|value|id))?"
    r"(?:[\"'`\\\]]{0,8}\s{0,4}(?:=>|:=|[:=]{1,3}|\x1f| is | was )\s{0,4}|>|(?<=\w) (?=\S))"
    r"(?P<quote>[\\\"'`]{0,8})(?:(?:bearer|basic|token|digest)\s{1,4}|\w{1,20}=(?=\w{12}))?"
    r"(?P<value>[^\s\"'`\\,;&<>(){}\[\]\x1e\x1f]{4,256}+)(?P<after>[(.\[]?)"
)
# Letters that follow in other words, and never where _VALUE matches.
_GO_ON = frozenset("bdefghjlmnoqrstuyz.,)")
_QUOTED = re.compile(r"[^\s\"'`\\\x1e\x1f]{4,256}+")
_JUDGED = 256
# The rest of a value that was found to be a secret, up to this much.
_REST = re.compile(r"[^\s\"'`\\,;&<>(){}\[\]\x1e\x1f]{0,3840}+")
_QUOTED_REST = re.compile(r"[^\s\"'`\\\x1e\x1f]{0,3840}+")
# How often to check a word inside the value of the same word: "token=token=token=…" would cost two hundred characters
# for each.
_MAX_WITHIN = 2
_NAME = re.compile(r"[A-Za-z_$][\w$.]*;?")
_BEARER = re.compile(r"(?:bearer|basic)\s{1,4}([A-Za-z0-9._~+/=-]{12,4096}+)", re.IGNORECASE)
_CREDENTIALS = re.compile(
    r":/{2,4}(?:([^\s/?#@:\"'<>\\\x1e\x1f]{0,128}+):([^\s/?#@\"'<>\\\x1e\x1f]{1,256}+)|([^\s/?#@:\"'<>\\\x1e\x1f]{20,256}+))@"
)


def key_words(text: str, lowered: str) -> Iterator[Span]:
    # Checked first: nearly always there is none, and this costs less than a search.
    for word, befores in [entry for entry in _WORDS if entry[0] in lowered]:
        begin, value_end, within = 0, 0, 0
        while (at := lowered.find(word, begin)) >= 0:
            begin = at + len(word)
            # "tokens", "passed" and "keys" are everywhere, and checking one letter is cheaper than the pattern.
            if lowered[begin : begin + 1] in _GO_ON:
                continue
            if befores and not lowered[max(0, at - 12) : at].rstrip("_- ").endswith(befores):
                continue
            match = _VALUE.match(lowered, begin)
            if match is None:
                continue
            span = _judged(text, lowered, word, at, match)
            if span is not None:
                yield span
                begin = span.end
                continue
            within = within + 1 if at < value_end else 0
            value_end = max(value_end, match.end())
            if within >= _MAX_WITHIN:
                begin = value_end


def _judged(text: str, lowered: str, word: str, at: int, match: re.Match[str]) -> Span | None:
    start, end = match.span("value")
    between = lowered[at + len(word) : start]
    if not _is_meant(word, lowered[max(0, at - 16) : at], between, text[end : end + 1]):
        return None
    is_quoted = bool(match["quote"]) or between.endswith(NAMED)
    if is_quoted:
        quoted = _QUOTED.match(text, start)
        value = quoted[0] if quoted else ""
    else:
        value = text[start:end].rstrip(":.!?")
        if _is_code(value, match["after"], between):
            return None
    strong = is_password(value) if word in {"pass", "pwd"} else is_random(value) and not is_placeholder(value)
    if not strong:
        return None
    rest = (_QUOTED_REST if is_quoted else _REST).match(text, start + len(value)) if len(value) >= _JUDGED else None
    return Span(start, rest.end() if rest else start + len(value), "secret")


def _is_meant(word: str, before: str, between: str, after: str) -> bool:
    """Whether the word names the value, judged by what stands around it."""
    if between.endswith(">"):
        # <password>hunter2</password>
        return after == "<"
    if not any(sign in between for sign in (":", "=", "\x1f", " is ", " was ")) and "--" not in before:
        # A blank alone is enough only after a flag: "--password hunter2".
        return False
    if word == "token":
        return not before.rstrip("_-").endswith(_HARMLESS)
    if word == "pass" and not between.startswith(("word", "wd", "phrase", "code")):
        # Alone it is a verb, or the end of a word like "compass".
        return not before[-1:].isalpha() and not between.startswith(" ")
    return True


def _is_code(value: str, after: str, between: str) -> bool:
    """Whether the value is a name in code, as in `password = readPassword2()` or `token: user.token1`, or a number in
    JSON, such as a count of the word."""
    if after == "(" or (value.isdigit() and '"' in between):
        return True
    if " " not in between or is_random(value) or not _NAME.fullmatch(value):
        return False
    return "." in value or any(word in value.lower() for word in ("pass", "pwd", "secret", "token", "key"))


def bearers(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    for match in searched(_BEARER, text):
        if is_random(match[1]) and not text[match.start() - 1 : match.start()].isalnum():
            yield Span(match.start(1), match.end(1), "secret")


def url_passwords(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    if "@" not in text:
        return
    begin = 0
    while (at := text.find("://", begin)) >= 0:
        begin = at + 3
        match = _CREDENTIALS.match(text, at)
        if match is None:
            continue
        group = 2 if match[2] is not None else 3
        word = match[group]
        if not is_placeholder(word) and (group == 2 or is_random(word)):
            yield Span(match.start(group), match.end(group), "secret")
        begin = match.end()
