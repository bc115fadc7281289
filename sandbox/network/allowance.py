"""How much a run may receive in all."""

from __future__ import annotations

from .refusals import over_limit


class Allowance:
    """Counts the bytes of bodies. What an answer says that it takes is set aside before it is read: of many answers
    at once, those that fit arrive whole, where otherwise each would get a part and fail.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.received_bytes = 0
        self.set_aside_bytes = 0

    def check(self, more_bytes: int = 0) -> None:
        if self.received_bytes + self.set_aside_bytes + more_bytes > self.max_bytes:
            raise over_limit(f"A run may receive at most {self.max_bytes} bytes in all")


class Share:
    """What one answer takes of it. Used as a context, which gives back what was set aside and did not come."""

    def __init__(self, allowance: Allowance, expected_bytes: int) -> None:
        self._allowance = allowance
        self._left = expected_bytes

    def __enter__(self) -> Share:
        self._allowance.check(self._left)
        self._allowance.set_aside_bytes += self._left
        return self

    def __exit__(self, *exc: object) -> None:
        self._allowance.set_aside_bytes -= self._left

    def count(self, size: int) -> None:
        expected = min(size, self._left)
        self._left -= expected
        self._allowance.set_aside_bytes -= expected
        self._allowance.received_bytes += size
        self._allowance.check()
