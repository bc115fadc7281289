"""Filters HTTP headers in both directions: which ones the code may set, and which ones it may see."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .refusals import invalid

# The broker sets the headers of the connection, the body's length and its encoding; a second value for any of them
# would allow request smuggling. Values that the code sets for these headers are dropped silently, as browsers do.
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
# Headers that no longer hold: they described the body and the connection as received.
_UNTRUE = frozenset({"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"})
_OF_THE_BODY = frozenset({"content-encoding", "content-length"})

# Sent only to the origin that the code sent them to, not to the target of a redirect.
CREDENTIALS = frozenset({"authorization", "cookie", "cookie2", "proxy-authorization"})
_ABOUT_THE_BODY = frozenset({"content-type", "content-encoding", "content-language", "content-location", "digest"})

# Headers that override the method or the path: some servers obey them rather than the request line.
OVERRIDES = frozenset(
    {"x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url"}
)
# Headers that ask for a part of a response: a secret fetched in parts would not be recognized as a secret.
PARTS = frozenset({"range", "if-range"})

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# A control character could end the line; a character beyond Latin-1 cannot be sent as a byte.
_UNFIT = re.compile(r"[^\t\x20-\x7e\x80-\xff]")

Headers = tuple[tuple[str, str], ...]


def is_token(text: str) -> bool:
    return _TOKEN.fullmatch(text) is not None


def is_value(text: str) -> bool:
    return _UNFIT.search(text) is None


def folded(name: str) -> str:
    """The name as many servers read it: for them `x_tenant` is the same as `x-tenant`."""
    return name.lower().replace("_", "-")


def is_brokers_own(name: str) -> bool:
    return folded(name) in _BROKERS_OWN or folded(name).startswith(("proxy-", "sec-"))


def checked(pairs: Sequence[object], max_headers: int, max_bytes: int) -> Headers:
    """The headers of a request, names in lower case, without those that the code may not set."""
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
    """The response headers that are still true when the response reaches the code. Content-Length is kept for responses
    without a body (HEAD), where it describes the resource."""
    dropped = _UNTRUE | _OF_THE_BODY if has_body else _UNTRUE
    return [(name.lower(), value) for name, value in headers if name.lower().decode("latin-1") not in dropped]


def values_of(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


def length_of(headers: Sequence[tuple[bytes, bytes]]) -> int | None:
    """The Content-Length of a response, before decompression; None when it has none."""
    found = values_of(headers, b"content-length")
    return int(found[0]) if found and found[0].isdecimal() and len(found[0]) < 20 else None
