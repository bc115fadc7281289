"""Decides how many processes the pool should start now. A pure function of the pool's state."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PoolState:
    """The numbers that decide how many processes to start."""

    size: int
    """How many warm processes should wait."""
    ready: int
    starting: int
    waiting: int
    """Executions that wait for a process."""
    max_starting: int
    may_refill: bool = True
    """False shortly after a failed start: then start only for executions that wait."""


def starts_needed(state: PoolState) -> int:
    """How many processes to start now: for waiting executions first; refill the pool only when none waits."""
    refill = state.size if state.may_refill else 0
    wanted = state.waiting or refill
    missing = wanted - state.ready - state.starting
    return max(0, min(missing, state.max_starting - state.starting))
