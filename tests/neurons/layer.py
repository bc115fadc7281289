"""An autonomic layer for tests: neurons that a Python function plays, energy that is a number, a clock moved by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio

from neurons import Autonomic, Courier, Neuron, Signal
from neurons.autonomic.autonomic_view import NerveView
from sandbox import FileLock
from sandbox.testing import NeuronFunction, ScriptedResidents

from .governance import Governed

BOUND_S = 60
FREE = {"per_signal": 0, "per_cpu_second": 0, "per_fetch": 0, "per_fetched_mib": 0, "per_tool_call": 0}


class Reserve:
    """Energy. While `broken` is a text it can be neither read nor spent."""

    def __init__(self, level: float = 1.0) -> None:
        self.now = level
        self.spent: list[tuple[str, float]] = []
        self.broken: str | None = None

    def level(self) -> float:
        if self.broken is not None:
            raise OSError(self.broken)
        return self.now

    async def spend(self, amount: float, *, reason: str, floor: float, code_hash: str | None = None) -> bool:
        await anyio.lowlevel.checkpoint()
        if self.broken is not None:
            raise OSError(self.broken)
        if self.now < floor or self.now < amount:
            return False
        self.now -= amount
        self.spent.append((reason, amount))
        return True


class Skillbook:
    def __init__(self) -> None:
        self.names: list[str] = []

    def learned(self, neuron: Neuron) -> None:
        self.names.append(neuron.name)


class Layer:
    """All that a test needs of one: `async with layer.open() as autonomic`."""

    def __init__(
        self,
        functions: NeuronFunction | Mapping[str, NeuronFunction] = lambda signal, state, emit: None,
        *,
        governed: Governed | None = None,
        level: float = 1.0,
        **settings: Any,
    ) -> None:
        # No tick comes in between, unless a test is about ticks; and nobody waits a second for the layer to look.
        settings["autonomic"] = {"tick_s": 1_000_000, "save_s": 0.02, **settings.get("autonomic", {})}
        self.governed = governed or Governed(**settings)
        self.residents = ScriptedResidents(functions)
        self.reserve = Reserve(level)
        self.skills = Skillbook()
        self.killed: set[str | None] = set()
        self.woken: list[Signal] = []

    @property
    def clock(self) -> Any:
        return self.governed.clock

    def trial(self, name: str = "CryptoPrice", **changes: Any) -> Neuron:
        """A neuron in trial, whose code is its name: that is what `functions` goes by."""
        return self.governed.in_trial(name=name, code=name, **changes)

    def open(
        self,
        *,
        lock: FileLock | None = None,
        wake: Callable[[Signal], Any] | None = None,
        courier: Courier | None = None,
        runner: bool = False,
    ) -> Autonomic:
        async def woken(signal: Signal) -> None:
            self.woken.append(signal)

        return Autonomic(
            self.governed,
            self.residents,
            self.reserve,
            self.governed.settings,
            now=self.clock,
            wake=wake or woken,
            skills=self.skills,
            is_killed=lambda neuron: neuron in self.killed,
            lock=lock,
            storage=self.governed.storage,
            courier=courier,
            runner=runner,
        )

    def document(self, neuron: Neuron) -> Neuron:
        return self.governed.store.get(neuron.id)


def one(autonomic: Autonomic, neuron: Neuron) -> NerveView:
    [view] = [view for view in autonomic.overview().nerves if view.neuron.id == neuron.id]
    return view


async def until(condition: Callable[[], object]) -> None:
    """Wait until something holds, looking again whenever others have run."""
    with anyio.fail_after(BOUND_S):
        while not condition():
            await anyio.sleep(0.001)


async def settled(autonomic: Autonomic) -> None:
    """Nothing is left to do, and what was done is in the documents."""
    with anyio.fail_after(BOUND_S):
        await autonomic.idle()
        await autonomic.refresh()
        await autonomic.idle()
