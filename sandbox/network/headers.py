"""Headers in both directions: which ones the code may set, and which ones it gets to see."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .refusals import invalid

# The connection, the length of the body and its encoding are the broker's; a second word on any of them is how
# requests are smuggled. They are dropped without a word, as browsers do.
_BROKERS_OWN = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
    }
)
# What described the body and the connection before they were undone.
_UNTRUE = frozenset({"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"})
_OF_THE_BODY = frozenset({"content-encoding", "content-length"})

# Sent only to where the code sent them.
CREDENTIALS = frozenset({"authorization", "cookie", "cookie2", "proxy-authorization"})
_ABOUT_THE_BODY = frozenset({"content-type", "content-encoding", "content-language", "content-location", "digest"})

# A second word on the method or the path, which some servers believe rather than the first.
OVERRIDES = frozenset(
    {"x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url"}
)
# Asks for a part of an answer, and then the next: no part of a secret looks like a secret.
PARTS = frozenset({"range", "if-range"})

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Controls would end the line; beyond Latin-1 there is no byte for the character.
_UNFIT = re.compile(r"[^\t\x20-\x7e\x80-\xff]")

Headers = tuple[tuple[str, str], ...]


def is_token(text: str) -> bool:
    return _TOKEN.fullmatch(text) is not None


def is_value(text: str) -> bool:
    return _UNFIT.search(text) is None


def folded(name: str) -> str:
    """The name as many servers read it: for them `x_tenant` is another word for `x-tenant`."""
    return name.lower().replace("_", "-")


def is_brokers_own(name: str) -> bool:
    return folded(name) in _BROKERS_OWN or folded(name).startswith(("proxy-", "sec-"))


def checked(pairs: Sequence[object], max_headers: int, max_bytes: int) -> Headers:
    """The headers of a request, names in lower case, without those that are not the code's to set."""
    if len(pairs) > max_headers:
        raise invalid(f"A request takes at most {max_headers} headers")
    found: list[tuple[str, str]] = []
    size = 0
    for pair in pairs:
        match pair:
            case [str(name), str(value)]:
                size += len(name) + len(value)
            case _:
                raise invalid("A header is a pair of a name and a value")
        if size > max_bytes:
            raise invalid(f"The headers of a request take at most {max_bytes} bytes")
        value = value.strip(" \t")
        if not is_token(name) or not is_value(value):
            raise invalid(f"The header {name[:60]!a} holds a character that a header cannot carry")
        if not is_brokers_own(name.lower()):
            found.append((name.lower(), value))
    return tuple(found)


def without(headers: Headers, names: frozenset[str]) -> Headers:
    return tuple(pair for pair in headers if folded(pair[0]) not in names)


def for_another_origin(headers: Headers) -> Headers:
    return without(headers, CREDENTIALS)


def for_no_body(headers: Headers) -> Headers:
    return without(headers, _ABOUT_THE_BODY)


def shown(headers: Sequence[tuple[bytes, bytes]], *, has_body: bool) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that are still true when it reaches the code. Without a body its length is news."""
    dropped = _UNTRUE | _OF_THE_BODY if has_body else _UNTRUE
    return [(name.lower(), value) for name, value in headers if name.lower().decode("latin-1") not in dropped]


def values_of(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


def length_of(headers: Sequence[tuple[bytes, bytes]]) -> int | None:
    """What the answer says of the length of its body, as it comes; None when it says nothing."""
    found = values_of(headers, b"content-length")
    return int(found[0]) if found and found[0].isdecimal() and len(found[0]) < 20 else None
