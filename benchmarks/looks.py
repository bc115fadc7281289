"""Benchmark of the commands that only look: their processor time on a home with neurons, habits and an audit, on a
warm disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cortex.audit import Audit, AuditJournal
from cortex.energy import EnergyReserve
from cortex.home import Home
from cortex.settings import Settings
from neurons import ApprovalKey, DeferredStorage, Habits, HabitSettings, NeuronSettings, NeuronStore, Pipeline, Proposal
from neurons.habits.fingerprint import Fingerprint, fingerprint

from .measure import Report, Row, cpu_ms_of_children, p50

COMMAND = "from cortex.commands import main; main()"
NEURONS = 5
HABITS = 4
CHANGES = 20
LIMIT_MS = 300
LOOKS = ("neurons list", "neurons show watch-0", "neurons habits", "stats", "energy", "audit")


async def looks(rounds: int, report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await fill(Path(folder))
        programs = {"python": [sys.executable, "-c", "pass"]}
        programs |= {look: [sys.executable, "-c", COMMAND, *look.split(), "--home", folder] for look in LOOKS}
        taken: dict[str, list[float]] = {name: [] for name in programs}
        for number in range(max(6, rounds // 4)):
            for name, one in programs.items():
                spent = cpu_ms(one)
                if number:  # the first time Python writes its bytecode
                    taken[name].append(spent)
    bare = p50(taken["python"])
    report(Row("cortex neurons list, CPU", p50(taken["neurons list"]), bare, "ms", 30.0, "bare python"))
    for look in LOOKS:
        report(Row(f"cortex {look}, CPU", p50(taken[look]), LIMIT_MS, "ms", 1.0, "limit"))


async def fill(home: Path) -> None:
    """Propose five neurons there, notice four habits and change the energy twenty times, which the audit records."""
    state = Home(home).state
    storage = DeferredStorage(state)
    settings = NeuronSettings.model_validate({"proposals": {"max_pending": NEURONS}})
    key = ApprovalKey.load_or_make(state)
    pipeline = Pipeline(NeuronStore(storage), settings, key, record=lambda *_, **__: None, now=time.time)
    for number in range(NEURONS):
        asked = {"name": f"Watch {number}", "purpose": "Watch", "inputSignals": ["tick"], "energyBudget": 0.02}
        pipeline.propose(Proposal.of({**asked, "code": f"state.n = {number};"}), max_code_bytes=1_000)
    habits = Habits(storage, HabitSettings(), read=_read)
    for number in range(HABITS * HabitSettings().min_occurrences):
        code = f"return (await tools.shop.list{number % HABITS}({{ page: {number} }})).items.length"
        await habits.noticed(code, code_hash=f"{number:064x}", purpose=f"Count list {number % HABITS}")
    storage.close()
    audit = Audit(Home(home).audit, Settings().audit)
    reserve = EnergyReserve(state, Settings().energy, on_change=AuditJournal(audit).energy)
    for number in range(CHANGES):
        reserve.set(number / CHANGES)
    reserve.close()
    audit.close()


async def _read(code: str) -> Fingerprint | None:
    # In this process, as nowhere else: the code is our own.
    return fingerprint(code)


def cpu_ms(command: list[str]) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = cpu_ms_of_children()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return cpu_ms_of_children() - before
