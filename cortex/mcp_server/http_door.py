"""Decide which HTTP requests the MCP server accepts, by their headers alone and before their bodies are read.

A web page in a browser on the same machine can send requests here too, also under a host name that it has made point
here (DNS rebinding). So the Host must be ours, an Origin must be allowed, and every client must send the token.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping

from cortex.http import LOOPBACK_NAMES, HttpRefusal, host_of


class HttpDoor:
    """`hosts` are allowed host names beside those of the loopback, with a port or for all ports. `origins` are the only
    allowed origins of web pages, each with its scheme."""

    def __init__(self, token: str, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._token = token.encode()
        self._hosts = frozenset(host.lower() for host in (*LOOPBACK_NAMES, *hosts))
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    def refusal(self, headers: Mapping[str, list[str]], *, is_preflight: bool = False) -> HttpRefusal | None:
        """Why the request is refused; None if it is accepted. `headers` by their names in lower case. A browser's CORS
        preflight carries no token, and gets only the preflight's answer."""
        if not self._is_ours(headers):
            return HttpRefusal(421, "This server does not go by that name (mcp.serve.hosts)")
        origins = headers.get("origin", [])
        if any(origin.lower() not in self._origins for origin in origins) or len(origins) > 1:
            return HttpRefusal(403, "Pages of that origin may not call this server (mcp.serve.origins)")
        if is_preflight and origins:
            return None
        given = headers.get("authorization", [])
        if len(given) != 1 or not self._is_token(given[0]):
            return HttpRefusal(401, "Send the token of this server: Authorization: Bearer TOKEN")
        return None

    def _is_ours(self, headers: Mapping[str, list[str]]) -> bool:
        host = host_of(headers)
        return host is not None and (host.text in self._hosts or host.name in self._hosts)

    def _is_token(self, given: str) -> bool:
        scheme, _, token = given.partition(" ")
        # Always compare both, in constant time: the duration tells nothing about the token.
        is_token = hmac.compare_digest(token.strip().encode(errors="replace"), self._token)
        return is_token and scheme.lower() == "bearer"
