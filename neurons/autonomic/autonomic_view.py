"""The autonomic layer as somebody sees it who looks. Plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from ..contracts import Json, Neuron

LAYER_KEY = "autonomic/layer"
"""The document in which other processes find what the layer does."""


class LayerState(StrEnum):
    OFF = "off"
    STANDBY = "standby"
    """Another process on the same home runs the neurons."""
    LEADING = "leading"
    KILLED = "killed"


class NerveState(StrEnum):
    AWAKE = "awake"
    STARTING = "starting"
    RESTING = "resting"
    """For want of energy."""
    TROUBLE = "trouble"
    """It has no process, and is tried again."""
    STOPPED = "stopped"
    """It has failed, and its document does not say so yet."""


@dataclass(frozen=True, slots=True)
class NerveView:
    """An awake neuron as it is now. Its counts, with those that are not written yet, are in `neuron`."""

    neuron: Neuron
    state: NerveState
    reason: str
    waiting: int
    floor: float
    """The level of energy below which it rests."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Since the layer was opened."""

    emitted: int
    """Let in, whoever emitted them."""
    unheard: int
    """Let in, and no neuron listened."""
    delivered: int
    """Given to a neuron, and answered or failed; a signal counts once for each neuron."""
    waiting: int
    wakes: int
    listener_errors: int
    dropped: dict[str, int]
    """By reason: see `Drop`."""


@dataclass(frozen=True, slots=True)
class Overview:
    state: LayerState
    level: float | None
    """Of energy; None when it cannot be read."""
    nerves: tuple[NerveView, ...]
    counts: Counts
    trouble: str
    """What the disk refuses, if it does."""


def as_document(overview: Overview, *, since: float, wakes: Sequence[float], pid: int) -> Json:
    """Without what changes by itself all the time: it is written when it has changed."""
    return {
        "state": overview.state.value,
        "pid": pid,
        "since": since,
        "trouble": overview.trouble,
        "counts": asdict(overview.counts),
        "wakes": list(wakes),
        "neurons": {
            view.neuron.id: {"state": view.state.value, "reason": view.reason, "waiting": view.waiting}
            for view in overview.nerves
        },
    }
