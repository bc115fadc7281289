"""Limits of the MCP server over HTTP: connections, timeouts, sessions and body sizes."""

from __future__ import annotations

from typing import NamedTuple


class HttpLimits(NamedTuple):
    connections: int = 200
    """At most this many requests are answered at the same time; one more is told to try again later."""
    waiting_s: float = 10
    """A connection on which no whole request comes is closed after this long."""
    strangers: int = 64
    """At most this many connections that have not shown the token yet."""
    stranger_s: float = 2
    """Each of those is closed after this long."""
    moment_s: float = 0.1
    """Each of those has at least this long to send its request before it is closed for another."""
    sessions: int = 100
    body_bytes: int = 4_718_592
    """At most this much in one request. The largest that a client needs is a call of `execute_code`, whose arguments
    may have 4 MiB."""
    bodies_bytes: int = 32 * 1024 * 1024
    """At most this much in all requests that are being answered."""


USUAL = HttpLimits()
