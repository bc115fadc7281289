"""The processes of learned functions: at most `max_processes`, the one that was used longest ago makes way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from sandbox import Tier, ToolError

from ..autonomic import identity
from ..contracts import program_of
from .resident_function import ResidentFunction

if TYPE_CHECKING:
    import anyio.abc

    from sandbox import HostTools, NetworkPolicy, ResidentHost

    from ..contracts import Neuron, NeuronSettings

ROOM_TIMEOUT_S = 10.0
FULL_S = 0.05


class OpenFunctions:
    def __init__(
        self,
        hosts: ResidentHost,
        settings: NeuronSettings,
        tools: Callable[[Neuron], HostTools | None],
        network: Callable[[Neuron], NetworkPolicy | None],
    ) -> None:
        self._hosts = hosts
        self._settings = settings
        self._tools = tools
        self._network = network
        self._open: dict[str, ResidentFunction] = {}

    def end_all(self) -> None:
        for one in self._open.values():
            one.end()

    def end_where(self, is_over: Callable[[ResidentFunction], bool]) -> None:
        """End and forget these."""
        for one in list(self._open.values()):
            if is_over(one):
                one.end()
                self._forget(one)

    def end_idle(self) -> None:
        now, idle_s = anyio.current_time(), self._settings.functions.idle_s
        self.end_where(lambda one: not one.calls and now - one.used_at > idle_s)

    async def opened(self, neuron: Neuron, tasks: anyio.abc.TaskGroup) -> ResidentFunction:
        """The open function, counted as used. Raises ToolError when too many calls wait."""
        one = self._open.get(neuron.id)
        if one is None or one.is_ended or one.identity != identity(neuron):
            one = await self._newly_opened(neuron, tasks)
        if one.calls >= self._settings.functions.max_waiting:
            message = f'Function "{neuron.function_name}" has {one.calls} calls waiting: wait for some of them'
            raise ToolError(message, code="busy", retryable=True)
        return one

    async def _newly_opened(self, neuron: Neuron, tasks: anyio.abc.TaskGroup) -> ResidentFunction:
        give_up = anyio.current_time() + ROOM_TIMEOUT_S
        while True:
            one = self._open.get(neuron.id)
            if one is not None and not one.is_ended and one.identity == identity(neuron):
                return one  # another call was faster
            if one is not None:
                one.end()
                await one.over.wait()
                self._forget(one)
                continue
            if len(self._open) < self._settings.functions.max_processes:
                one = ResidentFunction(neuron, identity(neuron), partial(self._process, neuron))
                self._open[neuron.id] = one
                tasks.start_soon(one.run)
                return one
            idle = [other for other in self._open.values() if not other.calls]
            if idle:
                oldest = min(idle, key=lambda other: other.used_at)
                oldest.end()
                await oldest.over.wait()
                self._forget(oldest)
            elif anyio.current_time() > give_up:
                most = self._settings.functions.max_processes
                raise ToolError(f"{most} other functions are at work: try again later", code="busy", retryable=True)
            else:
                await anyio.sleep(FULL_S)

    def _process(self, neuron: Neuron) -> Any:
        network = self._network(neuron) if neuron.tier is Tier.NETWORK else None
        return self._hosts.resident(program_of(neuron, self._settings), self._tools(neuron), network=network)

    def _forget(self, one: ResidentFunction) -> None:
        if self._open.get(one.neuron.id) is one:
            del self._open[one.neuron.id]
