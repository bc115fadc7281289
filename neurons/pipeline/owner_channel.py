"""The interface (port) of a channel that notifies the owner of a proposal, and the notice that is sent.

A module of its own because the channels of other packages implement this port.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..contracts import Neuron
    from ..habits import Habit


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


class OwnerChannel(Protocol):
    async def notify(self, notice: Notice) -> None:
        """Tell the owner. Raises ChannelError on failure; the proposal stays open all the same."""
        ...


class ChannelError(Exception):
    """The owner could not be told. The message says why and what to do."""
