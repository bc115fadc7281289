"""Delivers what neurons emit, as far as this program can: tells the owner, says it in a chat, starts a turn.

Each delivery is one record of the audit. It changes the status of no neuron, and its kind cannot be taken for that.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import anyio

if TYPE_CHECKING:
    from neurons import Emitted, OwnerChannel, Record, Wake

log = logging.getLogger("motor_cortex")

TELLING_S = 120.0
"""Timeout of one channel."""


@runtime_checkable
class EmissionChannel(Protocol):
    """An owner channel that also tells what neurons emit."""

    async def emitted(self, emitted: Emitted) -> None: ...


class Delivery:
    """A `neurons.Courier`. `wake` starts a turn; `answer` says something in a conversation, and where it is missing an
    answer starts a turn, too."""

    def __init__(
        self, channels: Sequence[OwnerChannel], wake: Wake | None, answer: Wake | None, *, record: Record
    ) -> None:
        self._channels = [channel for channel in channels if isinstance(channel, EmissionChannel)]
        self._wake = wake
        self._answer = answer if answer is not None else wake
        self._record = record

    @property
    def actions(self) -> frozenset[str]:
        can = {"notify": bool(self._channels), "wake": self._wake is not None, "answer": self._answer is not None}
        return frozenset(action for action, possible in can.items() if possible)

    def takes(self, emitted: Emitted) -> bool:
        # A method of some: those say certain answers only, and leave the others to other programs on the home.
        can_say = getattr(self._answer, "can_say", None) if emitted.action == "answer" else None
        return can_say is None or bool(can_say(emitted.signal))

    async def deliver(self, emitted: Emitted) -> Sequence[str]:
        told: list[str] = []
        try:
            match emitted.action:
                case "notify":
                    await self._notify(emitted, told)
                case "wake" if self._wake is not None:
                    told.append("agent")
                    await self._wake(emitted.signal)
                case "answer" if self._answer is not None:
                    told.append("chat")
                    await self._answer(emitted.signal)
                case _:
                    pass
        finally:
            self._note(emitted, told)
        return told

    async def _notify(self, emitted: Emitted, told: list[str]) -> None:
        async def tell(channel: EmissionChannel) -> None:
            try:
                with anyio.fail_after(TELLING_S):
                    await channel.emitted(emitted)
                told.append(_name_of(channel))
            except Exception as error:  # noqa: BLE001 - a channel may be the host's own; the others go on
                log.warning(
                    'Cannot tell the owner what "%s" emitted: %s', emitted.neuron, error or type(error).__name__
                )

        async with anyio.create_task_group() as tasks:
            for channel in self._channels:
                tasks.start_soon(tell, channel)

    def _note(self, emitted: Emitted, told: Sequence[str]) -> None:
        try:
            self._record(
                "emission",
                what=f"emission {emitted.action}",
                neuron=emitted.neuron,
                type=emitted.signal.type,
                id=emitted.signal.id,
                told=", ".join(told),
            )
        except Exception as error:  # noqa: BLE001 - it is told already
            log.warning("Cannot record what a neuron emitted: %s", error)


def _name_of(channel: object) -> str:
    return str(getattr(channel, "name", type(channel).__name__))[:100]
