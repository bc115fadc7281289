"""Benchmark of the cache: a hit against a run, and what a miss adds to a run."""

from __future__ import annotations

import math
from itertools import count

import anyio

from cortex import MotorCortex, Settings
from cortex.cache import CachedRuntime, ResultCache
from cortex.settings.sections import CacheSettings, EnergySettings
from sandbox import DenoRuntime, ExecutionRequest, Flusher

from .measure import Report, Row, folder_on_disk, interleaved, p50

CODE = "return [3, 1, 2].sort().join()"


async def cache(rounds: int, report: Report) -> None:
    # Energy that never runs out: the time to take it is measured.
    energy = EnergySettings(recharge_per_minute=1_000_000)
    with folder_on_disk() as home:
        flusher, numbers = Flusher(50), count()
        settings = Settings(home=home / "home", energy=energy)
        async with anyio.create_task_group() as tasks, DenoRuntime() as runtime:
            tasks.start_soon(flusher.run)
            cached = CachedRuntime(runtime, ResultCache(home / "cache", CacheSettings(), flusher=flusher))
            async with MotorCortex(settings, runtime=runtime) as cortex:

                async def in_a_turn(code: str) -> None:
                    async with cortex.turn() as turn:
                        text = await turn.call("core.execute", {"purpose": "sort", "code": code})
                    assert text == '"1,2,3"', text

                def new() -> ExecutionRequest:
                    return ExecutionRequest(code=f"{CODE} // {next(numbers)}", timeout_ms=5_000)

                same = ExecutionRequest(code=CODE, timeout_ms=5_000)
                await cached.execute(same)
                await in_a_turn(CODE)
                trials = {
                    "hit": lambda: cached.execute(same),
                    "run": lambda: runtime.execute(new()),
                    "miss": lambda: cached.execute(new()),
                    "hit in a turn": lambda: in_a_turn(CODE),
                    "run in a turn": lambda: in_a_turn(f"{CODE} // {next(numbers)}"),
                }
                taken = await interleaved(trials, 2 * rounds, lambda: anyio.sleep(0.05))
            tasks.cancel_scope.cancel()
    hit, run, miss = p50(taken["hit"]), p50(taken["run"]), p50(taken["miss"])
    report(Row("a result from the cache", hit, run, "ms", 0.2, "a warm run"))
    report(Row("what a look into the cache adds to a run", max(0.0, miss - run), 0.1, "ms", 1.0, "limit"))
    known, fresh = p50(taken["hit in a turn"]), p50(taken["run in a turn"])
    report(Row("a result from the cache, in a turn", known, fresh, "ms", math.inf, "a run in a turn"))
