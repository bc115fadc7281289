from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from benchmarks.console import browser_path, console
from benchmarks.measure import Row, p50, p95, p99, table
from benchmarks.telemetry import telemetry
from benchmarks.workflows import journal_of_runs, workflows

ROOT = Path(__file__).parent.parent


@pytest.mark.deno
def test_the_benchmark_runs_and_prints_its_table():
    run = [sys.executable, "-m", "benchmarks", "--quick", "--only", "cold"]
    text = subprocess.run(run, cwd=ROOT, capture_output=True, timeout=120, check=True).stdout.decode()
    assert "return 1 + 1, cold, p50" in text
    [row] = json.loads(subprocess.run([*run, "--json"], cwd=ROOT, capture_output=True, timeout=120, check=True).stdout)
    assert row["ratio"] == pytest.approx(row["ours"] / row["theirs"])


def test_a_bar_that_is_missed_is_printed():
    rows = [Row("slow", 2.0, 1.0, "ms", 1.5, "x"), Row("fast", 1.0, 1.0, "ms", 1.5, "x")]
    slow, fast = table(rows).splitlines()[1:]
    assert "MISSED" in slow
    assert "MISSED" not in fast


def test_percentiles():
    assert p50([3.0, 1.0, 2.0]) == 2.0
    assert p95([float(n) for n in range(100)]) == 95.0
    assert p99([float(n) for n in range(100)]) == 99.0


def test_the_benchmark_of_workflows_saves_and_loads_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows: list[Row] = []
    journal_of_runs(1, rows.append)
    assert [row.name for row in rows] == [
        "a layer of 10 tasks saved, p95",
        "a layer of 200 tasks saved, p95",
        "a run of 200 tasks loaded, p95",
    ]


@pytest.mark.deno
def test_the_benchmark_of_workflows_measures_a_hybrid_and_an_abort(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows: list[Row] = []
    anyio.run(workflows, 1, rows.append)
    assert [row.name for row in rows[3:]] == [
        "a hybrid of 5 tasks, tools of 20 ms",
        "  what the run adds to them",
        "  the run, p95",
        "abort to a dead process, p50",
        "  the slowest of them",
    ]


def test_the_benchmark_of_telemetry_measures_off_api_sdk_and_a_scrape(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows: list[Row] = []
    anyio.run(telemetry, 1, rows.append)
    assert [row.name for row in rows] == [
        "spans, without an SDK",
        "five spans, the API alone",
        "five spans, the SDK in batches",
        "metrics, a record summed up for the first time",
        "metrics, a scrape with nothing new",
    ]


@pytest.mark.soak
@pytest.mark.browser
@pytest.mark.deno
def test_the_benchmark_of_the_console_measures_its_bars(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    if browser_path() is None:
        pytest.skip("no Chromium: make browser installs it where it can")
    rows: list[Row] = []
    anyio.run(console, 1, rows.append)
    assert [row.name for row in rows][1:5] == [
        "first view of Now, all that it loads",
        "first paint, Now, p50",
        "first paint, 50 records, p50",
        "first paint, a record, p50",
    ]
    assert len(rows) == 14
    assert rows[1].held
