"""Redacts keys, passwords and tokens before habits and recordings are stored. Pure.

Secrets are recognised by their looks, because nothing marks them. It errs on the side of redacting too much: what is
stored is only an example to try a candidate on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

MARK = "[redacted]"
MAX_DEPTH = 40
_PIECE_CHARS = 32_768

# Any value under such a name is secret.
_SURE = """
    accesskey apikey apisecret appkey authkey authorization authtoken accesstoken bearer clientsecret cookie credential
    credentials csrftoken idtoken jwt masterkey passcode passphrase passwd password passwort privatekey pwd
    refreshtoken secret secretkey sessionid sessiontoken setcookie sharedsecret signingkey
"""
_SURE_ENDINGS = tuple(_SURE.split())
# A value under such a name is secret only if it looks like a key.
_DOUBTFUL_NAMES = ("auth", "key", "nonce", "pin", "session", "sid", "sig", "signature", "token")

_WORDS_BETWEEN = re.compile(r"[-_.\s]+")
_NAMED = re.compile(
    # Bounded on both sides of the word: a long run of letters must not take quadratic time.
    r"(?<![A-Za-z0-9])((?:[A-Za-z0-9]{1,20}[-_.]){0,3}[A-Za-z0-9]{1,40})\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?"
    r"(?:(?i:bearer|basic|token)\s{1,3})?"
)
_VALUE = re.compile(r"[^\s\"'&;,}\\<>]{4,1024}")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)"
)
_FORMS = re.compile(
    r"\beyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,8192}(?:\.[A-Za-z0-9_-]{0,4096})?"
    r"|\b(?:sk|pk|rk|whsec)[-_][A-Za-z0-9_-]{16,512}"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|npm_|pypi-|hf_|dop_v1_|shpat_|SG\.)[A-Za-z0-9_.-]{10,512}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[A-Za-z0-9_-]{30,64}"
    r"|\bya29\.[A-Za-z0-9_-]{20,2048}"
    r"|(?i:\b(?:bearer|basic)\s{1,3}[A-Za-z0-9._~+/=-]{12,4096})"
)
_KEY_LIKE = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])\S+")
_USER_INFO = re.compile(r"(?<=://)[^/\s@]{1,500}(?=@)")
_LONG = re.compile(r"[A-Za-z0-9_-]{32,}")


def without_secrets(text: str) -> str:
    """The text with everything redacted that looks like a secret, or follows a name that says so."""
    text = without_keys(text)
    clean, done = [], 0
    for name in _NAMED.finditer(text):
        # The name first: a value is long, and most names mean nothing here.
        says = _says(name[1]) if name.end() > done else None
        value = _VALUE.match(text, name.end()) if says is not None else None
        if value is not None and not value[0].startswith(MARK) and (says or _looks_like_a_key(value[0])):
            clean += [text[done : name.end()], MARK]
            done = value.end()
    return "".join((*clean, text[done:]))


def without_keys(text: str) -> str:
    """The text with everything redacted that looks like a secret by itself: for code, where a name stands before almost
    anything."""
    if "-----BEGIN " in text:
        text = _PRIVATE_KEY.sub(MARK, text)
    return "".join(map(_piece_without_keys, _pieces(text)))


def _pieces(text: str) -> Iterator[str]:
    """Cut the text into pieces at a blank, if there is one: no other secret contains blanks. One search through the
    whole text would block the program, for half a microsecond per character."""
    start = 0
    while len(text) - start > _PIECE_CHARS:
        end = start + _PIECE_CHARS
        blank = max(text.rfind(blank, start, end) for blank in " \n\t\r")
        end = blank + 1 if blank > start else end
        yield text[start:end]
        start = end
    yield text[start:]


def _piece_without_keys(text: str) -> str:
    text = _FORMS.sub(MARK, text)
    text = _USER_INFO.sub(MARK, text)
    return _LONG.sub(lambda found: MARK if _looks_random(found[0]) else found[0], text)


def without_secret_values(value: Any, depth: int = 0) -> Any:
    """JSON with secrets redacted, also values under a name that says so. Data nested too deep is redacted as well."""
    if depth > MAX_DEPTH:
        return MARK
    match value:
        case str():
            return without_secrets(value)
        case dict():
            return {
                name: MARK if _is_secret(str(name), item) else without_secret_values(item, depth + 1)
                for name, item in value.items()
            }
        case list() | tuple():
            return [without_secret_values(item, depth + 1) for item in value]
        case _:
            return value


def _is_secret(name: str, value: Any) -> bool:
    if not isinstance(value, str) or not value:
        return False
    says = _says(name)
    return says is True or (says is False and _looks_like_a_key(value))


def _says(name: str) -> bool | None:
    """True for a name that says its value is secret, False for one that may mean that, None for any other."""
    folded = _WORDS_BETWEEN.sub("", name[-100:]).lower()
    if folded.endswith(_SURE_ENDINGS):
        return True
    return False if folded.endswith(_DOUBTFUL_NAMES) else None


def _looks_like_a_key(value: str) -> bool:
    return len(value) >= 12 and _KEY_LIKE.fullmatch(value) is not None


def _looks_random(word: str) -> bool:
    """Whether the word mixes capitals, small letters and at least three digits: not a hash, an id or a plain word."""
    return any(map(str.isupper, word)) and any(map(str.islower, word)) and sum(map(str.isdigit, word)) >= 3
