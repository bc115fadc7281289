"""The interface (port) of a channel that notifies the owner of a proposal, and the notice that is sent.

A module of its own because the channels of other packages implement this port.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..contracts import Approval, Neuron
    from ..habits import Habit


def _trusted(neuron_id: str, approval: Approval) -> bool:
    del neuron_id, approval
    return True


@dataclass(frozen=True, slots=True)
class Around:
    """What the owner is told about a neuron besides the neuron: who hears it, and what it costs in a day."""

    neurons: tuple[Neuron, ...] = ()
    """All neurons of the home; the one that is shown may be among them."""
    tick_s: float = 60.0
    recharge_a_day: float = 432.0
    """The energy that comes back in a day."""
    answers_a_day: int = 200
    """What all neurons together may say in the chat."""
    is_signed: Callable[[str, Approval], bool] = _trusted
    """Whether this home has signed the approval of the neuron with this id."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A proposal as the owner sees it. The agent wrote all texts in it."""

    title: str
    """`Agent wants to learn: CryptoPrice neuron`."""
    neuron: Neuron
    shown_hash: str
    """The owner repeats its beginning to approve."""
    habit: Habit | None = None
    """The habit that the proposal came from."""
    around: Around = Around()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a neuron without a decision of its owner."""

    event: str
    """`neuron_stopped`, `neuron_active`, `neuron_expires` (soon) or `neuron_expired`."""
    neuron: Neuron
    at: float
    reason: str


class OwnerChannel(Protocol):
    async def notify(self, notice: Notice) -> None:
        """Tell the owner. Raises ChannelError on failure; the proposal stays open all the same."""
        ...


class ChannelError(Exception):
    """The owner could not be told. The message says why and what to do."""
