"""Measure trials side by side and compare them: ratios within one run, because the machines are noisy."""

from __future__ import annotations

import os
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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


Report = Callable[[Row], None]


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


def p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def p99(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.99))]


def cpu_ms_of_children() -> float:
    return _cpu_ms(resource.RUSAGE_CHILDREN)


def cpu_ms_of_self() -> float:
    return _cpu_ms(resource.RUSAGE_SELF)


def _cpu_ms(who: int) -> float:
    usage = resource.getrusage(who)
    return (usage.ru_utime + usage.ru_stime) * 1000


def rss_mb(pids: Iterable[int]) -> float:
    """Resident memory of the processes together. A page that two of them share counts twice."""
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def pss_mb(pid: int) -> float:
    """Memory of a process, with its share of shared pages; 0 when the process has ended."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in rollup.splitlines() if line.startswith("Pss:")), 0.0)


def descendants(pid: int) -> set[int]:
    """The processes that a process has started, directly or not, and that still run."""
    parents = {int(name): _parent_of(name) for name in os.listdir("/proc") if name.isdigit()}
    found: set[int] = set()
    while fresh := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= fresh
    return found


def _parent_of(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@contextmanager
def folder_on_disk() -> Iterator[Path]:
    """A temporary folder on a real disk, as homes are: /tmp may be in memory."""
    with tempfile.TemporaryDirectory(prefix="motor-cortex-bench-", dir=Path.cwd()) as folder:
        yield Path(folder)


def table(rows: list[Row]) -> str:
    lines = [f"{'figure':44} {'ours':>12} {'reference':>12} {'ratio':>8} {'bar':>7}  "]
    for row in rows:
        verdict = "" if row.held else "  MISSED"
        lines.append(
            f"{row.name:44} {row.ours:>9.2f} {row.unit:2} {row.theirs:>9.2f} {row.unit:2} "
            f"{row.ratio:>8.3f} {row.bar:>7.3f}{verdict}   ({row.against})"
        )
    return "\n".join(lines)
