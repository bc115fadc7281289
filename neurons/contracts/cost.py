"""What signals cost a neuron, in energy. Pure: quarantine and the autonomic layer charge by the same table."""

from __future__ import annotations

from typing import Protocol

from .settings import CostSettings

_MIB = 1024 * 1024


class Spent(Protocol):
    """The work done for some signals, as the host measured it. `sandbox.Work` is one."""

    @property
    def cpu_ms(self) -> float: ...

    @property
    def fetches(self) -> int: ...

    @property
    def fetched_bytes(self) -> int: ...

    @property
    def tool_calls(self) -> int: ...


def cost_of(work: Spent, signals: int, settings: CostSettings) -> float:
    """The energy for `signals` signals and all the work on them: a base price for each signal, plus the work.

    Divide by the number of signals to compare with a budget, which is for one signal.
    """
    return (
        signals * settings.per_signal
        + work.cpu_ms / 1000 * settings.per_cpu_second
        + work.fetches * settings.per_fetch
        + work.fetched_bytes / _MIB * settings.per_fetched_mib
        + work.tool_calls * settings.per_tool_call
    )
