"""When a server that failed may be started again. Pure: the clock is the caller's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Restarts:
    first_s: float
    most_s: float
    failures: int = 0
    """Since it last stayed up for long."""
    not_before: float = float("-inf")

    def failed(self, now: float, up_s: float = 0.0) -> None:
        """It failed after it had been up for so long. One that stayed up longer than any wait begins anew."""
        self.failures = 1 if up_s > self.most_s else self.failures + 1
        # The power is bounded before it is taken: a server may fail for months.
        self.not_before = now + min(self.most_s, self.first_s * 2.0 ** min(self.failures - 1, 40))

    def wait_s(self, now: float) -> float:
        return max(0.0, self.not_before - now)
