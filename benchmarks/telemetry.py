"""Benchmark of telemetry: what spans take from a run without an SDK of OpenTelemetry, with its API alone and with the
SDK, and what a scrape of the metrics of a home takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import NoOpTracerProvider

from cortex.audit import Audit
from cortex.contracts import ExecutionEnded, ExecutionStarted, RunCode, RunCodeIntent, ToolCalled, Trace
from cortex.settings import AuditSettings, Settings
from cortex.telemetry import METRICS, HomeMetrics, SpanTracing, exposition, fold_all
from cortex.telemetry.tracing import tracer_of
from cortex.turn import Turn
from sandbox import ExecutionOutcome, Tier

from .measure import Report, Row, folder_on_disk, p50

OFF_US, API_US, SDK_US = 1.0, 30.0, 250.0
RECORD_US, SCRAPE_MS = 150.0, 20.0
RECORDS = 4_000
_AT_ONCE = 100
_CODE = RunCode(purpose="add", code="return 1", tier=Tier.ISOLATED, timeout=1_000)


async def telemetry(rounds: int, report: Report) -> None:
    off: Any = SimpleNamespace(_services=SimpleNamespace(tracing=None))

    def without() -> None:
        with Turn._traced(off, "core.execute"):
            pass

    report(Row("spans, without an SDK", _us(without, rounds, 20), OFF_US, "µs", 1.0, "limit"))
    report(Row("five spans, the API alone", _five(NoOpTracerProvider(), rounds), API_US, "µs", 1.0, "limit"))
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_Nowhere()))
    report(Row("five spans, the SDK in batches", _five(provider, rounds), SDK_US, "µs", 1.0, "limit"))
    provider.shutdown()
    _metrics(rounds, report)


def _five(provider: Any, rounds: int) -> float:
    """Microseconds for a turn with a call, its run and two calls of tools."""
    tracing = SpanTracing(tracer_of(provider))
    traced = tracing.tool_calls("t")
    intent = RunCodeIntent(payload=_CODE, trace=Trace(turn="t", call=1))
    outcome = ExecutionOutcome(ok=True, result=1)

    def turn() -> None:
        with tracing.turn("t", None), tracing.call("core.execute"):
            tracing.hear(ExecutionStarted(intent, 1.0, 1.0, "h", 0.05, 1, 2))
            for _ in range(2):
                with traced("shop.stock", "code", "allow", 1):
                    tracing.hear(ToolCalled("shop.stock", "code", True, 1.0, "t"))
            tracing.hear(ExecutionEnded(intent, outcome, "1", 0.9, "h", 0.05))

    return _us(turn, rounds, 1)


def _us(work: Callable[[], None], rounds: int, times: int) -> float:
    """Microseconds of CPU of this thread, the median of many: what others do meanwhile is not ours."""
    taken = []
    for _ in range(max(5, rounds)):
        start = time.thread_time()
        for _ in range(_AT_ONCE * times):
            work()
        taken.append((time.thread_time() - start) * 1e6 / (_AT_ONCE * times))
    return p50(taken)


def _metrics(rounds: int, report: Report) -> None:
    with folder_on_disk() as folder:
        settings = Settings(home=folder / "home")
        audit = Audit(settings.home / "audit", AuditSettings())
        for number in range(RECORDS):
            audit.record("execution", turn=str(number), tier="isolated", ok=True, total_ms=1.0, code_hash="0" * 64)
        audit.close()
        metrics = HomeMetrics(settings)
        start = time.perf_counter()
        fold_all(metrics)
        folded = (time.perf_counter() - start) * 1e6 / RECORDS
        report(Row("metrics, a record summed up for the first time", folded, RECORD_US, "µs", 1.0, "limit"))
        taken = []
        for _ in range(max(5, rounds)):
            start = time.perf_counter()
            fold_all(metrics)
            exposition(metrics.gather(), METRICS)
            taken.append((time.perf_counter() - start) * 1000)
        report(Row("metrics, a scrape with nothing new", p50(taken), SCRAPE_MS, "ms", 1.0, "limit"))


class _Nowhere(SpanExporter):
    def export(self, spans: Any) -> SpanExportResult:  # noqa: ARG002
        return SpanExportResult.SUCCESS
