"""Limits of connections: a module of its own, because the module that keeps them imports the web server."""

from __future__ import annotations

from typing import Protocol


class ConnectionLimits(Protocol):
    """Limits of connections and their time, above all of those that have not shown that they are known (strangers)."""

    @property
    def waiting_s(self) -> float:
        """A connection on which no whole request comes is closed after this long."""
        ...

    @property
    def strangers(self) -> int:
        """At most this many connections of strangers."""
        ...

    @property
    def stranger_s(self) -> float:
        """Each of those is closed after this long without a request."""
        ...

    @property
    def moment_s(self) -> float:
        """Each of those has at least this long to send its request before it is closed for another."""
        ...
