"""Tries candidates and compares neurons with their recordings, for the queue and for the nightly comparison."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .equality import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox import HostTools, NetworkPolicy, ResidentHost

    from ..contracts import Equality, Neuron, NeuronSettings, Recording
    from ..habits import Habits, LiteralReader, Recordings
    from ..pipeline import Pipeline

log = logging.getLogger("motor_cortex")


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """`tools` and `network` are those that a neuron will have: they only say what is allowed, and are never called.
    `literals` finds the arguments of functions in the scripts of their habits: without it nothing is compared with
    those."""

    pipeline: Pipeline
    hosts: ResidentHost
    settings: NeuronSettings
    habits: Habits
    recordings: Recordings
    literals: LiteralReader | None = None
    tools: Callable[[Neuron], HostTools | None] = lambda _: None
    network: Callable[[Neuron], NetworkPolicy | None] = lambda _: None
    is_killed: Callable[[str | None], bool] = lambda _: False
    now: Callable[[], float] = time.time

    def recorded(self, neuron: Neuron, most: int, *, after: float = 0.0) -> list[Recording]:
        """What was recorded of the habit that it was made of. Waits for the disk."""
        habit = self.habits.get(neuron.metadata.habit) if neuron.metadata.habit else None
        return [] if habit is None else self.recordings.of(habit.code_hashes, most, after=after)

    async def compared(
        self,
        neuron: Neuron,
        recordings: Sequence[Recording],
        tools: HostTools | None,
        network: NetworkPolicy | None,
        *,
        is_named: bool = True,
    ) -> Equality | None:
        """None where nothing is compared."""
        if self.literals is None:
            return None
        return await compare(
            neuron,
            self.hosts,
            self.settings,
            recordings=recordings,
            reader=self.literals,
            tools=tools,
            network=network,
            is_named=is_named,
            is_killed=lambda: self.is_killed(neuron.id),
        )


async def keep_at(work: Callable[[], Awaitable[object]], pause: Callable[[], Awaitable[object]], failed: str) -> None:
    """Do the work again and again until cancelled. No error ends it; one that comes again is told once."""
    complaint = ""
    while True:
        try:
            await work()
            complaint = ""
        except Exception as error:  # noqa: BLE001 - no error may end the agent; it is tried again
            if str(error) != complaint:
                complaint = str(error)
                log.warning("%s: %s", failed, error)
        await pause()
