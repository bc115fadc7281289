"""What doors of HTTP servers read of a request before its body: the headers, and the one Host that it must have."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, NamedTuple

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")

Headers = Mapping[str, list[str]]
"""The values of each header, by its name in lower case."""


class HttpRefusal(NamedTuple):
    """Why a request is answered before anything is done for it."""

    status: int
    text: str


class RequestHost(NamedTuple):
    """The Host header of a request."""

    text: str
    """In lower case, as it was sent."""
    name: str
    """Without the port."""


def headers_of(scope: MutableMapping[str, Any]) -> dict[str, list[str]]:
    """The headers of an ASGI request."""
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def host_of(headers: Headers) -> RequestHost | None:
    """The host that the request asks for; None unless it names exactly one."""
    hosts = headers.get("host", [])
    if len(hosts) != 1:
        return None
    text = hosts[0].lower()
    name, colon, port = text.rpartition(":")
    return RequestHost(text, name if colon and port.isdecimal() else text)


def welcome(scope: MutableMapping[str, Any]) -> None:
    """Note that the client has shown that it is known: its connection is no stranger any more."""
    connection = scope.get("state", {}).get("connection")
    if connection is not None:
        connection.welcome()
