"""The metrics of a cortex: by the names of the source documents, from events, and bounded whatever those hold."""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace

import pytest

from cortex import MotorCortex, Settings, Toolbox
from cortex.audit import CortexMetrics
from cortex.contracts import ExecutionCutShort, ExecutionEnded, ExecutionStarted, WorkflowStepped, weight_of_event
from sandbox import ErrorType, ExecutionError, ExecutionOutcome, Metrics
from sandbox.testing import ScriptedRuntime

INTENT = SimpleNamespace()
NAMES = {
    "code_execution_total",
    "code_execution_duration_ms",
    "code_execution_errors_total",
    "sandbox_memory_mb",
    "tools_injected_count",
    "sandbox_startup_ms",
    "code_execution_ms",
    "tool_discovery_ms",
    "checkpoint_save_ms",
}


def ended(*, ok: bool = True, error: ExecutionError | None = None, **metrics) -> ExecutionEnded:
    return ExecutionEnded(INTENT, ExecutionOutcome(ok=ok, error=error, metrics=Metrics(**metrics)), "", 1.0)


def test_each_metric_has_the_name_that_it_was_given_in_both_forms():
    found = CortexMetrics()
    assert found.snapshot().keys() == NAMES
    assert {line.split()[2] for line in found.prometheus().splitlines() if line.startswith("# TYPE")} == NAMES


def test_what_happens_is_counted_and_measured():
    metrics = CortexMetrics()
    metrics.hear(ExecutionStarted(INTENT, 1.0, 0.9, tools=3, discovery_ms=2.0))
    metrics.hear(ended(total_ms=30.0, execution_ms=20.0, startup_ms=7.0, peak_memory_mb=50.0))
    metrics.hear(ended(total_ms=2.0, cached=True))
    metrics.hear(ended(ok=False, error=ExecutionError(ErrorType.TIMEOUT, "late"), total_ms=70_000.0))
    metrics.hear(ExecutionCutShort(INTENT, "CANCELLED", 1.0))
    metrics.hear(WorkflowStepped("r1", 1, "checkpoint_saved", {}, 0.0, 4.0))
    metrics.hear(WorkflowStepped("r1", 2, "run_done", {}, 0.0, 4.0))
    found = metrics.snapshot()
    assert found["code_execution_total"] == 4
    assert found["code_execution_errors_total"] == {"CANCELLED": 1, "TimeoutError": 1}
    duration = found["code_execution_duration_ms"]
    assert (duration["count"], duration["sum"]) == (3, 70_032.0)
    assert (duration["buckets"]["5"], duration["buckets"]["50"], duration["buckets"]["60000"]) == (1, 2, 2)
    assert duration["buckets"]["+Inf"] == 3
    assert {
        name: found[name]["count"] for name in ("code_execution_ms", "sandbox_startup_ms", "checkpoint_save_ms")
    } == {
        "code_execution_ms": 2,  # none for the cached one
        "sandbox_startup_ms": 2,
        "checkpoint_save_ms": 1,
    }
    assert (found["tools_injected_count"]["sum"], found["tool_discovery_ms"]["sum"]) == (3, 2.0)
    text = metrics.prometheus()
    assert 'code_execution_errors_total{type="TimeoutError"} 1' in text
    assert 'code_execution_duration_ms_bucket{le="+Inf"} 3' in text


def test_names_that_code_chooses_make_no_labels():
    metrics = CortexMetrics()
    size = len(metrics.prometheus())
    for n in range(1_000):
        strange = ExecutionError(f'x"{n}\n# TYPE evil counter', "no")  # type: ignore[arg-type]
        metrics.hear(ended(ok=False, error=strange))
        metrics.hear(ExecutionCutShort(INTENT, f"why {n}", 1.0))
    assert metrics.snapshot()["code_execution_errors_total"] == {"other": 2_000}
    assert len(metrics.prometheus()) < size + 500
    assert "evil" not in metrics.prometheus()


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, "many", None])
def test_what_is_no_measure_is_left_out(value):
    metrics = CortexMetrics()
    metrics.hear(ended(total_ms=value))
    assert metrics.snapshot()["code_execution_duration_ms"]["count"] == 0


def test_threads_count_together():
    metrics = CortexMetrics()
    threads = [
        threading.Thread(target=lambda: [metrics.hear(ended(total_ms=1.0)) for _ in range(500)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metrics.snapshot()["code_execution_total"] == 2_000


async def test_a_run_in_a_turn_is_measured(tmp_path):
    toolbox = Toolbox()
    toolbox.tool(name="shop.stock", description="The stock.")(lambda: 1)
    outcome = ExecutionOutcome(ok=True, result=1, metrics=Metrics(total_ms=9.0, execution_ms=5.0))
    settings = Settings(home=tmp_path)
    async with MotorCortex(settings, toolbox=toolbox, runtime=ScriptedRuntime([outcome])) as cortex:
        async with cortex.turn() as turn:
            await turn.call("core.execute", {"purpose": "look", "code": "return await tools.shop.stock()"})
        found = cortex.metrics.snapshot()
    assert found["code_execution_total"] == 1
    assert found["tools_injected_count"]["sum"] == 1
    assert found["tool_discovery_ms"]["count"] == 1


def test_what_an_event_of_a_workflow_holds_is_weighed():
    event = WorkflowStepped("r1", 1, "task_failed", {"error": {"message": "x" * 100_000}}, 0.0)
    assert weight_of_event(event, 1_000_000) > 100_000
