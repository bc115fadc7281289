"""One function with a process of its own, for as long as it is used.

A task holds the process open, so that the callers, which come and go, need not: the process ends with its task.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import anyio

from sandbox import SandboxUnavailable

if TYPE_CHECKING:
    from sandbox import Resident

    from ..contracts import Neuron

OPEN_TIMEOUT_S = 30.0


class ResidentFunction:
    """`run` opens the process and keeps it until `end`. Callers count themselves in `calls`."""

    def __init__(
        self, neuron: Neuron, identity: object, open_it: Callable[[], AbstractAsyncContextManager[Resident]]
    ) -> None:
        self.neuron = neuron
        self.identity = identity
        """What the process was started for."""
        self.calls = 0
        """Calls that wait for it, or are under way."""
        self.used_at = anyio.current_time()
        self.is_ended = False
        self.over = anyio.Event()
        self._open = open_it
        self._resident: Resident | None = None
        self._trouble: Exception | None = None
        self._ready = anyio.Event()
        self._scope = anyio.CancelScope()

    async def run(self) -> None:
        """Never raises."""
        try:
            with self._scope:
                async with self._open() as resident:
                    self._resident = resident
                    self._ready.set()
                    await anyio.sleep_forever()
        except Exception as error:  # noqa: BLE001 - the callers are told; no function may end the host
            self._trouble = error
        finally:
            self.is_ended = True
            self._resident = None
            self._ready.set()
            self.over.set()

    async def resident(self) -> Resident:
        """The open process. Raises SandboxUnavailable, or what kept it from being opened."""
        if not self._ready.is_set():
            with anyio.move_on_after(OPEN_TIMEOUT_S):
                await self._ready.wait()
        if self._resident is not None:
            return self._resident
        raise self._trouble or SandboxUnavailable("its process was ended, or not started in time")

    def end(self) -> None:
        """End the process now; a call that is under way fails."""
        self.is_ended = True
        self._scope.cancel()
