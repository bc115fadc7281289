"""Compares what is awake with new recordings of its habit, once a day, and stops what no longer does the same.

Where the agent goes on running the script by hand, its runs are recorded; a candidate that was equal to the script when
the owner approved it must still be. It takes processor time, and no energy: nothing real is called.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from sandbox import SandboxUnavailable

from ..contracts import HOUR_S, Json
from .equality_report import schemas_of
from .workplace import Workplace, keep_at

if TYPE_CHECKING:
    from ..contracts import Lease, Neuron, Recording, Report, Storage

log = logging.getLogger("motor_cortex")

KEY = "nightly/compared"
LOOK_S = 60.0
CORTEX = "cortex"


class Nightly:
    """One process of a home compares at a time. The time of the last comparison is kept in the storage: a restart
    repeats nothing, and a process that is killed half way is followed by one that goes on."""

    def __init__(
        self,
        workplace: Workplace,
        *,
        storage: Storage,
        lock: Lease,
    ) -> None:
        self._at = workplace
        self._storage = storage
        self._lock = lock
        self._pipeline = workplace.pipeline
        self._settings = workplace.settings
        self._is_killed = workplace.is_killed
        self._now = workplace.now

    async def run(self) -> None:
        """Compare whenever it is time, until cancelled. No error ends it."""
        if self._settings.nightly.enabled:
            pause = partial(anyio.sleep, LOOK_S)
            await keep_at(self.compare_if_due, pause, "Cannot compare neurons with new recordings")

    async def compare_if_due(self) -> list[Neuron]:
        """Compare all that is awake if that was not done for long enough; return those that it stopped."""
        if self._is_killed(None) or not await anyio.to_thread.run_sync(self._is_due) or not self._lock.try_take():
            return []
        try:
            return await self._compare_all()
        finally:
            self._lock.release()

    async def _compare_all(self) -> list[Neuron]:
        stopped: list[Neuron] = []
        is_whole = True
        for neuron in await anyio.to_thread.run_sync(self._awake):
            if self._is_killed(None):
                return stopped
            if self._is_killed(neuron.id):
                continue
            try:
                began = self._now()
                if reason := await self._why_not(neuron):
                    disable = partial(self._pipeline.disable, neuron.id, reason, by=CORTEX)
                    stopped.append(await anyio.to_thread.run_sync(disable))
                    log.warning('"%s" was disabled: %s', neuron.name, reason)
                await anyio.to_thread.run_sync(self._note, neuron.id, began)
            except SandboxUnavailable:
                await anyio.to_thread.run_sync(self._note, "", self._an_hour_before_due())
                raise  # that goes for all of them
            except Exception as error:  # noqa: BLE001
                # It may have been disabled meanwhile, and another one must be compared all the same.
                is_whole = False
                log.warning('Cannot compare "%s" with new recordings: %s', neuron.id, error)
        at = self._now() if is_whole else self._an_hour_before_due()
        await anyio.to_thread.run_sync(self._note, "", at)
        return stopped

    async def _why_not(self, neuron: Neuron) -> str | None:
        """Why it must stop; None if it does what it did when it was approved, as far as can be seen."""
        report = neuron.report
        if report is None:
            return None
        tools = self._at.tools(neuron)
        if reason := _why_tools(report, schemas_of(tools, neuron.tools)):
            return reason
        recordings = await anyio.to_thread.run_sync(self._new, neuron, report)
        if not recordings:
            return None
        found = await self._at.compared(neuron, recordings, tools, self._at.network(neuron))
        difference = found.first_difference if found is not None else None
        if difference is None or self._is_killed(neuron.id):
            return None
        return f"it no longer does what the agent's own script does: {difference.line}"

    def _new(self, neuron: Neuron, report: Report) -> list[Recording]:
        """What was recorded since it was compared last. None of what was never equal: the owner knows that."""
        equality = report.equality
        if equality is None or equality.is_different or not equality.compared:
            return []
        after = max(report.at, self._compared_at(neuron.id))
        return self._at.recorded(neuron, self._settings.quarantine.equal_runs, after=after)

    def _awake(self) -> list[Neuron]:
        return [*self._pipeline.awake(), *self._pipeline.functions()]

    def _is_due(self) -> bool:
        """The first look of a home only starts the clock."""
        last, now = self._compared_at(""), self._now()
        if not last:
            self._note("", now)
            return False
        # A time in the future was left by a clock that was corrected.
        return not 0 <= now - last < self._settings.nightly.every_hours * HOUR_S

    def _an_hour_before_due(self) -> float:
        """A time that makes the next comparison due in an hour: one that fails takes a minute of processor time."""
        every_s = self._settings.nightly.every_hours * HOUR_S
        return self._now() - every_s + min(HOUR_S, every_s)

    def _compared_at(self, neuron_id: str) -> float:
        document = self._storage.read(KEY)
        at = _times(None if document is None else document.data).get(neuron_id, 0.0)
        return at if at <= self._now() or not neuron_id else 0.0

    def _note(self, neuron_id: str, at: float) -> None:
        def change(data: Json | None) -> Json:
            known = self._pipeline.store
            times = {**_times(data), neuron_id: at}
            awake = {"", neuron_id, *(one.id for one in known.load_all())}
            return {"format": 1, "times": {name: at for name, at in times.items() if name in awake}}

        self._storage.update(KEY, change)


def _why_tools(report: Report, now: dict[str, str]) -> str | None:
    """A tool that is not there now has not changed: its server may be down."""
    for name, before in report.tool_schemas.items():
        if name in now and now[name] != before:
            return f'the tool "{name}" takes or gives something else than when this was tried'
    return None


def _times(data: dict[str, Any] | None) -> dict[str, float]:
    """The times in the document: it may have been edited by hand."""
    times = (data or {}).get("times")
    found = times.items() if isinstance(times, dict) else ()
    return {str(name): float(at) for name, at in found if isinstance(at, int | float) and not isinstance(at, bool)}
