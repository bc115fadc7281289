"""A snapshot of the autonomic layer, for the owner and for other processes. Plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from ..contracts import Json, Neuron

LAYER_KEY = "autonomic/layer"
"""The key of the document in which other processes find the layer's state."""


class LayerState(StrEnum):
    """What the layer does in this process."""

    OFF = "off"
    STANDBY = "standby"
    """Another process on the same home runs the neurons."""
    LEADING = "leading"
    KILLED = "killed"


class NerveState(StrEnum):
    """What an awake neuron does now."""

    AWAKE = "awake"
    STARTING = "starting"
    RESTING = "resting"
    """It waits for energy."""
    TROUBLE = "trouble"
    """It has no process; starting one is tried again."""
    STOPPED = "stopped"
    """It has failed, but its document does not say so yet."""


@dataclass(frozen=True, slots=True)
class NerveView:
    """An awake neuron as it is now. `neuron` includes the counts that are not written yet."""

    neuron: Neuron
    state: NerveState
    reason: str
    waiting: int
    floor: float
    """It rests below this level of energy."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Signal counts since the layer was opened."""

    emitted: int
    """Signals that were let in, from any source."""
    unheard: int
    """Signals that were let in, but no neuron listened."""
    delivered: int
    """Signals given to a neuron and answered or failed; a signal counts once for each neuron."""
    waiting: int
    wakes: int
    listener_errors: int
    dropped: dict[str, int]
    """Dropped signals by reason: see `Drop`."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole layer: its state, energy, neurons and counts."""

    state: LayerState
    level: float | None
    """The level of energy; None when it cannot be read."""
    nerves: tuple[NerveView, ...]
    counts: Counts
    trouble: str
    """What the disk or the reserve refuses; empty when all is well."""


def as_document(
    overview: Overview, *, since: float, wakes: Sequence[float], answered: Sequence[float], pid: int
) -> Json:
    """The overview as a JSON document. Values that change by themselves all the time are left out: the document is
    written only when it has changed."""
    return {
        "state": overview.state.value,
        "pid": pid,
        "since": since,
        "trouble": overview.trouble,
        "counts": asdict(overview.counts),
        "wakes": list(wakes),
        "answered": list(answered),
        "answers": answered_types([view.neuron for view in overview.nerves]),
        "neurons": {
            view.neuron.id: {"state": view.state.value, "reason": view.reason, "waiting": view.waiting}
            for view in overview.nerves
        },
    }


def answered_types(neurons: Sequence[Neuron]) -> list[str]:
    """The signals that a neuron answers in the conversation."""
    return sorted({type_ for one in neurons if one.emission.action == "answer" for type_ in one.input_signals})
