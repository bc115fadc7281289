"""Runs quarantine for waiting neurons, one after another, in the background."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from sandbox import SandboxError

from ..contracts import Status
from .equality_report import schemas_of, with_equality
from .quarantine import rehearse
from .reports import report_of
from .workplace import Workplace, keep_at

if TYPE_CHECKING:
    from sandbox import Guard, HostTools, NetworkPolicy

    from ..contracts import Lease, Neuron, Report
    from ..habits import Fingerprint

log = logging.getLogger("motor_cortex")

LOOK_S = 2.0
"""How often to look for neurons that another process has put into quarantine."""
EXPIRE_S = 60.0
"""How often to look for expired questions to the owner."""


class Candidates:
    """The queue of neurons in quarantine. One process of a home works on it at a time; if that is killed, the next one
    takes over. `on_asked` is called when there is a new question to the owner, and must return at once."""

    def __init__(
        self,
        workplace: Workplace,
        *,
        lock: Lease,
        guard: Guard | None = None,
        read: Callable[[str], Awaitable[Fingerprint | None]] | None = None,
        on_asked: Callable[[], None] = lambda: None,
    ) -> None:
        self._at = workplace
        self._lock = lock
        self._guard = guard
        self._read = read
        self._on_asked = on_asked
        self._pipeline = workplace.pipeline
        self._settings = workplace.settings
        self._is_killed = workplace.is_killed
        self._now = workplace.now
        self._more = anyio.Event()
        self._seen: object = None
        self._expire_at = 0.0

    def news(self, _: Neuron | None = None) -> None:
        """Tell the queue that something was proposed. Returns at once."""
        self._more.set()

    async def run(self) -> None:
        """Work on the queue until cancelled. No error ends it, neither a full disk nor a faulty candidate."""
        await keep_at(self._look, self._pause, "Cannot try what is in quarantine")

    async def _pause(self) -> None:
        with anyio.move_on_after(LOOK_S):
            await self._more.wait()
        self._more = anyio.Event()

    async def try_all(self) -> list[Neuron]:
        """Try all neurons in quarantine, and return them as they are now. One that cannot be tried does not stop the
        others; its error is raised at the end. Returns nothing when the kill switch is on or another process holds the
        lock."""
        if self._is_killed(None) or not self._lock.try_take():
            return []
        errors: list[Exception] = []
        tried: list[Neuron] = []
        try:
            for neuron in await anyio.to_thread.run_sync(self._pipeline.quarantined):
                if self._is_killed(neuron.id):
                    continue
                try:
                    tried.append(await self._try(neuron))
                except Exception as error:  # noqa: BLE001 - raised below
                    errors.append(error)
        finally:
            self._lock.release()
        if errors:
            raise errors[0]
        return tried

    async def _look(self) -> None:
        """Expire old questions and try what waits. What could not be tried is tried at the next look."""
        stamp, now = self._pipeline.store.stamp(), anyio.current_time()
        if stamp == self._seen and now < self._expire_at:
            return
        self._expire_at = now + EXPIRE_S
        for neuron in await anyio.to_thread.run_sync(self._pipeline.expire):
            log.info('The owner has not answered in time about neuron "%s"', neuron.id)
        await self.try_all()
        is_done = not await anyio.to_thread.run_sync(self._pipeline.quarantined)
        self._seen = stamp if is_done else None

    async def _try(self, neuron: Neuron) -> Neuron:
        most = self._settings.quarantine.max_recorded
        recordings = await anyio.to_thread.run_sync(self._at.recorded, neuron, most)
        try:
            tools, network = self._at.tools(neuron), self._at.network(neuron)
        except ValueError as error:
            # A proposal cannot contain this, but a document edited by hand can.
            report = report_of(neuron, self._now(), problems=[f"its hosts or tools cannot be used: {error}"])
        else:
            report = await rehearse(
                neuron,
                self._at.hosts,
                self._settings,
                recordings=recordings,
                guard=self._guard,
                read=self._read,
                tools=tools,
                network=network,
                now=self._now,
            )
            report = report.model_copy(update={"tool_schemas": schemas_of(tools, neuron.tools)})
            if report.passed:
                report = await self._compared(neuron, report, tools, network)
        if self._is_killed(neuron.id):
            return neuron  # a killed candidate has proved nothing
        found = await self._found(neuron)
        judged = await anyio.to_thread.run_sync(partial(self._pipeline.judged, neuron.id, report, found=found))
        if judged.status is Status.AWAITING_OWNER:
            self._on_asked()
        return judged

    async def _compared(
        self, neuron: Neuron, report: Report, tools: HostTools | None, network: NetworkPolicy | None
    ) -> Report:
        """The report with what became of comparing the candidate with the scripts of its habit."""
        habit = neuron.metadata.habit
        if not habit or await anyio.to_thread.run_sync(self._at.habits.get, habit) is None:
            return report
        most = self._settings.quarantine.equal_runs
        recordings = await anyio.to_thread.run_sync(self._at.recorded, neuron, most)
        # The owner's own code may be meant to do something else.
        is_named = neuron.metadata.is_habit_named and neuron.metadata.author == "agent"
        equality = await self._at.compared(neuron, recordings, tools, network, is_named=is_named)
        return report if equality is None else with_equality(report, equality)

    async def _found(self, neuron: Neuron) -> Fingerprint | None:
        """The fingerprint, which recognises the code if it is rejected and proposed again. None when it cannot be
        taken."""
        try:
            return await self._read(neuron.code) if self._read is not None else None
        except SandboxError:
            return None
