"""Read the status of the process that runs a home's neurons, for commands in another process. Pure, except that it asks
the system whether that process exists."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cortex.text import local_time, visible
from neurons import LayerState, NerveState


class _Seen(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class Nerve(_Seen):
    state: str
    reason: str = ""
    waiting: int = 0

    def __str__(self) -> str:
        """The state and its reason; empty while the neuron is awake."""
        if self.state == NerveState.AWAKE:
            return ""
        return visible(" ".join(f"{self.state}: {self.reason}".split())) if self.reason else visible(self.state)


class _Counts(_Seen):
    delivered: int = 0
    waiting: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)


class Layer(_Seen):
    """The layer as its document describes it. A process that was killed leaves an outdated document: check `leads`."""

    state: str
    pid: int = Field(gt=0)
    since: float
    trouble: str = ""
    counts: _Counts = _Counts()
    neurons: dict[str, Nerve] = Field(default_factory=dict)

    @property
    def leads(self) -> bool:
        return self.state in {LayerState.LEADING, LayerState.KILLED} and _is_there(self.pid)

    def nerve(self, neuron_id: str) -> Nerve | None:
        return self.neurons.get(neuron_id) if self.leads else None


def layer_of(document: Mapping[str, Any] | None) -> Layer | None:
    """The layer in the document; None if there is no document, or an invalid one."""
    try:
        return None if document is None else Layer.model_validate(document)
    except ValidationError:
        return None


def layer_lines(layer: Layer | None, *, is_killed: bool = False) -> list[str]:
    """Sentences about the process that runs the neurons, since when, and its signals. The caller wraps them."""
    if layer is None or not layer.leads:
        if is_killed:
            return ["No process runs the neurons now, and none may before the kill switch is turned off: cortex revive"]
        how = "with the next agent on this home, or with cortex neurons run"
        return [f"No process runs the neurons now; they wake up {how}"]
    if layer.state == LayerState.KILLED:
        return [f"Process {layer.pid} holds the neurons and has stopped them, because the kill switch is on"]
    counts = layer.counts
    told = f"Process {layer.pid} runs the neurons since {local_time(layer.since)}"
    lines = [
        f"{told}: {counts.delivered:,} signal{'' if counts.delivered == 1 else 's'} given, {counts.waiting:,} waiting"
    ]
    dropped = {why: count for why, count in counts.dropped.items() if count}
    if dropped:
        reasons = ", ".join(f"{count:,} {visible(why)}" for why, count in dropped.items())
        lines.append(f"{sum(dropped.values()):,} signals dropped: {reasons}")
    if layer.trouble:
        lines.append(f"Trouble: {visible(' '.join(layer.trouble.split()))}")
    return lines


def _is_there(pid: int) -> bool:
    try:
        os.getpgid(pid)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it exists, and belongs to another user
        return True
    return True
