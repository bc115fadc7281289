"""Measure trials side by side and compare them: ratios within one run, because the machines are noisy."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

Trial = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, against what, and the bar that it has to stay under."""

    name: str
    ours: float
    theirs: float
    unit: str
    bar: float
    """The highest allowed ratio of ours to theirs. Without a reference to compare with, `theirs` is the limit and the
    bar is 1."""
    against: str

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def held(self) -> bool:
        return self.ratio <= self.bar


async def interleaved(trials: Mapping[str, Trial], rounds: int, before: Trial | None = None) -> dict[str, list[float]]:
    """Milliseconds of each trial in each round. The trials take turns, so that a slow moment hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in trials}
    for _ in range(rounds):
        for name, trial in trials.items():
            if before is not None:
                await before()
            start = time.perf_counter()
            await trial()
            taken[name].append((time.perf_counter() - start) * 1000)
    return taken


def p50(values: list[float]) -> float:
    return statistics.median(values)


def p99(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.99))]


def cpu_ms_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1000


def cpu_ms_of_self() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1000


def table(rows: list[Row]) -> str:
    lines = [f"{'figure':44} {'ours':>12} {'reference':>12} {'ratio':>8} {'bar':>7}  "]
    for row in rows:
        verdict = "" if row.held else "  MISSED"
        lines.append(
            f"{row.name:44} {row.ours:>9.2f} {row.unit:2} {row.theirs:>9.2f} {row.unit:2} "
            f"{row.ratio:>8.3f} {row.bar:>7.3f}{verdict}   ({row.against})"
        )
    return "\n".join(lines)
