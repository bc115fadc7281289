"""The background task of the autonomic layer: it takes the lead of the home or hands it over, writes what neurons have
done, and sees what other processes have changed."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.abc
import anyio.to_thread

from ..contracts import Signal
from .autonomic_view import LayerState, Overview, as_document
from .heartbeat import Heartbeat
from .timetable import DueSchedule, Timetable

if TYPE_CHECKING:
    from ..contracts import Json, NeuronSettings
    from .autonomic_store import AutonomicStore
    from .delivery import Delivery
    from .energy_account import EnergyAccount
    from .post_office import PostOffice
    from .standing import Standing

log = logging.getLogger("motor_cortex")

T = TypeVar("T")
LOOK_S = 1.0
"""The layer looks at least this often for changes that other processes made on the same home."""
_HAND_OVER_S = 2.0


class Upkeep:
    def __init__(
        self,
        settings: NeuronSettings,
        standing: Standing,
        account: EnergyAccount,
        store: AutonomicStore,
        delivery: Delivery,
        *,
        office: PostOffice | None,
        now: Callable[[], float],
        runner: bool,
    ) -> None:
        self._settings = settings
        self._standing = standing
        self._account = account
        self._store = store
        self._delivery = delivery
        self._awake = delivery.awake
        self._office = office
        self._now = now
        self._runner = runner
        self._timetable = Timetable()
        self._due: list[DueSchedule] = []
        """What is due and not delivered: first it is written that it was."""
        self._written_at = 0.0
        self._since = 0.0
        self._mistake = ""
        self.looks_again = False
        """Whether the next look reads all documents."""
        self.tasks: anyio.abc.TaskGroup | None = None
        """Set while the layer is open."""

    def open(self, tasks: anyio.abc.TaskGroup) -> None:
        self.tasks = tasks
        self._one_look = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)
        self._news = anyio.Event()
        self._heart = Heartbeat(self._settings.autonomic.tick_s, self._now())

    def overview(self) -> Overview:
        return Overview(
            self._standing.state, self._account.level, self._awake.views(), self._delivery.counts(), self._store.trouble
        )

    def beat(self) -> None:
        """Emit the built-in signals that are due, and check the kill switch."""
        self._ask_switch()
        if self._standing.leads:
            for beat in self._heart.due(self._now(), self._account.level):
                self._delivery.let_in(Signal(beat.type, "cortex", beat.data, at=self._now()))
            self._awake.count_awake()
            self._due += self._timetable.due(self._now())
            if self._due:
                self.write_soon()

    async def beats(self) -> None:
        poll_s = self._settings.kill_poll_ms / 1000
        while True:
            with self._nothing_ends():
                self.beat()
            # While another process leads, no tick of this heart is handed out, and the next one is due for ever.
            leads = self._standing.leads
            await anyio.sleep(min(poll_s, self._heart.seconds_left(self._now())) if leads else poll_s)

    async def looks(self, looked: anyio.Event) -> None:
        pause_s = min(LOOK_S, self._settings.autonomic.save_s)
        while True:
            self._news = anyio.Event()
            with self._nothing_ends():
                await self.look()
            looked.set()
            with anyio.move_on_after(pause_s):
                await self._news.wait()

    @contextmanager
    def _nothing_ends(self) -> Iterator[None]:
        """Log any exception and go on: a bug in the layer must not end the neurons, and the agent with them."""
        try:
            yield
        except Exception as error:
            if repr(error) != self._mistake:
                log.exception("Unexpected error in the autonomic layer; the layer goes on")
            self._mistake = repr(error)

    async def look(self) -> None:
        """Write what is pending, and see what other processes changed. One look at a time."""
        async with self._one_look:
            if self._standing.state is LayerState.STANDBY:
                await self._take_lead()
            elif self._standing.leads and self._has_to_hand_over():
                await self._hand_over()
            if not self._standing.runs:
                return
            self._ask_switch()
            self._awake.judge()
            again, self.looks_again = self.looks_again, False
            is_due = again or anyio.current_time() - self._written_at >= self._settings.autonomic.save_s
            if is_due:
                self._written_at = anyio.current_time()
            unwritten = self._awake.take_unwritten(all_of_it=is_due)
            report = self.report() if is_due else None
            due, self._due = self._due, []
            marks = self._timetable.marks() if due else None
            look = await self.in_thread(lambda: self._store.look(unwritten, report, marks, again=again))
            self._account.level = look.level
            self._awake.wrote(unwritten, look)
            for done in look.written.values():
                await self._delivery.leave(done.left)
            if look.awake is not None and self._standing.leads and self.tasks is not None:
                self._awake.adopt(self._standing.not_killed(look.awake), self.tasks)
                self._delivery.admission.forget_all_but(self._awake.ids)
                self._timetable.adopt(self._awake.neurons, self._now())
            for each in due:
                self._delivery.let_in(each.signal(self._now()), only=each.neuron)

    def _has_to_hand_over(self) -> bool:
        """Whether a program that only runs neurons waits for its turn, and this one does other things, too."""
        return not self._runner and self._office is not None and self._office.others.runner_waits

    async def _hand_over(self) -> None:
        """Let the neurons finish what they were given, and another process run them."""
        self._standing.state = LayerState.STANDBY
        with anyio.move_on_after(_HAND_OVER_S):
            while len(self._delivery.queue) or self._awake.is_busy:  # noqa: ASYNC110 - no event says so
                await anyio.sleep(_HAND_OVER_S / 100)
        self._awake.end()
        unwritten, report = self._awake.take_unwritten(all_of_it=True), self.report()
        await self.in_thread(lambda: self._store.end_lead(unwritten, report))

    async def _take_lead(self) -> None:
        if self._has_to_hand_over():
            return
        recalled = await self.in_thread(self._store.take_lead)
        # The layer may have been closed meanwhile.
        if recalled is None or self._standing.state is not LayerState.STANDBY:
            return
        self._delivery.wakes.restore(recalled.get("wakes"))
        self._delivery.answers.restore(recalled.get("answered"))
        self._since = self._now()
        self._heart = Heartbeat(self._settings.autonomic.tick_s, self._now())
        self._timetable.restore(await self.in_thread(self._store.schedules))
        self._standing.state = LayerState.LEADING
        self.looks_again = True

    def report(self) -> Json:
        return as_document(
            self.overview(),
            since=self._since,
            wakes=self._delivery.wakes.times(),
            answered=self._delivery.answers.times(),
            pid=os.getpid(),
        )

    async def in_thread(self, work: Callable[[], T]) -> T:
        # Shielded for as long as the disk takes: if this were cancelled, what was taken from the nerves would be lost.
        with anyio.CancelScope(shield=True):
            result = await anyio.to_thread.run_sync(work, limiter=self._thread)
        return result  # noqa: RET504 - a scope can swallow what is raised: the type checker wants the return out here

    def _ask_switch(self) -> None:
        if self._standing.look(self._awake):
            self.looks_again = True
            self.write_soon()

    def write_soon(self) -> None:
        self._news.set()
