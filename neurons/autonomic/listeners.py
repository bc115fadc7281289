"""Callbacks of the host that receive signals: watchers, and the waker that starts turns of the agent.

Each has its own queue and its own task, so that none delays a neuron, the heartbeat or another listener.
"""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from ..contracts import NeuronSettings, Signal, Wake
    from .signal_limits import Rate

log = logging.getLogger("motor_cortex")

Callback = Callable[["Signal"], Awaitable[None] | None]


class Listener:
    """One callback with its queue of at most `most` signals."""

    def __init__(self, callback: Callback, most: int, rested: Callable[[], None]) -> None:
        self._callback = callback
        self._most = most
        self._rested = rested
        self._line: deque[Signal] = deque()
        self._news = anyio.Event()
        self.is_busy = False
        self.errors = 0
        self.scope = anyio.CancelScope()

    def tell(self, signal: Signal) -> bool:
        """Queue the signal for the callback. False when the queue is full."""
        if len(self._line) >= self._most:
            return False
        self._line.append(signal)
        self.is_busy = True
        self._news.set()
        return True

    async def run(self) -> None:
        """Call the callback for each queued signal until `scope` is cancelled. Never raises."""
        with self.scope:
            while True:
                while self._line:
                    await self._call(self._line.popleft())
                self.is_busy = False
                self._rested()
                self._news = anyio.Event()
                await self._news.wait()

    async def _call(self, signal: Signal) -> None:
        try:
            done = self._callback(signal)
            if inspect.isawaitable(done):
                await done
        except Exception as error:
            # The callback is the host's own program: the next signal may go better.
            self.errors += 1
            if self.errors == 1:
                log.warning('A listener failed on signal "%s": %s', signal.type, error, exc_info=True)


class Waker:
    """Starts turns of the agent, one after another, at most `max_wakes_per_hour`."""

    def __init__(
        self,
        wake: Wake,
        settings: NeuronSettings,
        rate: Rate,
        *,
        now: Callable[[], float],
        rested: Callable[[], None],
    ) -> None:
        """`rate` counts all wakes, also those that neurons ask for by what they emit."""
        self._rate = rate
        self._now = now
        self.wakes = 0
        self.listener = Listener(wake, settings.max_wakes_per_hour, rested)

    def tell(self, signal: Signal) -> bool:
        """Start a turn with this signal. False when the hourly limit is reached, or the queue is full."""
        if not self._rate.allows(self._now()) or not self.listener.tell(signal):
            return False
        self.wakes += 1
        return True
