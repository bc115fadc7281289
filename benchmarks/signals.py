"""Benchmark of resident programs: signals to five of them without the neuron layer, only pipes and processes."""

from __future__ import annotations

import gc
import os
import time
from contextlib import AsyncExitStack
from typing import Any

import anyio

from sandbox import DenoRuntime, Resident, ResidentProgram, SandboxSettings

from .measure import Report, Row, p50, rss_mb

RESIDENTS = 5
BATCH = 64
CODE = """
state.seen = (state.seen ?? 0) + 1;
if (Math.abs(signal.data.price - (state.last ?? 0)) > 100) {
  state.last = signal.data.price;
  emit("price_change", { price: state.last });
}
"""


async def signals(rounds: int, report: Report) -> None:
    async with DenoRuntime(SandboxSettings()) as runtime:
        loads = []
        for _ in range(3):
            start = time.perf_counter()
            async with AsyncExitStack() as stack:
                await loaded(runtime, stack)
                loads.append((time.perf_counter() - start) * 1000)
        async with AsyncExitStack() as stack:
            residents = await loaded(runtime, stack)
            alone = [await one_ms(residents[0], number) for number in range(max(50, rounds * 5))]
            await deliver(residents, 20_000)
            gc.collect()
            before = memory_mb(residents)
            each_us = await deliver(residents, 200_000 if rounds > 20 else 50_000)
            gc.collect()
            grown = max(0.0, memory_mb(residents) - before)
    report(Row(f"{RESIDENTS} programs loaded", p50(loads), 500, "ms", 1.0, "limit"))
    report(Row("a program that stays answers a signal, p50", p50(alone), 1, "ms", 1.0, "limit"))
    report(Row(f"a signal of many, {RESIDENTS} programs, in batches", each_us, 50, "µs", 1.0, "20,000 a second"))
    # A heap grows once by four megabytes when it has been busy for long.
    report(Row("growth of the host and the processes", grown, 30, "MB", 1.0, "limit"))


async def loaded(runtime: DenoRuntime, stack: AsyncExitStack) -> list[Resident]:
    programs = [ResidentProgram(code=f"// {number}\n{CODE}") for number in range(RESIDENTS)]
    return [await stack.enter_async_context(runtime.resident(program)) for program in programs]


async def one_ms(resident: Resident, number: int) -> float:
    start = time.perf_counter()
    batch = await resident.handle([signal(number)], {})
    assert batch.answers[0].ok, batch.answers[0].error
    return (time.perf_counter() - start) * 1000


async def deliver(residents: list[Resident], count: int) -> float:
    """Give `count` signals to all residents together; return the microseconds for one."""

    async def serve(resident: Resident) -> None:
        state: dict[str, Any] = {}
        for first in range(0, count // len(residents), BATCH):
            batch = await resident.handle([signal(number) for number in range(first, first + BATCH)], state)
            assert all(answer.ok for answer in batch.answers)
            state = batch.state

    start = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for resident in residents:
            tasks.start_soon(serve, resident)
    return (time.perf_counter() - start) * 1_000_000 / count


def signal(number: int) -> dict[str, Any]:
    return {
        "type": "price",
        "source": "host",
        "data": {"price": 97_500 + number % 300},
        "priority": 5,
        "at": 1_700_000_000_000 + number,
        "id": f"{number:016x}",
        "correlation": f"{number:016x}",
        "parent": None,
    }


def memory_mb(residents: list[Resident]) -> float:
    pids = [resident._process._held[0].process.pid for resident in residents]
    return rss_mb([os.getpid(), *pids])
