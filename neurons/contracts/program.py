"""A neuron as a program for the sandbox. Quarantine and the layer share it, or quarantine would prove nothing. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox import ResidentProgram, Tier

if TYPE_CHECKING:
    from .neuron import Neuron
    from .settings import NeuronSettings


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
