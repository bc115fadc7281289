"""One awake neuron: its process, its state, and the loop that gives it signals in batches.

A fault of its code, its process or the reserve of energy stays here: it delays no other neuron, and ends nothing but
this loop.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import anyio.to_thread

from sandbox import Tier

from ..contracts import NotYet, Status, program_of
from ..pipeline import Delivered, Failed, Going, Passed, Verdict, granted_files, noted, verdict, within_limit
from .autonomic_store import Unwritten
from .energy_account import affordable
from .lent_files import committed, lent_workspace
from .signal_queue import Drop
from .tally import emissions, summed, with_one_more

if TYPE_CHECKING:
    from sandbox import BatchAnswer, Resident

    from ..contracts import LastEmission, Neuron
    from .outbox import Held
    from .signal_queue import QueuedSignal
    from .surroundings import Came, Surroundings

log = logging.getLogger("motor_cortex")

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0
_SLACK_S = 30.0
# The time of a trial is written in steps: each write is a write of the whole document.
_AWAKE_STEP_S = 30.0
_LONGEST_LEAP_S = 60.0
# At most this many signals, each of the maximum size, are passed on before other tasks get a turn.
PASSED_AT_ONCE = 8


class Nerve:
    """Runs one neuron: opens its process, delivers batches, counts, pays and judges."""

    def __init__(self, neuron: Neuron, around: Surroundings) -> None:
        self._around = around
        self.neuron = neuron
        """Including the counts that are not written yet."""
        self.identity = identity(neuron)
        self._has_files = granted_files(neuron) is not None
        self.state = neuron.state
        self.floor = 0.0
        """It rests below this level of energy."""
        self.owed = 0.0
        """Energy that it has used but not yet paid for; it rests until it has."""
        self.unwritten: tuple[Delivered, ...] = ()
        self.held: tuple[Held, ...] = ()
        """What it has emitted, and what leaves only after it is written."""
        self.last_emission: LastEmission | None = None
        """The last emission, if that is not written yet."""
        self.is_urgent = False
        """Something went wrong or there is a verdict: to be written now."""
        self.verdict: Verdict = Going()
        self.is_open = False
        """It has a process."""
        self.is_resting = False
        """Signals are waiting, but there is no energy for them."""
        self.trouble = ""
        """Why it has no process."""
        self._awake_s = 0.0
        self._counted_at: float | None = None
        self.scope = anyio.CancelScope()
        self._timeout_s = program_of(neuron, around.settings).timeout_ms / 1000
        self._is_busy = True
        self._is_settling = False
        """A batch is being passed on and paid for. It is not judged meanwhile: a failed verdict would cancel that work.
        """
        self._is_nudged = False
        self._news = anyio.Event()
        self._pause_s = _FIRST_PAUSE_S

    @property
    def has_work(self) -> bool:
        """It is working, or about to check for work. False while it has no process and can do nothing."""
        if isinstance(self.verdict, Failed) or self.trouble:
            return False
        return self._is_busy or self._is_nudged or bool(self.held)

    @property
    def is_at_work(self) -> bool:
        return self.is_open and self._is_busy

    def nudge(self) -> None:
        """Tell it that there may be work. Cheap: called for each signal."""
        if not self._is_busy and not self._is_nudged:
            self._is_nudged = True
            self._news.set()

    async def run(self) -> None:
        """Keep a process running and deliver signals to it until `scope` is cancelled. Never raises."""
        with self.scope:
            while True:
                try:
                    async with await self._opened() as resident:
                        self.is_open = self._is_busy = True
                        self.trouble = ""
                        await self._live(resident)
                except Exception as error:  # noqa: BLE001 - no error of a neuron may end the layer
                    self._report(error)
                finally:
                    self.is_open = False
                self._around.rested()
                await anyio.sleep(self._pause_s)
                self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    async def _opened(self) -> AbstractAsyncContextManager[Resident]:
        around, neuron = self._around, self.neuron
        network = around.lent.network(neuron) if neuron.tier is Tier.NETWORK else None
        program, tools = program_of(neuron, around.settings), around.lent.tools(neuron)
        if not self._has_files:
            return around.lent.hosts.resident(program, tools, network=network)
        return around.lent.hosts.resident(
            program, tools, network=network, workspace=await lent_workspace(neuron, around.lent.folders, _SLACK_S)
        )

    async def _live(self, resident: Resident) -> None:
        around = self._around
        while True:
            batch: Sequence[QueuedSignal] = ()
            self._is_busy = True
            self._is_nudged = False
            if most := await self._may_have():
                batch = around.queue.take_batch(self.neuron.id, most, around.now())
            if batch:
                with self._traced(len(batch)) as came:
                    await self._give(resident, batch, came)
            else:
                await self._wait()

    async def _may_have(self) -> int:
        """How many signals the neuron may be given now."""
        around = self._around
        self.is_resting = False
        if not around.queue.waiting(self.neuron.id) or isinstance(self.verdict, Failed):
            return 0
        if self.owed:
            await self._pay()
        # With files one at a time: each signal finds the folder as the one before has left it.
        max_batch = 1 if self._has_files else around.settings.autonomic.max_batch
        most = affordable(around.account.level, self.floor, self.neuron.energy_budget, max_batch)
        self.is_resting = not most or self.owed > 0
        return 0 if self.is_resting else most

    async def _wait(self) -> None:
        self._news = anyio.Event()
        self._is_busy = False
        self._around.rested()
        await self._news.wait()

    def _traced(self, signals: int) -> AbstractContextManager[Came]:
        traced = self._around.lent.traced
        return nullcontext(_untraced) if traced is None else traced(self.neuron, signals)

    async def _give(self, resident: Resident, batch: Sequence[QueuedSignal], came: Came) -> None:
        around = self._around
        try:
            # The sandbox has its own timeout for each signal: this one catches a sandbox that hangs.
            with anyio.fail_after(_SLACK_S + 2 * len(batch) * self._timeout_s):
                answer = await resident.handle([waiting.given for waiting in batch], self.state)
                if self._has_files:
                    answer = await committed(self.neuron, around.lent.folders, answer, self.state)
        except BaseException:
            # Not put back in the queue: some may have been handled, and must not be handled twice.
            around.answered.lost(len(batch))
            raise
        self._pause_s = _FIRST_PAUSE_S
        around.answered.handled(len(batch))
        delivered = summed(self.neuron, batch, answer, around.settings, around.now())
        came(delivered.emitted, delivered.errors, delivered.energy)
        self._note(delivered, answer.state)
        self.owed += delivered.energy
        self._is_settling = True
        try:
            await self._pass_on(batch, answer, delivered)
            await self._pay()
        finally:
            self._is_settling = False
        # Last: a failed neuron is stopped here, after what it used has been paid for.
        self.judge(delivered.at)

    async def _pass_on(self, batch: Sequence[QueuedSignal], answer: BatchAnswer, delivered: Delivered) -> None:
        """Pass on what it emitted, up to the limit per minute. Emitting more than that fails its trial."""
        around = self._around
        most = within_limit(self.neuron, delivered, around.settings.trial)
        if most < delivered.emitted:
            around.queue.dropped[Drop.RATE] += delivered.emitted - most
        if self.neuron.emission.action != "none":
            # Without a pause since the batch was counted: the document gets all of it in one write, or nothing.
            for waiting, type_, data in islice(emissions(batch, answer), most):
                around.answered.hold(self, waiting, type_, data)
            return
        for number, (waiting, type_, data) in enumerate(islice(emissions(batch, answer), most), 1):
            around.answered.pass_on(self, waiting, type_, data)
            if number % PASSED_AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()

    def _note(self, delivered: Delivered, state: dict[str, Any]) -> None:
        self.state = state
        self.neuron = noted(self.neuron, delivered)
        self.unwritten = with_one_more(self.unwritten, delivered)
        if delivered.errors or delivered.over_budget or delivered.restarts:
            self.is_urgent = True
            self._around.answered.urgent(self)

    def count_awake(self, now: float, *, all_of_it: bool = False) -> None:
        """Count the time for which it has been loaded, on trial. A part that is too short to write waits for more."""
        since, self._counted_at = self._counted_at, now if self.is_open else None
        trial = self.neuron.trial
        if self.neuron.status is not Status.TRIAL or trial is None:
            return
        if since is not None:
            # A leap is a machine that slept, or a clock that was set: nothing ran meanwhile.
            self._awake_s += max(0.0, min(now - since, _LONGEST_LEAP_S))
        if self._awake_s and (
            all_of_it or self._awake_s >= min(_AWAKE_STEP_S, (trial.ends_at - trial.started_at) / 10)
        ):
            delivered, self._awake_s = Delivered(at=now, awake_s=self._awake_s), 0.0
            self.neuron = noted(self.neuron, delivered)
            self.unwritten = with_one_more(self.unwritten, delivered)

    def judge(self, now: float) -> None:
        """Decide whether the neuron goes on. Also called without a signal: a trial ends with time, too."""
        self.count_awake(now)
        if isinstance(self.verdict, Failed) or self._is_settling:
            return
        before, self.verdict = self.verdict, verdict(self.neuron, now, self._around.settings.trial)
        if self.verdict != before:
            self.is_urgent = True
            self._around.answered.urgent(self)

    def adopt(self, neuron: Neuron) -> None:
        """Take over the document as it is now, plus what is not written yet. A failed neuron stays failed."""
        self.neuron = reduce(noted, self.unwritten, neuron)
        if isinstance(self.verdict, Passed) and neuron.status is Status.ACTIVE:
            self.verdict = Going()

    def taken(self) -> Unwritten:
        """Hand over what is to be written. From here on the caller is responsible for it."""
        has_verdict = not isinstance(self.verdict, Going)
        taken = Unwritten(self.neuron, self.state, self.unwritten, has_verdict, self.held, self.last_emission)
        self.unwritten, self.held, self.last_emission, self.is_urgent = (), (), None, False
        return taken

    def put_back(self, unwritten: Unwritten) -> None:
        """Take back what could not be written."""
        self.unwritten = reduce(with_one_more, self.unwritten, unwritten.delivered)
        self.held = (*unwritten.held, *self.held)
        self.last_emission = self.last_emission or unwritten.last_emission
        self.is_urgent |= unwritten.has_verdict

    async def _pay(self) -> None:
        neuron = self.neuron
        self.owed = await self._around.account.pay(
            self.owed, reason=f"neuron {neuron.id}", code_hash=neuron.metadata.code_hash
        )

    def _report(self, error: Exception) -> None:
        trouble = f"{error}" or type(error).__name__
        if trouble != self.trouble:
            level = logging.INFO if isinstance(error, NotYet) else logging.WARNING
            log.log(level, 'Neuron "%s" has no process: %s', self.neuron.id, trouble)
        self.trouble = trouble


def _untraced(emitted: int, errors: int, energy: float) -> None:
    """Nothing is drawn of this delivery."""


def identity(neuron: Neuron) -> tuple[object, ...]:
    """What a running process was started for. When it changes, the process must be replaced."""
    started_at = neuron.trial.started_at if neuron.trial is not None else None
    return neuron.id, neuron.version, neuron.metadata.code_hash, neuron.policy, started_at, granted_files(neuron)
