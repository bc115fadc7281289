"""Benchmark of a turn: what it adds to an execution (gate, guard, energy and audit on disk, reply)."""

from __future__ import annotations

import math
from itertools import count

import anyio

from cortex import MotorCortex, Settings
from cortex.settings.sections import EnergySettings
from sandbox import DenoRuntime, ExecutionRequest

from .measure import Report, Row, folder_on_disk, interleaved, p50

CODE = "return 1 + 1"


async def turn(rounds: int, report: Report) -> None:
    """Measure `turn.call("core.execute", …)` against `runtime.execute` of the same runtime."""
    # Energy that never runs out: the time to take it is measured.
    energy = EnergySettings(recharge_per_minute=1_000_000)
    with folder_on_disk() as home:
        # Without the cache: with it nothing would run.
        settings = Settings(home=home, energy=energy, cache={"enabled": False})
        async with DenoRuntime() as runtime, MotorCortex(settings, runtime=runtime) as cortex:

            async def in_a_turn(code: str) -> None:
                async with cortex.turn() as turn:
                    text = await turn.call("core.execute", {"purpose": "add", "code": code})
                assert text == "2", text

            numbers = count()

            async def directly() -> None:
                outcome = await runtime.execute(ExecutionRequest(code=CODE, timeout_ms=5000))
                assert outcome.result == 2, outcome.error

            trials = {
                "turn": lambda: in_a_turn(CODE),
                "new": lambda: in_a_turn(f"{CODE} // {next(numbers)}"),
                "runtime": directly,
            }
            taken = await interleaved(trials, 2 * rounds, lambda: anyio.sleep(0.05))
    whole, bare = p50(taken["turn"]), p50(taken["runtime"])
    report(Row("core.execute in a turn", whole, bare, "ms", 2.0, "the runtime alone"))
    report(Row("what a turn adds to an execution", max(0.0, whole - bare), 1, "ms", 1.0, "limit"))
    new = p50(taken["new"])
    report(Row("the same with code that was never seen", max(0.0, new - bare), 1, "ms", math.inf, "a millisecond"))
