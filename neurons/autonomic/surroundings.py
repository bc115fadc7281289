"""What all awake neurons of a layer share, and what they call when something happened."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from sandbox import HostTools, NetworkPolicy, ResidentHost

    from ..contracts import LentFolders, Neuron, NeuronSettings
    from .energy_account import EnergyAccount
    from .nerve import Nerve
    from .signal_queue import QueuedSignal, SignalQueue


Came: TypeAlias = Callable[[int, int, float], None]
"""Called with what came of a delivery: signals emitted, errors, energy used."""
TracedDelivery: TypeAlias = "Callable[[Neuron, int], AbstractContextManager[Came]]"
"""Surrounds the delivery of a number of signals to a neuron. Neither it nor what it gives raises or waits."""


@dataclass(frozen=True, slots=True)
class Lent:
    """What the host lends to neurons."""

    hosts: ResidentHost
    tools: Callable[[Neuron], HostTools | None]
    network: Callable[[Neuron], NetworkPolicy | None]
    folders: LentFolders | None = None
    """None where no neuron can use files."""
    traced: TracedDelivery | None = None
    """None where deliveries are not traced."""


class Answered(Protocol):
    """What a nerve calls when its neuron has answered, or could not."""

    def pass_on(self, nerve: Nerve, answered: QueuedSignal, type_: str, data: Any) -> None:
        """A neuron emitted a signal in answer to another."""

    def hold(self, nerve: Nerve, answered: QueuedSignal, type_: str, data: Any) -> None:
        """A neuron emitted a signal that does something for a person or the model. It leaves after it is written."""

    def handled(self, signals: int) -> None:
        """So many signals were answered or failed."""

    def lost(self, signals: int) -> None:
        """So many signals were taken from the queue and never handled."""

    def urgent(self, nerve: Nerve) -> None:
        """Something went wrong or there is a verdict: it must not wait for the next regular write."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all nerves of a layer share."""

    lent: Lent
    queue: SignalQueue
    account: EnergyAccount
    settings: NeuronSettings
    now: Callable[[], float]
    answered: Answered
    rested: Callable[[], None]
    """Called whenever a nerve has nothing left to do."""
