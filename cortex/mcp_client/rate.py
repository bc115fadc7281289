"""Rate limit: at most N calls a minute to one MCP server. Pure: the caller passes the time."""

from __future__ import annotations

from collections import deque

WINDOW_S = 60.0


class Rate:
    def __init__(self, max_per_minute: int) -> None:
        self.most = max_per_minute
        self._times: deque[float] = deque(maxlen=max_per_minute)

    def take(self, now: float) -> float | None:
        """Count one call and return None, or return the seconds to wait before the call."""
        times = self._times
        if len(times) == times.maxlen and now - times[0] < WINDOW_S:
            return WINDOW_S - (now - times[0])
        times.append(now)
        return None
