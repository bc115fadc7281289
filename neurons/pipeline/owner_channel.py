"""How the owner is told of a proposal: the port, and what is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..contracts import Neuron
    from ..habits import Habit


@dataclass(frozen=True, slots=True)
class Notice:
    """A proposal as the owner is told of it. All texts are what an agent wrote."""

    title: str
    """`Agent wants to learn: CryptoPrice neuron`."""
    neuron: Neuron
    shown_hash: str
    """Its beginning is what the owner repeats to approve."""
    habit: Habit | None = None
    """That it came from."""


class OwnerChannel(Protocol):
    async def notify(self, notice: Notice) -> None:
        """Tell the owner. Raises ChannelError when that failed; the proposal waits all the same."""
        ...


class ChannelError(Exception):
    """The owner could not be told. The message says why and what to do."""
