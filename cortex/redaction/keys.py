"""Finds API keys of well-known services by their prefix and the shape of the rest, JWTs, and private keys in PEM."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from .spans import BETWEEN, MAX_VALUE_CHARACTERS, NAMED, Span, searched
from .strength import is_random

# Prefixes that end with a sign. One search for the sign, with two letters before it and a long word after it, finds the
# places of all; a search for each prefix would cost four times as much.
_SIGNED: dict[str, str] = {
    "sk-": r"[\w-]{20,300}",
    "glpat-": r"[\w-]{20,255}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?",
    "glrt-": r"[\w-]{20,255}",
    "gldt-": r"[\w-]{20,255}",
    **{f"xox{letter}-": r"[\w-]{16,250}" for letter in "abcdeprs"},
    "xoxe.xoxp-": r"[\w-]{16,250}",
    "xapp-": r"[\w-]{20,250}",
    "pypi-": r"AgE[\w-]{50,500}",
    "xai-": r"[A-Za-z0-9]{40,100}",
    "pplx-": r"[A-Za-z0-9]{40,64}",
    "sq0atp-": r"[\w-]{22,43}",
    "sq0csp-": r"[\w-]{22,43}",
    "key-": r"[a-f0-9]{32}",
    "NRAK-": r"[A-Z0-9]{27}",
    "GOCSPX-": r"[\w-]{28}",
    "AGE-SECRET-KEY-": r"1[A-Z0-9]{58}",
    "ya29.": r"[\w-]{20,1000}",
    "SG.": r"[\w-]{16,32}\.[\w-]{32,64}",
    "hvs.": r"[\w-]{24,200}",
    "sk_live_": r"\w{16,200}",
    "sk_test_": r"\w{16,200}",
    "rk_live_": r"\w{16,200}",
    "rk_test_": r"\w{16,200}",
    "whsec_": r"[\w+/=]{20,200}",
    **{f"gh{letter}_": r"\w{30,255}" for letter in "pousr"},
    "github_pat_": r"\w{40,255}",
    "npm_": r"[A-Za-z0-9]{36}",
    "hf_": r"[A-Za-z0-9]{30,40}",
    "gsk_": r"[A-Za-z0-9]{40,64}",
    "r8_": r"[A-Za-z0-9]{37}",
    "dop_v1_": r"[a-f0-9]{64}",
    **{f"{name}_": r"[a-fA-F0-9]{32}" for name in ("shpat", "shpss", "shpca", "shppa")},
    "lin_api_": r"[A-Za-z0-9]{32,64}",
    "ntn_": r"[A-Za-z0-9]{40,50}",
    "secret_": r"[A-Za-z0-9]{43}",
    "figd_": r"[\w-]{32,60}",
    "dckr_pat_": r"[\w-]{20,60}",
    "glsa_": r"[A-Za-z0-9]{32}_[a-f0-9]{8}",
    "sntrys_": r"[\w+/=-]{40,300}",
    "sbp_": r"[a-f0-9]{40}",
    "rubygems_": r"[a-f0-9]{48}",
}
# Prefixes without a sign: found by a plain search for each.
_UNSIGNED: dict[str, str] = {
    "AKIA": r"[A-Z0-9]{16}",
    "ASIA": r"[A-Z0-9]{16}",
    "ATATT3": r"[\w=-]{50,250}",
    "AIza": r"[\w-]{35}",
    "dapi": r"[a-f0-9]{32}(?!\w)",
}
_HOOKS = re.compile(r"hooks(?:\.slack\.com/services/([\w/]{20,120})|(?<=/api/webhooks)/([0-9]{15,22}/[\w-]{50,100}))")
# With these names after "sk-" and this many characters, no test for randomness is needed.
_NAMED_SK = re.compile(r"(?:ant|proj|svcacct|or-v1)-[\w-]{40}")
_NAME_OF_SK = re.compile(r"(?:ant|proj|svcacct|admin|or-v1|lf)-")
_LONG_NUMBER = re.compile(r"[0-9]{9}")
_TELEGRAM = re.compile(r":AA[\w-]{33}(?![\w-])")
_BOT = re.compile(r"(?:(?<![\w-])|(?<=/bot))[0-9]{8,10}\Z")

_JWT = re.compile(r"eyJ[\w-]{0,4096}+(?:\.[\w-]{0,16384}+){0,4}+")
_BEGIN = "-----BEGIN "
_PEM_LABEL = re.compile(r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# Including the END line.
_MIN_PEM = 72


def signed_keys(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    for sign in [sign for sign in "-_." if sign in text]:
        by_end, places = _places(sign)
        for place in searched(places, text):
            begin = place.end()
            for prefix in by_end[text[begin - 3 : begin]]:
                start = begin - len(prefix)
                # Checked before the shape: in "ghp_ghp_ghp_…" a long word follows each of them.
                if not text.startswith(prefix, start) or not begins(text, start):
                    continue
                match = _compiled(_SIGNED[prefix]).match(text, begin)
                if match is not None and _is_key(prefix, match[0]):
                    yield Span(start, match.end(), "api_key")
                    break


def unsigned_keys(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    for prefix in [prefix for prefix in _UNSIGNED if prefix in text]:
        begin = 0
        while (at := text.find(prefix, begin)) >= 0:
            begin = at + len(prefix)
            match = _compiled(_UNSIGNED[prefix]).match(text, begin) if begins(text, at) else None
            if match is not None:
                yield Span(at, match.end(), "api_key")
                begin = match.end()


def hooks(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    for match in searched(_HOOKS, text):
        yield Span(match.start(match.lastindex or 0), match.end(), "api_key")


def bots(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    """Keys of Telegram bots: the number of a bot, and its key."""
    for match in searched(_TELEGRAM, text):
        before = _BOT.search(text[max(0, match.start() - 15) : match.start()])
        if before is not None:
            yield Span(match.start() - len(before[0]), match.end(), "api_key")


def begins(text: str, at: int) -> bool:
    return at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_-")


def _is_key(prefix: str, rest: str) -> bool:
    """Whether the match is a key, and not words with hyphens as in style sheets: `sk-cube-grid-animation`. Random text
    may have hyphens anywhere, so they are removed before it is judged."""
    if prefix == "sk-":
        name = _NAME_OF_SK.match(rest)
        return _NAMED_SK.match(rest) is not None or _is_random(rest[name.end() if name else 0 :])
    if prefix.startswith(("xox", "xapp")):
        return _LONG_NUMBER.search(rest) is not None or _is_random(rest)
    return True


def _is_random(rest: str) -> bool:
    return is_random(rest.replace("-", "").replace("_", ""))


@cache
def _places(sign: str) -> tuple[dict[str, list[str]], re.Pattern[str]]:
    """The prefixes with this sign by their last three characters, the longest first, and the pattern for where one may
    end."""
    by_end: dict[str, list[str]] = {}
    for prefix in sorted((prefix for prefix in _SIGNED if prefix.endswith(sign)), key=len, reverse=True):
        by_end.setdefault(prefix[-3:], []).append(prefix)
    ends = "|".join(map(re.escape, by_end))
    return by_end, re.compile(rf"{re.escape(sign)}(?<={ends})(?=[\w+/=-]{{16}})")


@cache
def _compiled(shape: str) -> re.Pattern[str]:
    """Compiled on demand: compiling all fifty at the start would delay each command."""
    return re.compile(f"(?:{shape})")


def jwts(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    begin = 0
    while (at := text.find("eyJ", begin)) >= 0:
        match = _JWT.match(text, at)
        assert match is not None
        # Skip all of it: a megabyte of "eyJeyJ…" is searched once.
        begin = match.end()
        parts = match[0].rstrip(".").split(".")
        # A page cursor is base64, too, but has no dots.
        if len(parts) < 2 or not begins(text, at):
            continue
        if parts[1].startswith("eyJ") or (len(parts) >= 3 and _says_how(parts[0])):
            yield Span(at, at + len(match[0].rstrip(".")), "jwt")


def _says_how(header: str) -> bool:
    import base64  # noqa: PLC0415 - few texts need it

    try:
        return b'"alg"' in base64.urlsafe_b64decode(header + "=" * (-len(header) % 4))
    except ValueError:
        return False


def private_keys(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    """The whole block; without an END line, as in a cut text, everything up to the end of the text."""
    begin, end = 0, None
    while (at := text.find(_BEGIN, begin)) >= 0:
        begin = at + len(_BEGIN)
        label = _PEM_LABEL.match(text, begin)
        if label is None:
            continue
        # Searched once: a thousand BEGIN lines without an END must not search the text a thousand times.
        if end is None or end < label.end():
            found = next(searched(_PEM_END, text, label.end()), None)
            end = found.end() if found else len(text) + MAX_VALUE_CHARACTERS
        is_whole = end - at <= MAX_VALUE_CHARACTERS
        begin = end if is_whole else _end_of_string(text, at)
        # Programs that read keys contain both lines, with no key between them.
        if not is_whole or begin - label.end() >= _MIN_PEM:
            # A key given as a list of lines spans several strings, and each is replaced.
            yield Span(at, begin, "private_key")


def _end_of_string(text: str, at: int) -> int:
    end = text.find(BETWEEN, at)
    end = len(text) if end < 0 else end
    named = text.find(NAMED, at, end)
    return end if named < 0 else named
