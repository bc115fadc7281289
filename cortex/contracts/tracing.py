"""The interface (port) of tracing: surrounds work while it happens, so that what is done inside finds its parent. All
else that a trace holds comes from the events.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from neurons import Neuron

    from .events import CortexEvent

Spanned: TypeAlias = AbstractContextManager[object]

TracedCall: TypeAlias = Callable[[str, str, str, "int | None"], Spanned]
"""Surrounds one call of a tool: its name, who calls it, the policy that holds, and the number of the run that calls."""

Came: TypeAlias = Callable[[int, int, float], None]
"""Called with what came of a delivery: signals emitted, errors, energy used."""


class Tracing(Protocol):
    """None of it raises or waits. A cortex without an SDK of OpenTelemetry has none."""

    def turn(self, turn: str, conversation: str | None) -> Spanned:
        """Surrounds a turn. It may be left in another task than it was entered."""
        ...

    def call(self, tool: str) -> Spanned:
        """Surrounds a call of a core tool by the model."""
        ...

    def tool_calls(self, turn: str) -> TracedCall:
        """What surrounds the calls of tools of this turn."""
        ...

    def delivery(self, neuron: Neuron, signals: int) -> AbstractContextManager[Came]:
        """Surrounds the delivery of this many signals to a neuron."""
        ...

    def apart(self) -> None:
        """Make what this task does from here on a part of no trace: it goes on after what has started it."""
        ...

    def hear(self, event: CortexEvent) -> None:
        """Take an event of the cortex, at once and in the task that announces it."""
        ...
