"""What the pool should do next: a function from what it has to what it should start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PoolState:
    size: int
    """How many processes should wait."""
    ready: int
    starting: int
    waiting: int
    """Executions that wait for a process."""
    max_starting: int
    may_refill: bool = True
    """False while a failed start is recent: then only what somebody waits for is started."""


def starts_needed(state: PoolState) -> int:
    """How many processes to start now: for those who wait, and only when nobody waits to fill the pool up again."""
    refill = state.size if state.may_refill else 0
    wanted = state.waiting or refill
    missing = wanted - state.ready - state.starting
    return max(0, min(missing, state.max_starting - state.starting))
