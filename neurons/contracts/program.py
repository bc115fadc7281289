"""Turns a neuron into a program for the sandbox, and computes the energy that its signals cost. Pure.

Quarantine and the autonomic layer share both, or quarantine would prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sandbox import ResidentProgram, Tier

if TYPE_CHECKING:
    from sandbox import SignalAnswer, Work

    from .neuron import Neuron
    from .report import FileNeed
    from .settings import CostSettings, NeuronSettings

# The operations on files as the host is asked for them, and the functions of `Deno` that ask.
_READING = ("readFile", "readTextFile", "readDir", "stat", "lstat", "realPath")
_WRITING = ("writeFile", "writeTextFile", "mkdir", "remove", "rename", "copyFile")
# Words that also mean other things count only directly behind `Deno`.
_COMMON = frozenset({"stat", "remove", "rename"})
_MEMBER = re.compile(rf"\bDeno\s{{0,9}}\??\.\s{{0,9}}({'|'.join((*_READING, *_WRITING))})(?:Sync)?\b")
_ANYWHERE = re.compile(rf"\b({'|'.join(name for name in (*_READING, *_WRITING) if name not in _COMMON)})(?:Sync)?\b")
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
        # A function emits its result, and nothing else.
        max_emitted=1 if neuron.is_function else limits.max_emitted,
        max_signal_bytes=settings.functions.max_bytes if neuron.is_function else limits.max_signal_bytes,
        max_memory_mb=limits.max_memory_mb,
        is_function=neuron.is_function,
    )


def file_need(code: str, operations: Iterable[str] = ()) -> FileNeed:
    """What the code wants of files, by the functions that it names and the operations that it was seen to ask for."""
    named = set(operations)
    if may_use_files(code):
        named.update(_MEMBER.findall(code), _ANYWHERE.findall(code))
    if not named.isdisjoint(_WRITING):
        return "write"
    return "read" if named else ""


def may_use_files(code: str) -> bool:
    return "Deno" in code


def cost_of(work: Work | SignalAnswer, signals: int, settings: CostSettings) -> float:
    """The energy for `signals` signals and all the work on them: a base price for each signal, plus the work.

    A budget is for one signal: compare it with the answer to that.
    """
    return (
        signals * settings.per_signal
        + work.cpu_ms / 1000 * settings.per_cpu_second
        + work.fetches * settings.per_fetch
        + work.fetched_bytes / _MIB * settings.per_fetched_mib
        + work.tool_calls * settings.per_tool_call
    )
