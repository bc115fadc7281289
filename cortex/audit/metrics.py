"""Counts and times of a cortex since it was made, from the events that it announces. Bounded: nothing that code, a tool
or a client chooses becomes a name or a label here.

The names are those of the source documents. An exporter reads `snapshot`; `prometheus` is the same as text.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cortex.contracts import ExecutionCutShort, ExecutionEnded, ExecutionStarted, WorkflowStepped
from sandbox import ErrorType

if TYPE_CHECKING:
    from cortex.contracts import CortexEvent
    from sandbox import ExecutionOutcome

_MS = (1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000)
_MB = (16, 32, 64, 128, 256, 512, 1_024, 2_048)
_FEW = (0, 1, 2, 5, 10, 25, 50, 100)
OTHER = "other"
_TYPES = frozenset({*map(str, ErrorType), "HOST_FAILED", "CANCELLED"})


class _Measure(NamedTuple):
    bounds: Sequence[int]
    help: str


TOTAL, ERRORS = "code_execution_total", "code_execution_errors_total"
_COUNTED = {
    TOTAL: "Runs of code, also those that failed or were cut short",
    ERRORS: "Runs of code without a result, by the kind of failure",
}
_MEASURED = {
    "code_execution_duration_ms": _Measure(_MS, "A whole run, with its start"),
    "code_execution_ms": _Measure(_MS, "The code itself"),
    "sandbox_startup_ms": _Measure(_MS, "The start of a process for a run"),
    "sandbox_memory_mb": _Measure(_MB, "The most memory that a run had"),
    "tools_injected_count": _Measure(_FEW, "Tools lent to a run"),
    "tool_discovery_ms": _Measure(_MS, "Finding the tools for a run"),
    "checkpoint_save_ms": _Measure(_MS, "Saving a layer of a workflow"),
}


class _Histogram:
    def __init__(self, bounds: Sequence[int]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: Any) -> None:
        if isinstance(value, int | float) and math.isfinite(value) and value >= 0:
            self.counts[bisect_left(self.bounds, value)] += 1
            self.sum += value

    def snapshot(self) -> dict[str, Any]:
        total, buckets = 0, {}
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            total += count
            buckets[bound] = total
        return {"count": total, "sum": round(self.sum, 3), "buckets": buckets}


class CortexMetrics:
    """The metrics of one cortex. Each method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = 0
        self._errors: dict[str, int] = {}
        self._measured = {name: _Histogram(measure.bounds) for name, measure in _MEASURED.items()}

    def hear(self, event: CortexEvent) -> None:
        """Take what the event tells. Takes microseconds, whatever the event holds."""
        match event:
            case ExecutionStarted():
                self._take(tools_injected_count=event.tools, tool_discovery_ms=event.discovery_ms)
            case ExecutionEnded():
                self._ran(event.outcome)
            case ExecutionCutShort():
                with self._lock:
                    self._total += 1
                    self._count_error(event.why)
            case WorkflowStepped(event="checkpoint_saved"):
                self._take(checkpoint_save_ms=event.saved_ms)
            case _:
                pass

    def snapshot(self) -> dict[str, Any]:
        """Counts, the counts of errors by type, and of each measure `count`, `sum` and `buckets`, which are cumulative:
        how many values were not above that bound."""
        with self._lock:
            counted = {TOTAL: self._total, ERRORS: dict(sorted(self._errors.items()))}
            return counted | {name: histogram.snapshot() for name, histogram in self._measured.items()}

    def prometheus(self) -> str:
        """The snapshot as Prometheus reads it."""
        found = self.snapshot()
        lines = [f"# HELP {TOTAL} {_COUNTED[TOTAL]}", f"# TYPE {TOTAL} counter", f"{TOTAL} {found[TOTAL]}"]
        lines += [f"# HELP {ERRORS} {_COUNTED[ERRORS]}", f"# TYPE {ERRORS} counter"]
        lines += [f'{ERRORS}{{type="{kind}"}} {count}' for kind, count in found[ERRORS].items()]
        for name, measure in _MEASURED.items():
            values = found[name]
            lines += [f"# HELP {name} {measure.help}", f"# TYPE {name} histogram"]
            lines += [f'{name}_bucket{{le="{bound}"}} {count}' for bound, count in values["buckets"].items()]
            lines += [f"{name}_sum {values['sum']:g}", f"{name}_count {values['count']}"]
        return "\n".join(lines) + "\n"

    def _ran(self, outcome: ExecutionOutcome) -> None:
        metrics = outcome.metrics
        self._take(code_execution_duration_ms=metrics.total_ms)
        if not metrics.cached:  # no process was started
            self._take(
                code_execution_ms=metrics.execution_ms,
                sandbox_startup_ms=metrics.startup_ms,
                sandbox_memory_mb=metrics.peak_memory_mb,
            )
        with self._lock:
            self._total += 1
            if not outcome.ok:
                self._count_error(OTHER if outcome.error is None else str(outcome.error.type))

    def _take(self, **values: float) -> None:
        with self._lock:
            for name, value in values.items():
                self._measured[name].add(value)

    def _count_error(self, kind: str) -> None:
        name = kind if kind in _TYPES else OTHER
        self._errors[name] = self._errors.get(name, 0) + 1
