"""What calls of functions have cost and come to: paid for at once by a task of its own, and written now and then."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ..autonomic import EnergyAccount, with_one_more
from ..contracts import NoSuchNeuron, Status, cost_of
from ..pipeline import Delivered

if TYPE_CHECKING:
    from ..contracts import Energy, Neuron, NeuronSettings, Skills
    from ..pipeline import Pipeline
    from .calling import FunctionAnswer

log = logging.getLogger("motor_cortex")

PAY_S = 0.05
"""Calls within this time are paid for together."""

REFUSED_S = 1.0
_DUST = 1e-12

_Counts = dict[str, tuple[int, tuple[Delivered, ...]]]
"""By the id of the function: its version, and what was counted of that."""


class FunctionAccounts:
    def __init__(
        self,
        pipeline: Pipeline,
        energy: Energy,
        settings: NeuronSettings,
        *,
        skills: Skills | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.energy = EnergyAccount(energy)
        self._pipeline = pipeline
        self._settings = settings
        self._skills = skills
        self._now = now
        self._owed: dict[str, tuple[float, str]] = {}
        self._unwritten: _Counts = {}
        self._one_write = anyio.Lock()
        self._one_payment = anyio.Lock()
        self._debts = anyio.Event()
        self._trouble = ""

    def left(self) -> float | None:
        """The energy that is left when all is paid; None when it is not known."""
        level = self.energy.level
        return None if level is None else level - sum(amount for amount, _ in self._owed.values())

    def note(self, neuron: Neuron, answer: FunctionAnswer, *, is_whole: bool = True) -> None:
        """Count a call and what it owes. A call that its caller gave up is not held against its budget."""
        energy = cost_of(answer.work, 1, self._settings.cost)
        error = f"{answer.error.type}: {answer.error.message}" if answer.error is not None else ""
        delivered = Delivered(
            at=self._now(),
            signals=1,
            # What the code throws is an answer: whoever calls it chooses the arguments.
            errors=int(answer.is_fault),
            energy=energy,
            over_budget=int(is_whole and energy > neuron.energy_budget + _DUST),
            restarts=answer.work.restarts,
            cpu_ms=answer.work.cpu_ms,
            last_error=error,
        )
        version, before = self._unwritten.get(neuron.id, (neuron.version, ()))
        counted = with_one_more(before if version == neuron.version else (), delivered)
        self._unwritten[neuron.id] = neuron.version, counted
        owed, _ = self._owed.get(neuron.id, (0.0, ""))
        self._owed[neuron.id] = owed + energy, neuron.metadata.code_hash
        self._debts.set()

    async def keep_paying(self) -> None:
        while True:
            await self._debts.wait()
            self._debts = anyio.Event()
            await self.pay()
            await anyio.sleep(REFUSED_S if self._owed else PAY_S)
            if self._owed:
                self._debts.set()  # what the reserve refused stays owed

    async def pay(self) -> None:
        async with self._one_payment:
            for neuron_id, (amount, code_hash) in list(self._owed.items()):
                left = await self.energy.pay(amount, reason=f"function {neuron_id}", code_hash=code_hash)
                now_owed, _ = self._owed[neuron_id]
                rest = now_owed - (amount - left)
                if rest > _DUST:
                    self._owed[neuron_id] = rest, code_hash
                else:
                    del self._owed[neuron_id]

    async def write(self) -> None:
        """Write the counts. What cannot be written is kept, and written with the next ones."""
        async with self._one_write:
            unwritten, self._unwritten = self._unwritten, {}
            if not unwritten:
                return
            # Shielded for as long as the disk takes: if this were cancelled, what was taken would be lost.
            with anyio.CancelScope(shield=True):
                left = await anyio.to_thread.run_sync(self._written, unwritten)
            for neuron_id, (version, delivered) in left.items():
                newer_version, newer = self._unwritten.get(neuron_id, (version, ()))
                if newer_version == version:
                    self._unwritten[neuron_id] = version, reduce(with_one_more, newer, delivered)

    async def close(self) -> None:
        await self.pay()
        await self.write()

    def _written(self, unwritten: _Counts) -> _Counts:
        """Write them, in a thread; return what could not be written."""
        left = dict(unwritten)
        for neuron_id, (version, delivered) in unwritten.items():
            try:
                for number, each in enumerate(delivered, 1):
                    self._remember(self._pipeline.deliver(neuron_id, each, version=version))
                    left[neuron_id] = version, delivered[number:]
                del left[neuron_id]
            except NoSuchNeuron:
                del left[neuron_id]  # another process has deleted it: there is nothing left to write to
            except Exception as error:  # noqa: BLE001 - a failing disk must not end the host; it is tried again
                self._report(f'Cannot write function "{neuron_id}": {error}')
        return left

    def _remember(self, neuron: Neuron) -> None:
        """Remember a function as learned that has just passed its trial: nothing is counted since."""
        is_new = neuron.status is Status.ACTIVE and neuron.counters.signals == 0
        if is_new and self._skills is not None:
            self._skills.learned(neuron)

    def _report(self, trouble: str) -> None:
        if trouble != self._trouble:
            log.warning("%s", trouble)
        self._trouble = trouble
