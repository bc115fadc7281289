"""What strangers, clients and forgetful clients can take of the server over HTTP at most."""

from __future__ import annotations

from typing import NamedTuple


class HttpLimits(NamedTuple):
    connections: int = 200
    """Requests that are being answered at the same time; one more is told to come later."""
    waiting_s: float = 10
    """How long a connection is kept on which no whole request comes."""
    strangers: int = 64
    """Connections on which the token was not shown yet."""
    stranger_s: float = 2
    """And how long each of them is kept."""
    moment_s: float = 0.1
    """How long one of them has to speak before it makes way for another."""
    sessions: int = 100
    body_bytes: int = 4_718_592
    """Of one request. The largest that a client needs is a call of `execute_code`, whose arguments may have 4 MiB."""
    bodies_bytes: int = 32 * 1024 * 1024
    """Of all requests that are being answered."""


USUAL = HttpLimits()
