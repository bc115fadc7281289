"""A run that has ended, as it is handed over to the thread that writes its details: references, and few of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex.contracts import reply_code
from sandbox import Metrics

if TYPE_CHECKING:
    from cortex.contracts import ExecutionCutShort, ExecutionEnded
    from sandbox import ExecutionError, LogEntry

    from .observed_run import ObservedRun

# Entries of the console: from the beginning and from the end of the run.
LOG_HEAD = LOG_TAIL = 100


@dataclass(slots=True, eq=False)
class EndedRun:
    """What is handed over when a run has ended. It holds neither the result nor what was displayed: those may be
    megabytes, and wait for nobody."""

    run: ObservedRun
    ended: float
    """By `time.perf_counter`."""
    ok: bool
    reply_code: str
    reply: str
    level: float
    cost: float
    metrics: Metrics = field(default_factory=Metrics)
    error: ExecutionError | None = None
    first_logs: Sequence[LogEntry] = ()
    last_logs: Sequence[LogEntry] = ()
    logs: int = 0
    deterministic: bool = False
    result_bytes: int | None = None
    displayed: int = 0


def ended_of(event: ExecutionEnded, run: ObservedRun, now: float) -> EndedRun:
    """On the hot path: takes references, and copies at most 200 of them."""
    outcome = event.outcome
    logs = outcome.logs
    return EndedRun(
        run,
        now,
        outcome.ok,
        reply_code(outcome),
        event.reply,
        event.level,
        event.cost,
        outcome.metrics,
        outcome.error,
        logs[:LOG_HEAD],
        logs[max(LOG_HEAD, len(logs) - LOG_TAIL) :],
        len(logs),
        outcome.deterministic,
        outcome.result_bytes,
        len(outcome.displayed),
    )


def cut_short_of(event: ExecutionCutShort, run: ObservedRun, now: float) -> EndedRun:
    return EndedRun(run, now, ok=False, reply_code=event.why, reply="", level=event.level, cost=event.cost)


def clock_of(ended: EndedRun) -> float:
    """What the clock said when the code began, in milliseconds: after the run had waited for its place and process."""
    return round(ended.run.at * 1000 + before_ms(ended.run) + waited_ms(ended), 3)


def before_ms(run: ObservedRun) -> float:
    """How long the run took until the sandbox had its code."""
    return 0.0 if run.handed_over is None else (run.handed_over - run.began) * 1000


def waited_ms(ended: EndedRun) -> float:
    """How long the sandbox had the code before it was sent to a process."""
    return max(0.0, ended.metrics.total_ms - ended.metrics.execution_ms)
