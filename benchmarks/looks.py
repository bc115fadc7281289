"""Benchmark of `cortex neurons`: the processor time of a look at a home with five neurons, on a warm disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cortex.home import Home
from neurons import ApprovalKey, DeferredStorage, NeuronSettings, NeuronStore, Pipeline, Proposal

from .measure import Report, Row, cpu_ms_of_children, p50

COMMAND = "from cortex.commands import main; main()"
NEURONS = 5
LIMIT_MS = 300


async def looks(rounds: int, report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder))
        programs = {
            "python": [sys.executable, "-c", "pass"],
            "list": [sys.executable, "-c", COMMAND, "neurons", "list", "--home", folder],
        }
        taken: dict[str, list[float]] = {name: [] for name in programs}
        for number in range(max(6, rounds // 4)):
            for name, one in programs.items():
                spent = cpu_ms(one)
                if number:  # the first time Python writes its bytecode
                    taken[name].append(spent)
    ours, bare = p50(taken["list"]), p50(taken["python"])
    report(Row("cortex neurons list, five neurons, CPU", ours, bare, "ms", 30.0, "bare python"))
    report(Row("cortex neurons list, five neurons, CPU", ours, LIMIT_MS, "ms", 1.0, "limit"))


def fill(home: Path) -> None:
    """Propose five neurons there."""
    state = Home(home).state
    storage = DeferredStorage(state)
    settings = NeuronSettings.model_validate({"proposals": {"max_pending": NEURONS}})
    key = ApprovalKey.load_or_make(state)
    pipeline = Pipeline(NeuronStore(storage), settings, key, record=lambda *_, **__: None, now=time.time)
    for number in range(NEURONS):
        asked = {"name": f"Watch {number}", "purpose": "Watch", "inputSignals": ["tick"], "energyBudget": 0.02}
        pipeline.propose(Proposal.of({**asked, "code": f"state.n = {number};"}), max_code_bytes=1_000)
    storage.close()


def cpu_ms(command: list[str]) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = cpu_ms_of_children()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return cpu_ms_of_children() - before
