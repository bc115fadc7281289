"""Turns a neuron into a program for the sandbox, and computes the energy that its signals cost. Pure.

Quarantine and the autonomic layer share both, or quarantine would prove nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox import ResidentProgram, Tier

if TYPE_CHECKING:
    from sandbox import Work

    from .neuron import Neuron
    from .settings import CostSettings, NeuronSettings

_MIB = 1024 * 1024


def program_of(neuron: Neuron, settings: NeuronSettings) -> ResidentProgram:
    limits = settings.autonomic
    waits = neuron.tier is Tier.NETWORK or bool(neuron.tools)  # a tool may call a server, too
    return ResidentProgram(
        code=neuron.code,
        name=neuron.id,
        tier=neuron.tier,
        timeout_ms=limits.timeout_network_ms if waits else limits.timeout_isolated_ms,
        max_state_bytes=limits.max_state_bytes,
        max_emitted=limits.max_emitted,
        max_signal_bytes=limits.max_signal_bytes,
        max_memory_mb=limits.max_memory_mb,
    )


def cost_of(work: Work, signals: int, settings: CostSettings) -> float:
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
