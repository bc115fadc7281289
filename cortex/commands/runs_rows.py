"""Formats runs as lines of a table. Pure; no text in them can control the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cortex.text import columns_of, fit, local_time, padded

from .rows import LEAST_TEXT, Paint

if TYPE_CHECKING:
    from cortex.runs import OpenProgram
    from cortex.views import KeptRun

_MAX_ID = 26
_HEADING = "{id}  when         outcome   tier        took calls   energy  what"
OUTCOME_STYLES = {"ok": "green", "error": "red", "timeout": "red", "host_failed": "red", "forgotten": "dim"}


def list_lines(rows: Sequence[KeptRun], width: int, paint: Paint) -> Iterator[str]:
    if not rows:
        return
    ids = min(_MAX_ID, max(columns_of(row.id) for row in rows))
    head = _HEADING.format(id=padded("run", ids))
    room = width - columns_of(head) + len("what")
    if room >= LEAST_TEXT:
        yield paint(head, "dim")
    for row in rows:
        outcome = paint(f"{word_of(row.outcome):9}", OUTCOME_STYLES.get(row.outcome, "yellow"))
        when = local_time(row.at, "%m-%d %H:%M:%S")[:11]
        cells = f"{fit(row.tier, 8):8} {took_of(row):>8} {row.calls + row.fetches:>5} {row.cost:>8.4g}"
        what = row.purpose + (f" ({row.error_type})" if row.error_type else "")
        if row.outcome == "forgotten":
            cells, what = " " * len(cells), "(forgotten)"
        id_ = padded(fit(row.id, ids), ids)
        if room >= LEAST_TEXT:
            yield f"{id_}  {when}  {outcome} {cells}  {fit(what, room)}".rstrip()
        else:
            yield f"{id_}  {outcome} {took_of(row) if row.tier else ''}".rstrip()
            yield f"  {fit(what, max(width - 2, 10))}"


def program_lines(programs: Sequence[OpenProgram], width: int, paint: Paint) -> Iterator[str]:
    for program in programs:
        told = {
            "open": "open",
            "gone": "gone without closing the home: killed, or crashed",
            "unknown": "of another container",
        }
        since = local_time(program.at, "%Y-%m-%d %H:%M:%S")
        head = f"{fit(program.program or 'a program', 40)} ({program.pid}): {told[program.state]}, since {since}"
        wall = f", wall {fit(program.wall, 10)}" if program.wall else ""
        yield paint(fit(f"{head}, version {program.version or 'unknown'}{wall}", width), "bold")
        for run in program.runs:
            words = "running" if program.state == "open" else "was running"
            yield fit(f"  {words} since {local_time(run.at, '%H:%M:%S')}: {run.id} {run.tier} {run.purpose}", width)
        if program.runs_left_out:
            yield f"  and {program.runs_left_out} more"


def word_of(outcome: str) -> str:
    return {"host_failed": "failed", "cancelled": "stopped"}.get(outcome, outcome)


def took_of(row: KeptRun) -> str:
    return "cache" if row.cached else milliseconds(row.took_ms)


def milliseconds(ms: float) -> str:
    if ms < 1_000:
        return f"{ms:.1f} ms"
    return f"{ms / 1_000:.1f} s" if ms < 1_000_000 else f"{ms / 60_000:.0f} min"


def size_of(count: int | None) -> str:
    if count is None:
        return ""
    if count < 1_024:
        return f"{count} B"
    return f"{count / 1_024:.1f} KiB" if count < 1_048_576 else f"{count / 1_048_576:.1f} MiB"
