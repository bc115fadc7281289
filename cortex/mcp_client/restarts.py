"""Backoff: when a failed MCP server may be started again. Pure: the caller passes the time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Restarts:
    first_s: float
    most_s: float
    failures: int = 0
    """Failures since the server last stayed up longer than `most_s`."""
    not_before: float = float("-inf")

    def failed(self, now: float, up_s: float = 0.0) -> None:
        """Note a failure after `up_s` seconds of uptime. If that was longer than `most_s`, the count starts again."""
        self.failures = 1 if up_s > self.most_s else self.failures + 1
        # The exponent is bounded: a server may fail for months.
        self.not_before = now + min(self.most_s, self.first_s * 2.0 ** min(self.failures - 1, 40))

    def wait_s(self, now: float) -> float:
        return max(0.0, self.not_before - now)
