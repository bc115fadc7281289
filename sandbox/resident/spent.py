"""Divides what a batch has computed among its signals. Pure.

The process says what each signal computed, and it speaks for the code: the sum is the host's. What the process does not
explain is charged to the signal that took most, so that a large amount cannot hide among many small ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ..contracts import SignalAnswer

# What the host measures beside the signals, as for reading them: nobody's in particular. Beyond that it is somebody's.
FREE_MS_PER_SIGNAL = 0.25
FREE_SHARE = 0.05


class Spent(NamedTuple):
    """What one signal took."""

    cpu_ms: float
    """In the words of the process."""
    fetches: int
    fetched_bytes: int
    tool_calls: int


def divided(said_ms: Sequence[float], total_ms: float) -> list[float]:
    """What each signal is charged, of `total_ms` in all."""
    said = sum(said_ms)
    if not said_ms or total_ms <= 0:
        return [0.0] * len(said_ms)
    if said >= total_ms:
        return [ms * total_ms / said for ms in said_ms]
    rest = total_ms - said
    free = min(rest, FREE_MS_PER_SIGNAL * len(said_ms) + FREE_SHARE * total_ms)
    charged = [ms + free / len(said_ms) for ms in said_ms]
    charged[charged.index(max(charged))] += rest - free
    return charged


def charged(answers: Sequence[SignalAnswer], spent: Sequence[Spent], cpu_ms: float) -> list[SignalAnswer]:
    """The answers, each with what it took; together `cpu_ms`."""
    parts = divided([one.cpu_ms for one in spent], cpu_ms)
    return [
        replace(answer, cpu_ms=ms, fetches=one.fetches, fetched_bytes=one.fetched_bytes, tool_calls=one.tool_calls)
        for answer, one, ms in zip(answers, spent, parts, strict=True)
    ]


def with_more(answers: Sequence[SignalAnswer], cpu_ms: float) -> tuple[SignalAnswer, ...]:
    """The answers, with what belongs to none of them charged to the one that took most."""
    if cpu_ms <= 0 or not answers:
        return tuple(answers)
    most = max(range(len(answers)), key=lambda at: answers[at].cpu_ms)
    return (*answers[:most], replace(answers[most], cpu_ms=answers[most].cpu_ms + cpu_ms), *answers[most + 1 :])
