"""Keys that have a shape of their own: those of well-known services, JWTs, and private keys in PEM."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from .spans import BETWEEN, NAMED, Span
from .strength import is_random

# How each begins, and how it goes on. Found by a plain search for the beginning, which is what costs least.
_SHAPES: tuple[tuple[str, str], ...] = (
    ("sk-", r"(?:ant-|proj-|svcacct-|admin-|or-v1-|lf-)?[\w-]{20,300}"),
    ("glpat-", r"[\w-]{20,255}"),
    ("xox", r"[abeprs](?:\.[\w-]+)?-[\w-]{10,250}"),
    ("xapp-", r"[\w-]{20,250}"),
    ("AKIA", r"[A-Z0-9]{16}"),
    ("ASIA", r"[A-Z0-9]{16}"),
    ("AIza", r"[\w-]{35}"),
    ("ya29.", r"[\w-]{20,1000}"),
    ("pypi-", r"AgE[\w-]{50,500}"),
    ("SG.", r"[\w-]{16,32}\.[\w-]{32,64}"),
    ("xai-", r"[A-Za-z0-9]{40,100}"),
    ("pplx-", r"[A-Za-z0-9]{40,64}"),
    ("sq0", r"(?:atp|csp)-[\w-]{22,43}"),
    ("key-", r"[a-f0-9]{32}"),
    ("hvs.", r"[\w-]{24,200}"),
    ("ATATT3", r"[\w=-]{50,250}"),
    ("NRAK-", r"[A-Z0-9]{27}"),
    ("hooks.slack.com/services/", r"[\w/]{20,120}"),
    ("/api/webhooks/", r"[0-9]{15,22}/[\w-]{50,100}"),
)
# Those with a line below before what is random: all of them in one search for that line and a long word.
_LOW_SHAPES: tuple[tuple[str, str], ...] = (
    ("sk_live_", r"\w{16,200}"),
    ("sk_test_", r"\w{16,200}"),
    ("rk_live_", r"\w{16,200}"),
    ("rk_test_", r"\w{16,200}"),
    ("whsec_", r"[\w+/=]{20,200}"),
    ("ghp_", r"\w{30,255}"),
    ("gho_", r"\w{30,255}"),
    ("ghu_", r"\w{30,255}"),
    ("ghs_", r"\w{30,255}"),
    ("ghr_", r"\w{30,255}"),
    ("github_pat_", r"\w{40,255}"),
    ("npm_", r"[A-Za-z0-9]{36}"),
    ("hf_", r"[A-Za-z0-9]{30,40}"),
    ("gsk_", r"[A-Za-z0-9]{40,64}"),
    ("dop_v1_", r"[a-f0-9]{64}"),
    ("shpat_", r"[a-fA-F0-9]{32}"),
    ("shpss_", r"[a-fA-F0-9]{32}"),
    ("lin_api_", r"[A-Za-z0-9]{32,64}"),
    ("ntn_", r"[A-Za-z0-9]{40,50}"),
    ("secret_", r"[A-Za-z0-9]{43}"),
    ("figd_", r"[\w-]{32,60}"),
    ("dckr_pat_", r"[\w-]{20,60}"),
    ("glsa_", r"[A-Za-z0-9]{32}_[a-f0-9]{8}"),
    ("sntrys_", r"[\w+/=-]{40,300}"),
    ("sbp_", r"[a-f0-9]{40}"),
)
_LOW_KEYS = dict(_LOW_SHAPES)
_LOW_PREFIXES = tuple(_LOW_KEYS)
_LOW_LINE = re.compile(r"_(?=[A-Za-z0-9+/=-]{16}|[A-Za-z0-9]{8,}_[A-Za-z0-9]{8})")
_LONGEST = max(map(len, _LOW_KEYS))
# Words with hyphens are everywhere in style sheets: `sk-cube-grid-animation`.
_MUST_BE_RANDOM = frozenset({"sk-", "xox", "xapp-"})
_PATHS = ("hooks.slack.com/services/", "/api/webhooks/")

_JWT = re.compile(r"eyJ[\w-]{0,4096}+(?:\.[\w-]{0,16384}+){0,4}+")
_BEGIN = "-----BEGIN "
_PEM_LABEL = re.compile(r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# With the line at its end.
_MIN_PEM, _MAX_PEM = 72, 65_536


def api_keys(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    for prefix, shape in [entry for entry in _SHAPES if entry[0] in text]:
        begin = 0
        while (at := text.find(prefix, begin)) >= 0:
            begin = at + len(prefix)
            if prefix not in _PATHS and not _begins(text, at):
                continue
            match = _compiled(shape).match(text, begin)
            if match is None or (prefix in _MUST_BE_RANDOM and not is_random(match[0].rpartition("-")[2])):
                continue
            yield Span(begin if prefix in _PATHS else at, match.end(), "api_key")
            begin = match.end()
    yield from _low_keys(text)


def _low_keys(text: str) -> Iterator[Span]:
    for line in _LOW_LINE.finditer(text) if "_" in text else ():
        before = text[max(0, line.end() - _LONGEST - 1) : line.end()]
        if not before.endswith(_LOW_PREFIXES):
            continue
        prefix = max((known for known in _LOW_PREFIXES if before.endswith(known)), key=len)
        match = _compiled(_LOW_KEYS[prefix]).match(text, line.end())
        if match is not None and _begins(text, line.end() - len(prefix)):
            yield Span(line.end() - len(prefix), match.end(), "api_key")


@cache
def _compiled(shape: str) -> re.Pattern[str]:
    """Not all forty at the start: each command would wait for them."""
    return re.compile(f"(?:{shape})")


def _begins(text: str, at: int) -> bool:
    return at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_-")


def jwts(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    begin = 0
    while (at := text.find("eyJ", begin)) >= 0:
        match = _JWT.match(text, at)
        assert match is not None
        # Past all of it: a megabyte of "eyJeyJ…" is looked at once.
        begin = match.end()
        parts = match[0].rstrip(".").split(".")
        # A cursor of a page is base64 too, and has no dots.
        if len(parts) < 2 or not _begins(text, at):
            continue
        if parts[1].startswith("eyJ") or (len(parts) >= 3 and _says_how(parts[0])):
            yield Span(at, at + len(match[0].rstrip(".")), "jwt")


def _says_how(header: str) -> bool:
    import base64  # noqa: PLC0415 - for the few that need it

    try:
        return b'"alg"' in base64.urlsafe_b64decode(header + "=" * (-len(header) % 4))
    except ValueError:
        return False


def private_keys(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    """The whole block; without an end, as of a text that was cut, as far as the text goes."""
    begin, end = 0, None
    while (at := text.find(_BEGIN, begin)) >= 0:
        begin = at + len(_BEGIN)
        label = _PEM_LABEL.match(text, begin)
        if label is None:
            continue
        # Searched for once: a thousand beginnings without an end must not look through the text a thousand times.
        if end is None or end < label.end():
            found = _PEM_END.search(text, label.end())
            end = found.end() if found else len(text) + _MAX_PEM
        is_whole = end - at <= _MAX_PEM
        begin = end if is_whole else _end_of_string(text, at)
        # Programs that read keys have both lines, and no key between them.
        if not is_whole or begin - label.end() >= _MIN_PEM:
            # In a list of its lines it goes over several strings, and each is replaced.
            yield Span(at, begin, "private_key")


def _end_of_string(text: str, at: int) -> int:
    end = text.find(BETWEEN, at)
    end = len(text) if end < 0 else end
    named = text.find(NAMED, at, end)
    return end if named < 0 else named
