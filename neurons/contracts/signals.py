"""Signals: typed messages between the host, the neurons and the agent."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

# Emitted by the cortex itself. No neuron may emit these, so that their origin is certain.
BUILT_IN = frozenset({"tick", "hour_changed", "energy", "user_message"})

LOWEST, NORMAL, HIGHEST = 0, 5, 9
DEFAULT_TTL_S = 60.0


def new_id() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class Signal:
    """A typed message to neurons."""

    type: str
    source: str
    """"cortex", "host", or "neuron:<id>"."""
    data: Any = None
    """JSON."""
    priority: int = NORMAL
    """From 0 to 9; higher ones are delivered first."""
    at: float = 0.0
    """Seconds of the layer's clock."""
    id: str = field(default_factory=new_id)
    correlation: str = ""
    """The id of the first signal of the chain; the signal's own id when it is the first."""
    parent: str | None = None
    """The id of the signal that this one answers."""
    depth: int = 0
    """How many signals came before it in the chain."""
    ttl_s: float = DEFAULT_TTL_S
    """A signal that has waited longer is dropped and counted."""

    def __post_init__(self) -> None:
        if not self.correlation:
            object.__setattr__(self, "correlation", self.id)


def as_given(signal: Signal) -> dict[str, Any]:
    """The signal as the code of a neuron sees it, in quarantine and later. The depth and the time to live are left out:
    they concern only the layer. `at` is in milliseconds, like `Date.now()`."""
    return {
        "type": signal.type,
        "source": signal.source,
        "data": signal.data,
        "priority": signal.priority,
        "at": round(signal.at * 1000),
        "id": signal.id,
        "correlation": signal.correlation,
        "parent": signal.parent,
    }
