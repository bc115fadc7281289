"""The autonomic layer: delivers signals to the awake neurons, without the model. No caller waits for a neuron.

One process on a home runs it; the others stand by. `emit`, `watch` and `beat` never wait: each neuron has a task with a
process of its own (`nerve`), disk access happens in a thread (`AutonomicStore`), and every queue is bounded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import anyio

from ..contracts import NORMAL, Signal
from .autonomic_store import AutonomicStore
from .autonomic_view import Counts, LayerState, Overview, answered_types
from .delivery import Delivery
from .energy_account import EnergyAccount
from .listeners import Callback
from .post_office import PostOffice
from .signal_limits import check
from .standing import Standing
from .surroundings import Lent
from .upkeep import Upkeep

if TYPE_CHECKING:
    from sandbox import HostTools, NetworkPolicy, ResidentHost

    from ..contracts import Courier, Energy, Lease, LentFolders, Neuron, NeuronSettings, Skills, Storage, Wake
    from ..pipeline import Pipeline
    from .surroundings import TracedDelivery

_OPEN_TIMEOUT_S = 5.0


class Autonomic:
    """Use it as an async context manager. `emit`, `watch`, `stop`, `counts` and `overview` return at once; call them
    from tasks of the same event loop. The layer never ends by itself, whatever a neuron, a listener, the disk or the
    reserve does.

    `is_killed` is asked for everything (None) and for each neuron by id; an exception counts as yes. With a `storage`,
    other processes find the layer's state in `autonomic/layer`, and the hourly limit on waking the agent survives a
    restart.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        hosts: ResidentHost,
        energy: Energy,
        settings: NeuronSettings,
        *,
        tools: Callable[[Neuron], HostTools | None] = lambda _: None,
        network: Callable[[Neuron], NetworkPolicy | None] = lambda _: None,
        now: Callable[[], float] = time.time,
        wake: Wake | None = None,
        skills: Skills | None = None,
        is_killed: Callable[[str | None], bool] = lambda _: False,
        lock: Lease | None = None,
        storage: Storage | None = None,
        folders: LentFolders | None = None,
        traced: TracedDelivery | None = None,
        courier: Courier | None = None,
        runner: bool = False,
    ) -> None:
        self._settings = settings
        self._now = now
        self._standing = Standing(is_killed)
        self._account = EnergyAccount(energy)
        self._office = self._post_office(pipeline, storage, courier, runner=runner)
        publish = self._office.publish if self._office is not None else lambda _: None
        self._store = AutonomicStore(
            pipeline, self._account, storage=storage, skills=skills, lock=lock, publish=publish
        )
        lent = Lent(hosts, tools, network, folders, traced)
        self._delivery = Delivery(
            *(settings, self._standing, self._account, self._office, lent),
            now=now,
            wake=wake,
            soon=self._write_soon,
            rested=self._rested,
        )
        self._awake = self._delivery.awake
        self._upkeep = Upkeep(
            *(settings, self._standing, self._account, self._store, self._delivery),
            office=self._office,
            now=now,
            runner=runner,
        )
        self._was_opened = False
        self._stack = AsyncExitStack()

    def _post_office(
        self, pipeline: Pipeline, storage: Storage | None, courier: Courier | None, *, runner: bool
    ) -> PostOffice | None:
        if storage is None:
            return None
        return PostOffice(
            storage,
            courier,
            now=self._now,
            is_killed=self._standing.is_on,
            is_awake=pipeline.store.may_speak,
            told=self._note_told,
            runner=runner,
        )

    def _note_told(self, neuron_id: str, emission: str, told: Sequence[str]) -> None:
        self._store.told(neuron_id, emission, told)

    def _write_soon(self) -> None:
        self._upkeep.write_soon()

    async def __aenter__(self) -> Self:
        """Open the layer. The awake neurons are being started when it returns."""
        if self._was_opened:
            raise RuntimeError("an autonomic layer can be opened once: make another one")
        self._was_opened = True
        self._quiet = anyio.Event()
        tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._upkeep.open(tasks)
        for listener in self._delivery.listeners:
            tasks.start_soon(listener.run)
        if self._settings.autonomic.enabled:
            self._standing.state = LayerState.STANDBY
            looked = anyio.Event()
            tasks.start_soon(self._upkeep.looks, looked)
            tasks.start_soon(self._upkeep.beats)
            if self._office is not None:
                tasks.start_soon(
                    self._office.run, lambda: self._standing.state, self._delivery.let_in, self._delivery.tell_watchers
                )
            try:
                # A disk that hangs may delay the neurons, but not the agent.
                with anyio.move_on_after(_OPEN_TIMEOUT_S):
                    await looked.wait()
            except BaseException:
                await self._close()
                raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._close()

    async def _close(self) -> None:
        self._standing.state = LayerState.OFF
        if self._upkeep.tasks is None:
            return
        self._upkeep.tasks.cancel_scope.cancel()
        try:
            await self._stack.aclose()
        finally:
            self._upkeep.tasks = None
            self._awake.end()
            unwritten = self._awake.take_unwritten(all_of_it=True)
            report = self._upkeep.report()
            await self._upkeep.in_thread(lambda: self._store.close(unwritten, report))
            if self._office is not None:
                await self._upkeep.in_thread(self._office.close)

    # For the host

    def emit(self, signal: Signal | str, data: Any = None, *, source: str = "host", priority: int = NORMAL) -> bool:
        """Emit a signal; its data is JSON. Returns False when it is dropped, which is counted with the reason. Where
        another process on the home runs the neurons, the signal is sent to it.

        Raises ValueError for an invalid type or priority.
        """
        if isinstance(signal, str):
            signal = Signal(signal, source, data, priority, self._now())
        elif not signal.at:
            signal = replace(signal, at=self._now())
        if self._office is not None and not signal.origin:
            signal = replace(signal, origin=self._office.program)
        check(signal)
        return self._delivery.let_in(signal)

    def watch(self, callback: Callback) -> Callable[[], None]:
        """Call a function, async or not, for every signal that is let in. Returns a function that ends the
        subscription. A slow callback misses signals, which is counted, and delays no other task; one that raises is
        still called for the next signal."""
        listener = self._delivery.watcher(callback)
        if self._upkeep.tasks is not None:
            self._upkeep.tasks.start_soon(listener.run)
        return lambda: self._delivery.forget(listener)

    async def will_answer(self, type_: str) -> bool:
        """Whether an awake neuron, here or in the process that leads, answers signals of this type."""
        if self._standing.state is LayerState.STANDBY:
            return type_ in await self._upkeep.in_thread(self._store.answers)
        return self._standing.leads and type_ in answered_types(self._awake.neurons)

    async def refresh(self) -> None:
        """Read the documents again now: approved neurons wake up, disabled ones go to sleep. Also writes what neurons
        have done."""
        self._upkeep.looks_again = True
        await self._upkeep.look()

    def stop(self, neuron_id: str | None = None) -> None:
        """Kill the process of one neuron, or of all, now. Unless their documents or the kill switch say otherwise, they
        wake up again at the next `refresh`, or when any document changes."""
        self._awake.end(neuron_id)

    async def idle(self) -> None:
        """Wait until no neuron and no listener has work left. Resting neurons are not waited for."""
        while not self._delivery.is_quiet:
            await self._quiet.wait()

    def counts(self) -> Counts:
        return self._delivery.counts()

    def overview(self) -> Overview:
        return self._upkeep.overview()

    def beat(self) -> None:
        """Emit the built-in signals that are due, and check the kill switch. Called continuously while the layer is
        open."""
        self._upkeep.beat()

    def _rested(self) -> None:
        if self._upkeep.tasks is not None and self._delivery.is_quiet:
            self._quiet.set()
            self._quiet = anyio.Event()
