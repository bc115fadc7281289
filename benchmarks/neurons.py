"""Benchmark of neurons: five processes, through the whole autonomic layer: queue, energy, counts, documents."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from cortex.energy import EnergyReserve
from cortex.settings.sections import EnergySettings
from neurons import (
    ApprovalKey,
    Autonomic,
    DeferredStorage,
    NeuronSettings,
    NeuronStore,
    Pipeline,
    Proposal,
    Report,
    code_hash,
    policy_hash,
)
from sandbox import DenoRuntime, Flusher, SandboxSettings

from .measure import Row, descendants, folder_on_disk, p50, pss_mb

AWAKE = 5
CODE = "state.seen = (state.seen ?? 0) + 1; state.last = signal.data.price"
# So cheap that the reserve is not empty after a second. Each batch is still charged.
CHEAP = {"per_signal": 1e-8, "per_cpu_second": 1e-8}


async def neurons(rounds: int, report: Callable[[Row], None]) -> None:
    with folder_on_disk() as home:
        async with DenoRuntime(SandboxSettings(pool_size=0)) as runtime:
            loads, alone = [], []
            for _ in range(3):
                async with awake(home, runtime, AWAKE) as (_, load_ms):
                    loads.append(load_ms)
            async with awake(home, runtime, AWAKE) as (layer, _):
                for _ in range(max(50, rounds * 5)):
                    start = time.perf_counter()
                    layer.emit("alone", {"price": 97_500})
                    await layer.idle()
                    alone.append((time.perf_counter() - start) * 1000)
                await deliver(layer, 20_000)
                gc.collect()
                before = memory_mb()
                each_us = await deliver(layer, 200_000 if rounds > 20 else 50_000)
                gc.collect()
                grown = max(0.0, memory_mb() - before)
    report(Row(f"{AWAKE} neurons loaded at start", p50(loads), 500, "ms", 1.0, "limit"))
    report(Row("a neuron answers a signal, p50", p50(alone), 1, "ms", 1.0, "limit"))
    report(Row(f"a signal of many, {AWAKE} neurons in batches", each_us, 50, "µs", 1.0, "20,000 a second"))
    # Python keeps memory that it was given; the heap of a process grows and shrinks.
    report(Row("growth of the host and its neurons meanwhile", grown, 20, "MB", 1.0, "limit"))


@asynccontextmanager
async def awake(home: Path, runtime: DenoRuntime, count: int) -> AsyncIterator[tuple[Autonomic, float]]:
    """A layer with `count` awake neurons, each with its process, and the milliseconds that the start took."""
    settings = NeuronSettings.model_validate({"cost": CHEAP, "autonomic": {"tick_s": 1_000_000}})
    flusher = Flusher(100)
    storage = DeferredStorage(home, flusher=flusher)
    pipeline = Pipeline(NeuronStore(storage), settings, ApprovalKey(b"k" * 32), record=lambda *_, **__: None)
    if not pipeline.awake():
        for number in range(count):
            approve(pipeline, number)
    energy = EnergyReserve(home, EnergySettings(), flusher=flusher)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(flusher.run)
        start = time.perf_counter()
        async with Autonomic(pipeline, runtime, energy, settings, storage=storage) as layer:
            while [view.state.value for view in layer.overview().nerves] != ["awake"] * count:
                await anyio.sleep(0.001)
            yield layer, (time.perf_counter() - start) * 1000
        tasks.cancel_scope.cancel()
    energy.close()
    storage.close()


def approve(pipeline: Pipeline, number: int) -> None:
    proposal = Proposal.of(
        {
            "name": f"Neuron {'ABCDE'[number]}",
            "code": f"{CODE} // {number}",
            "purpose": "Be measured",
            "inputSignals": ["price", "alone"] if number == 0 else ["price"],
            "energyBudget": 0.001,
        }
    )
    neuron = pipeline.propose(proposal, max_code_bytes=10_000)
    passed = Report(at=time.time(), code_hash=code_hash(neuron.code), policy_hash=policy_hash(neuron.policy))
    asked = pipeline.judged(neuron.id, passed)
    assert asked.request is not None
    pipeline.approve(neuron.id, asked.request.shown_hash)


async def deliver(layer: Autonomic, total: int) -> float:
    """Deliver `total` signals to all neurons together; return the microseconds for each."""
    before, dropped = layer.counts().delivered, layer.counts().dropped
    start = time.perf_counter()
    sent = 0
    while sent < total // AWAKE:
        most = max((view.waiting for view in layer.overview().nerves), default=0)
        for _ in range(min(500 - most, total // AWAKE - sent)):
            layer.emit("price", {"price": 97_500.5 + sent, "currency": "USD"})
            sent += 1
        await anyio.sleep(0.001)
    await layer.idle()
    took = time.perf_counter() - start
    delivered = layer.counts().delivered - before
    assert (delivered, layer.counts().dropped) == (sent * AWAKE, dropped)
    return took / delivered * 1e6


def memory_mb() -> float:
    """Memory of this process and its descendants in MB, each shared page counted once."""
    return sum(map(pss_mb, {os.getpid()} | descendants(os.getpid())))
