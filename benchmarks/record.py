"""Benchmark of the record of a run: what keeping it takes from the run itself, at its beginning and at its end."""

from __future__ import annotations

import time
from typing import Any

from cortex.contracts import ExecutionEnded, ExecutionStarted, RunCode, RunCodeIntent, Trace
from cortex.redaction import Redactor
from cortex.runs import ObservedRun, OpenProgramFile, RunFiles, RunWriter
from cortex.settings import RedactionSettings, RunsSettings
from sandbox import ExecutionOutcome, LogEntry, Metrics, Tier

from .measure import Report, Row, folder_on_disk, p50

MOST_MS = 0.02
"""Twenty microseconds of a run."""
# Fewer than wait at most: a run that is dropped costs nothing.
_AT_ONCE = 20
_LOGS = tuple(LogEntry("log", "a line", float(at)) for at in range(100))


async def record(rounds: int, report: Report) -> None:
    """Measure what the event spine calls for each run: the writer of details, and the file of what runs now."""
    taken = []
    with folder_on_disk() as home:
        settings = RunsSettings()
        writer = RunWriter(RunFiles(home / "runs", settings), settings, _Written, Redactor(RedactionSettings()))
        program = OpenProgramFile(home / "open", dict)
        for number in range(max(5, rounds)):
            began, ended = _events(number)
            start = time.perf_counter()
            for event in (*began, *ended):
                writer.hear(event)
                program.hear(event)
            taken.append((time.perf_counter() - start) * 1000 / _AT_ONCE)
            writer.flush()
        writer.close()
    report(Row("the record of a run, taken from the run", p50(taken), MOST_MS, "ms", 1.0, "limit"))


class _Written:
    """An audit that writes nothing: the thread of the writer calls it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.seq = 1


def _events(turn: int) -> tuple[list[ExecutionStarted], list[ExecutionEnded]]:
    outcome = ExecutionOutcome(ok=True, result=1, logs=_LOGS, metrics=Metrics(total_ms=1, execution_ms=1))
    code = RunCode(purpose="add", code="return 1", tier=Tier.ISOLATED, timeout=1_000)
    intents = [RunCodeIntent(payload=code, trace=Trace(turn=str(turn), call=at + 1)) for at in range(_AT_ONCE)]
    runs = [ObservedRun(intent, "0" * 64, 0) for intent in intents]
    began = [
        ExecutionStarted(intent, 1.0, 1.0, "0" * 64, 0.05, 1, 0, 0.0, run)
        for intent, run in zip(intents, runs, strict=True)
    ]
    ended = [
        ExecutionEnded(intent, outcome, "1", 1.0, "0" * 64, 0.05, run=run)
        for intent, run in zip(intents, runs, strict=True)
    ]
    return began, ended
