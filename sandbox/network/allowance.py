"""Limits how many bytes a run may receive from the network in all."""

from __future__ import annotations

from .refusals import over_limit


class Allowance:
    """Counts the bytes of bodies against a limit. The announced length of an answer is reserved before it is read: so
    of many answers at once, the ones that fit arrive whole. Otherwise each would get a part, and all would fail.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.received_bytes = 0
        self.set_aside_bytes = 0

    def check(self, more_bytes: int = 0) -> None:
        if self.received_bytes + self.set_aside_bytes + more_bytes > self.max_bytes:
            raise over_limit(f"A run may receive at most {self.max_bytes} bytes in all")


class Share:
    """One answer's share of the allowance. A context manager: leaving it returns reserved bytes that did not arrive."""

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
