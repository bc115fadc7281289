"""The network policy: what a run may fetch. Pure data and pure decisions; empty allows nothing, deny beats allow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from . import addresses
from .headers import CREDENTIALS, OVERRIDES, PARTS, Headers, folded, is_brokers_own, is_token, is_value, without
from .recording import Recorder, Replay
from .refusals import denied
from .secrets import references
from .urls import DEFAULT_PORTS, BadUrl, Target, normal_host, parse as parse_url, readings, segments

MIB = 1024 * 1024
# No entry can allow other methods: CONNECT and TRACE would let the code attack machines behind a server.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

# A denial names at most this many allowed hosts: a model reads the message and pays for its length.
_MAX_NAMED_HOSTS = 12


def _host_pattern(text: str) -> str:
    star, name = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    try:
        host = normal_host(name)
    except BadUrl as error:
        raise ValueError(f'"{text[:100]}" is not a host: {error}; write example.com or *.example.com') from error
    if star and addresses.parse(host) is not None:
        raise ValueError(f'"{text[:100]}": an address has no subdomains')
    return star + host


def _path_prefix(text: str) -> str:
    if not text.startswith("/") or "?" in text or "#" in text:
        raise ValueError(f'"{text[:100]}" is not a path: it begins with a slash and has no query')
    return text


def _method(text: str) -> str:
    if text.upper() not in METHODS:
        raise ValueError(f'"{text[:40]}" is not a method: there are {", ".join(METHODS)}')
    return text.upper()


def _header_templates(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not is_token(name) or is_brokers_own(name.lower()):
            raise ValueError(f'"{name[:60]}" is not a header that can be set')
        if not is_value(value):
            raise ValueError(f'the value of "{name[:60]}" holds a character that a header cannot carry')
    return _templates({name.lower(): value for name, value in headers.items()})


def _templates(values: dict[str, str]) -> dict[str, str]:
    for value in values.values():
        references(value)
    return values


HostPattern = Annotated[str, AfterValidator(_host_pattern)]
Ports = Annotated[tuple[Annotated[int, Field(gt=0, lt=65536)], ...], Field(min_length=1)]
Methods = Annotated[tuple[Annotated[str, AfterValidator(_method)], ...], Field(min_length=1)]
Paths = Annotated[tuple[Annotated[str, AfterValidator(_path_prefix)], ...], Field(min_length=1)]


def _from_text(value: Any) -> Any:
    """Parse an entry given as plain text: `example.com`, `example.com:8443`, `https://example.com/api`."""
    if not isinstance(value, str):
        return value
    scheme, separator, rest = value.partition("://")
    if not separator:
        scheme, rest = "https", value
    if scheme.lower() not in DEFAULT_PORTS:
        raise ValueError(f'"{value[:100]}" is not a host, nor an address that begins with https:// or http://')
    star, rest = ("*.", rest[2:]) if rest.startswith("*.") else ("", rest)
    if not rest.startswith("[") and rest.count(":") > 1:
        rest = f"[{rest}]"  # an IPv6 address, usually written without brackets
    try:
        target = parse_url(f"{scheme}://{rest}")
    except BadUrl as error:
        raise ValueError(f'"{value[:100]}" is not a host: {error}') from error
    if target.query is not None:
        raise ValueError(f'"{value[:100]}": an entry has no query')
    entry: dict[str, Any] = {"host": star + target.host}
    if target.port != DEFAULT_PORTS[target.scheme]:
        entry["ports"] = (target.port,)
    if target.path != "/":
        entry["paths"] = (target.path,)
    if target.scheme == "http":
        entry["http"] = True
    # An owner who spells out a private address, or localhost, wants `private`.
    if not star and (target.host == "localhost" or _is_private_address(target.host)):
        entry["private"] = True
    return entry


def _is_private_address(host: str) -> bool:
    address = addresses.parse(host)
    return address is not None and addresses.kind_of(address) is not None


class HostRule(BaseModel):
    """One entry of the allowlist: a host, and which requests to it are allowed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: HostPattern
    """`example.com`, `*.example.com` (every name below it, not itself), or an address."""
    ports: Ports | None = None
    """None means the port of the scheme: 443, and 80 where `http` is true."""
    methods: Methods = METHODS
    paths: Paths | None = None
    """Prefixes of whole segments: `/api` allows `/api` and `/api/x`, not `/apix`. None means every path."""
    http: bool = False
    """Allow it also without encryption."""
    private: bool = False
    """Allow it also when the host is on this machine or in its own network."""
    headers: Annotated[dict[str, str], AfterValidator(_header_templates)] = Field(default_factory=dict)
    """Headers that the host adds, replacing those of the code. May hold `${env:NAME}` and `${secret:NAME}`.

    A secret that the server echoes is redacted wherever it is whole. So that it cannot come back in parts, the code's
    `Range` and `If-Range` headers are dropped where an entry carries a secret.
    """
    query: Annotated[dict[str, str], AfterValidator(_templates)] = Field(default_factory=dict)
    """The same for query parameters of the URL. The code does not see them."""

    _text = model_validator(mode="before")(_from_text)

    @property
    def carries_secrets(self) -> bool:
        return any(is_secret(name, value) for name, value in self.headers.items()) or any(
            references(value) for value in self.query.values()
        )

    def refusal(self, method: str, target: Target) -> str | None:
        """Why this entry does not allow the request, as the end of a sentence; None if it does. Ignores the host."""
        if target.scheme == "http" and not self.http:
            return "only https is allowed there"
        ports = self.ports or (DEFAULT_PORTS[target.scheme],)
        if target.port not in ports:
            return f"port {target.port} is not allowed there (allowed: {_some([str(port) for port in ports])})"
        if method not in self.methods:
            return f"the method {method} is not allowed there (allowed: {', '.join(self.methods)})"
        if self.paths is not None and not _all_readings_begin(target.path, self.paths):
            return f"its path is not allowed there (allowed: {_some(self.paths)})"
        return None


class DenyRule(BaseModel):
    """One entry of the denylist. A field that is left out matches everything."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: HostPattern
    ports: Ports | None = None
    methods: Methods | None = None
    paths: Paths | None = None

    @model_validator(mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        entry = _from_text(value)
        if isinstance(value, str) and isinstance(entry, dict):
            return {key: part for key, part in entry.items() if key not in {"http", "private"}}
        return entry

    def covers(self, method: str, target: Target) -> bool:
        return (
            _host_matches(self.host, target.host)
            and (self.ports is None or target.port in self.ports)
            and (self.methods is None or method in self.methods)
            and (self.paths is None or _any_reading_begins(target.path, self.paths))
        )


class NetworkPolicy(BaseModel):
    """What one run may fetch, and how much of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    allow: tuple[HostRule, ...] = ()
    """The first entry that allows a request is the one used."""
    deny: tuple[DenyRule, ...] = ()

    max_requests: Annotated[int, Field(ge=0)] = 50
    """Each followed redirect counts as a request."""
    max_request_bytes: Annotated[int, Field(gt=0)] = 1 * MIB
    max_response_bytes: Annotated[int, Field(gt=0)] = 4 * MIB
    """After decompression."""
    max_total_bytes: Annotated[int, Field(gt=0)] = 16 * MIB
    request_timeout_ms: Annotated[int, Field(gt=0)] = 15_000
    """For one call of `fetch`, including all its redirects and its body."""
    max_redirects: Annotated[int, Field(ge=0)] = 10
    max_connections: Annotated[int, Field(gt=0)] = 8
    max_url_bytes: Annotated[int, Field(gt=0)] = 8 * 1024
    max_headers: Annotated[int, Field(gt=0)] = 64
    max_header_bytes: Annotated[int, Field(gt=0)] = 16 * 1024
    """Of a request. The head of a response may take twice as much."""

    secrets_file: Path | None = None
    ca_file: Path | None = None
    """Certificates to trust in addition to those of the system."""

    recorder: Recorder | None = Field(default=None, exclude=True, repr=False)
    replay: Replay | None = Field(default=None, exclude=True, repr=False)

    @field_validator("allow", "deny", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        """Split a string at commas: an environment variable cannot hold a list, only "example.com,example.org"."""
        return [entry.strip() for entry in value.split(",") if entry.strip()] if isinstance(value, str) else value

    def rule_for(self, method: str, target: Target) -> HostRule:
        """The entry that allows the request. Raises a ToolError (denied) that names the allowed hosts."""
        asked = f"{method} {target.scheme}://{target.authority}"
        if self.is_denied(method, target):
            raise denied(f"Fetching {asked} is denied: an entry of the denylist covers it. {self._allowed_hosts()}")
        why = "the host is not in the allowlist of this run"
        for rule in self.allow:
            if not _host_matches(rule.host, target.host):
                continue
            refusal = rule.refusal(method, target)
            if refusal is None:
                return rule
            why = refusal
        raise denied(f"Fetching {asked} is denied: {why}. {self._allowed_hosts()}")

    def is_denied(self, method: str, target: Target) -> bool:
        return any(rule.covers(method, target) for rule in self.deny)

    def passing(self, headers: Headers, rule: HostRule, target: Target) -> Headers:
        """The code's headers without those that may not go with a request that the entry allows."""
        dropped = {folded(name) for name in rule.headers}
        denials = (entry for entry in self.deny if _host_matches(entry.host, target.host))
        if rule.paths or set(rule.methods) != set(METHODS) or any(entry.methods or entry.paths for entry in denials):
            dropped |= OVERRIDES
        if rule.carries_secrets:
            dropped |= PARTS
        return without(headers, frozenset(dropped))

    def _allowed_hosts(self) -> str:
        hosts = list(dict.fromkeys(rule.host for rule in self.allow))
        return f"Allowed hosts: {_some(hosts)}" if hosts else "No host is allowed"


def is_secret(name: str, template: str) -> bool:
    """Whether the value of an entry's header is secret: it refers to a secret, or the owner wrote a credential out."""
    return name in CREDENTIALS or bool(references(template))


def _host_matches(pattern: str, host: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and len(host) > len(pattern) - 1
    return host == pattern


def _begins(path: tuple[str, ...], prefixes: Iterable[tuple[str, ...]]) -> bool:
    return any(path[: len(prefix)] == prefix for prefix in prefixes)


def _all_readings_begin(path: str, paths: Sequence[str]) -> bool:
    prefixes = [segments(prefix) for prefix in paths]
    try:
        return all(_begins(reading, prefixes) for reading in readings(path))
    except BadUrl:
        return False


def _any_reading_begins(path: str, paths: Sequence[str]) -> bool:
    prefixes = [tuple(part.casefold() for part in segments(prefix)) for prefix in paths]
    try:
        return any(_begins(tuple(part.casefold() for part in reading), prefixes) for reading in readings(path))
    except BadUrl:
        return True


def _some(names: Sequence[str]) -> str:
    named = ", ".join(name[:100] for name in names[:_MAX_NAMED_HOSTS])
    more = len(names) - _MAX_NAMED_HOSTS
    return f"{named} and {more} more" if more > 0 else named
