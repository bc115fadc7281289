"""Tries the neurons that are in quarantine, one after the other, and tells the owner of those that passed."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from neurons import ChannelError, NeuronError, Notice, Status, rehearse
from sandbox import SandboxError

from .channels import title_of

if TYPE_CHECKING:
    from neurons import Fingerprint, Habit, Habits, Neuron, NeuronSettings, OwnerChannel, Pipeline, Recordings
    from sandbox import FileLock, Guard, HostTools, NetworkPolicy, ResidentHost

log = logging.getLogger("motor_cortex")

LOOK_S = 2.0
"""So often it is seen whether another process has put one into quarantine."""
TELLING_S = 120.0


class Candidates:
    """One process on a home does it at a time; what it leaves when it is killed is found by the next one. `tools` and
    `network` are what a neuron will have: they say what may be asked for, and are never asked."""

    def __init__(
        self,
        pipeline: Pipeline,
        hosts: ResidentHost,
        settings: NeuronSettings,
        *,
        habits: Habits,
        recordings: Recordings,
        lock: FileLock,
        guard: Guard | None = None,
        read: Callable[[str], Awaitable[Fingerprint | None]] | None = None,
        channels: Sequence[OwnerChannel] = (),
        tools: Callable[[Neuron], HostTools | None] = lambda _: None,
        network: Callable[[Neuron], NetworkPolicy | None] = lambda _: None,
        is_killed: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._pipeline = pipeline
        self._hosts = hosts
        self._settings = settings
        self._habits = habits
        self._recordings = recordings
        self._lock = lock
        self._guard = guard
        self._read = read
        self._channels = tuple(channels)
        self._tools = tools
        self._network = network
        self._is_killed = is_killed
        self._now = now
        self._more = anyio.Event()
        self._seen: object = None

    def news(self, _: Neuron | None = None) -> None:
        """Something was proposed. Returns at once."""
        self._more.set()

    async def run(self) -> None:
        """Until it is cancelled. Nothing that goes wrong ends it."""
        while True:
            try:
                await self._look()
            except (NeuronError, SandboxError, OSError) as error:
                log.warning("Cannot try what is in quarantine: %s", error)
            with anyio.move_on_after(LOOK_S):
                await self._more.wait()
            self._more = anyio.Event()

    async def try_all(self) -> list[Neuron]:
        """Those that were in quarantine, as they are now. Raises NeuronError and SandboxUnavailable."""
        if self._is_killed() or not self._lock.try_take():
            return []
        try:
            waiting = await anyio.to_thread.run_sync(self._pipeline.quarantined)
            return [await self._try(neuron) for neuron in waiting]
        finally:
            self._lock.release()

    async def _look(self) -> None:
        stamp = self._pipeline.store.stamp()
        if stamp == self._seen and not self._more.is_set():
            return
        for neuron in await anyio.to_thread.run_sync(self._pipeline.expire):
            log.info('Nobody has answered about neuron "%s"', neuron.id)
        await self.try_all()
        self._seen = stamp

    async def _try(self, neuron: Neuron) -> Neuron:
        habit = self._habits.get(neuron.metadata.habit) if neuron.metadata.habit else None
        hashes = habit.code_hashes if habit is not None else ()
        most = self._settings.quarantine.max_recorded
        recordings = await anyio.to_thread.run_sync(self._recordings.of, hashes, most)
        report = await rehearse(
            neuron,
            self._hosts,
            self._settings,
            recordings=recordings,
            guard=self._guard,
            read=self._read,
            tools=self._tools(neuron),
            network=self._network(neuron),
            now=self._now,
        )
        if self._is_killed():
            return neuron  # what was killed has proved nothing
        judged = await anyio.to_thread.run_sync(self._pipeline.judged, neuron.id, report)
        if judged.status is Status.AWAITING_OWNER:
            await self._tell(judged, habit)
        return judged

    async def _tell(self, neuron: Neuron, habit: Habit | None) -> None:
        """By each channel. One that fails is reported, and the proposal waits all the same."""
        assert neuron.request is not None
        notice = Notice(title_of(neuron), neuron, neuron.request.shown_hash, habit)
        for channel in self._channels:
            try:
                with anyio.fail_after(TELLING_S):
                    await channel.notify(notice)
            except (ChannelError, TimeoutError) as error:
                log.warning('Cannot tell the owner of "%s": %s', neuron.id, error)
