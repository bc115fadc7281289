"""Parses URLs into one normal spelling: the URL that the policy checks is, byte for byte, the one that is sent.

No second parser sees a URL after this one, so that no two parsers can disagree about its host.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote, unquote_plus, urljoin

DEFAULT_PORTS = {"https": 443, "http": 80}

_MAX_HOST = 253
# Spaces, control characters and surrogates: never part of a URL, and each has fooled some parser.
_UNFIT = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff]")
_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#\\]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_PORT = re.compile(r"[0-9]{1,5}")
_UNRESERVED = re.compile(r"%(?:4[1-9A-Fa-f]|5[0-9Aa]|6[1-9A-Fa-f]|7[0-9Aa]|3[0-9]|2[DdEe]|5[Ff]|7[Ee])")
_PATH_SAFE = "/%!$&'()*+,;=:@-._~|[]^"
_QUERY_SAFE = _PATH_SAFE + "?`{}"
# More layers of percent-encoding than any server decodes.
_MAX_LAYERS = 4


class BadUrl(ValueError):
    """The text is not a URL that can be fetched. The message says why, and quotes nothing of it but the scheme."""


class ForeignScheme(BadUrl):
    """A URL whose scheme is neither https nor http."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes. All parts are ASCII and normalized; there is no user, no password and no fragment."""

    scheme: str
    host: str
    """Lower case, IDNA, without the final dot; an IPv6 address without its brackets."""
    port: int
    path: str
    """Without dot segments, and with unreserved characters unescaped."""
    query: str | None = None

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def path_and_query(self) -> str:
        return self.path if self.query is None else f"{self.path}?{self.query}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path_and_query}"

    def with_query(self, values: dict[str, str]) -> Target:
        """The same target with these query values, replacing any of the same names."""
        if not values:
            return self
        parts = [part for part in self._query_parts() if unquote_plus(part.partition("=")[0]) not in values]
        parts += [f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in values.items()]
        return replace(self, query="&".join(parts))

    def without_query(self, names: frozenset[str]) -> Target:
        """The same target without any query value of these names."""
        if self.query is None or not names:
            return self
        parts = [part for part in self._query_parts() if unquote_plus(part.partition("=")[0]) not in names]
        return replace(self, query="&".join(parts) or None)

    def _query_parts(self) -> list[str]:
        return [part for part in (self.query or "").split("&") if part]


def parse(text: str, max_bytes: int = 8192) -> Target:
    """Parse a URL. Raises BadUrl for everything that two parsers might read in two ways."""
    if len(text) > max_bytes:
        raise BadUrl(f"it is longer than {max_bytes} characters")
    if _UNFIT.search(text):
        raise BadUrl("it holds a space or a control character")
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise BadUrl("it is not a whole URL, like https://example.com/path")
    scheme, authority, path, query = shape[1].lower(), shape[2], shape[3], shape[4]
    if scheme not in DEFAULT_PORTS:
        raise ForeignScheme(f"its scheme is {scheme[:32]}:, and only https: and http: can be fetched")
    if authority is None or "\\" in path:
        raise BadUrl("it is written with wrong slashes")
    if "@" in authority:
        raise BadUrl("it holds a user name or a password; send them in a header")
    host, port = _host_and_port(authority)
    target = Target(
        scheme,
        host,
        DEFAULT_PORTS[scheme] if port is None else port,
        _normal_path(quote(path, safe=_PATH_SAFE)),
        None if query is None else quote(query, safe=_QUERY_SAFE),
    )
    if len(str(target)) > max_bytes:
        raise BadUrl(f"it is longer than {max_bytes} characters")
    return target


def join(base: Target, location: str, max_bytes: int = 8192) -> Target:
    """Where a redirect leads. Raises BadUrl when the location is not a valid URL."""
    location = location.strip(" \t")
    if len(location) > max_bytes:
        raise BadUrl(f"it is longer than {max_bytes} characters")
    if _UNFIT.search(location) or "\\" in location.partition("?")[0]:
        raise BadUrl("it holds a space, a control character or a backslash")
    try:
        return parse(urljoin(str(base), location), max_bytes)
    except BadUrl:
        raise
    except ValueError as error:
        raise BadUrl("it is not a URL") from error


def normal_host(text: str) -> str:
    """The host in its normal spelling. Raises BadUrl when it is neither a name nor a plain address."""
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
        if ":" not in text:
            raise BadUrl("there is no IPv6 address in its brackets")
    if ":" in text:
        try:
            address = ipaddress.IPv6Address(text)
        except ValueError as error:
            raise BadUrl("its IPv6 address is wrong") from error
        if address.scope_id is not None:
            raise BadUrl("its IPv6 address has a scope")
        return str(address)
    if not text or len(text) > _MAX_HOST + 1:
        raise BadUrl("its host is empty or too long")
    name = (text if text.isascii() else _idna(text)).lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _MAX_HOST or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadUrl("its host is not a name")
    # Some parsers read 127.1, 0x7f.1 and 2130706433 as addresses, others as names.
    if labels[-1].isdigit() or re.fullmatch("0x[0-9a-f]*", labels[-1]):
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError as error:
            raise BadUrl("its IPv4 address is not four plain numbers") from error
    return name


def readings(path: str) -> Iterator[tuple[str, ...]]:
    """The segments of a path in every way in which a server may read it; raises BadUrl when there are too many ways.

    Some servers decode one layer of percent-encoding, some two; some read a backslash as a slash, drop `;parameters`,
    or stop at a NUL. An allowed prefix must match all readings.
    """
    for _ in range(_MAX_LAYERS):
        for parts in (path.split("/")[1:], *_lenient(path)):
            yield tuple(unquote(part, errors="surrogateescape") for part in parts)
        decoded = unquote(path, errors="surrogateescape")
        if decoded == path:
            return
        path = decoded
    raise BadUrl("its path is encoded again and again")


def segments(prefix: str) -> tuple[str, ...]:
    """The segments of a prefix as the owner writes it: `/api` and `/api/` are the same."""
    plain = prefix.strip("/")
    return tuple(unquote(part) for part in plain.split("/")) if plain else ()


def _lenient(path: str) -> Iterator[list[str]]:
    parts = re.sub(r";[^/]*", "", path.replace("\\", "/").partition("\0")[0]).split("/")
    # `a//../b` means `a/b` for servers that count empty segments, and `b` for others.
    yield [part for part in _without_dots(parts) if part]
    yield _without_dots([part for part in parts if part])


def _host_and_port(authority: str) -> tuple[str, int | None]:
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        return normal_host(authority), None
    if ":" in host and not host.startswith("["):
        raise BadUrl("its IPv6 address needs brackets")
    if port and (not _PORT.fullmatch(port) or not 0 < int(port) < 65536):
        raise BadUrl("its port is wrong")
    return normal_host(host), int(port) if port else None


def _idna(text: str) -> str:
    import idna  # noqa: PLC0415 - its tables take a while, and most names do not need them

    try:
        return idna.encode(text, uts46=True).decode()
    except idna.IDNAError as error:
        raise BadUrl("its host is not a name") from error


def _normal_path(path: str) -> str:
    path = _UNRESERVED.sub(lambda code: chr(int(code[0][1:], 16)), path)
    return "/" + "/".join(_without_dots(path.split("/")[1:]))


def _without_dots(parts: list[str]) -> list[str]:
    kept: list[str] = []
    for part in parts:
        if part == "..":
            del kept[-1:]
        elif part != ".":
            kept.append(part)
    if parts and parts[-1] in {".", ".."}:
        kept.append("")
    return kept
