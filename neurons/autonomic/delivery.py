"""Admits signals, and delivers them: to neurons, to watchers, to other programs of the home, and to the agent."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio.lowlevel

from ..contracts import BUILT_IN, DAY_S, HOUR_S, Signal
from ..pipeline import Failed
from .autonomic_view import Counts, LayerState
from .awake import Awake
from .listeners import Callback, Listener, Waker
from .nerve import PASSED_AT_ONCE, Nerve
from .outbox import Held, last_emission_of
from .post_office import PostOffice, letter_of
from .signal_limits import Admission, Rate
from .signal_queue import Drop, QueuedSignal, SignalQueue
from .surroundings import Surroundings

if TYPE_CHECKING:
    from ..contracts import NeuronSettings, Wake
    from .energy_account import EnergyAccount
    from .standing import Standing
    from .surroundings import Lent

log = logging.getLogger("motor_cortex")


class Delivery:
    """`soon` is called when something must be written soon, `rested` when work was done."""

    def __init__(
        self,
        settings: NeuronSettings,
        standing: Standing,
        account: EnergyAccount,
        office: PostOffice | None,
        lent: Lent,
        *,
        now: Callable[[], float],
        wake: Wake | None,
        soon: Callable[[], None],
        rested: Callable[[], None],
    ) -> None:
        limits = settings.autonomic
        self._settings = settings
        self._standing = standing
        self._office = office
        self._now = now
        self._soon = soon
        self._rested = rested
        self.queue = SignalQueue(limits.max_queued, limits.max_queued_per_neuron)
        self.admission = Admission(limits)
        self.awake = Awake(Surroundings(lent, self.queue, account, settings, now, self, rested))
        self.wakes = Rate(settings.max_wakes_per_hour, HOUR_S)
        self.answers = Rate(settings.max_answers_per_day, DAY_S)
        self._wake_on = frozenset(settings.wake_on)
        self._waker: Waker | None = None
        if wake is not None and settings.wake_on:
            self._waker = Waker(wake, settings, self.wakes, now=now, rested=rested)
        self._watchers: tuple[Listener, ...] = ()
        self._totals: Counter[str] = Counter()

    @property
    def listeners(self) -> tuple[Listener, ...]:
        return self._watchers if self._waker is None else (*self._watchers, self._waker.listener)

    @property
    def is_quiet(self) -> bool:
        return not self.awake.has_work and not any(listener.is_busy for listener in self.listeners)

    def watcher(self, callback: Callback) -> Listener:
        """Add a watcher; the caller runs it."""
        listener = Listener(callback, self._settings.autonomic.max_queued_per_neuron, self._rested)
        self._watchers = (*self._watchers, listener)
        return listener

    def forget(self, listener: Listener) -> None:
        """End a watcher."""
        listener.scope.cancel()
        self._watchers = tuple(other for other in self._watchers if other is not listener)
        self._rested()

    def counts(self) -> Counts:
        return Counts(
            emitted=self._totals["emitted"],
            unheard=self._totals["unheard"],
            delivered=self._totals["delivered"],
            waiting=len(self.queue),
            wakes=self._waker.wakes if self._waker is not None else 0,
            listener_errors=sum(listener.errors for listener in self.listeners),
            dropped={reason.value: count for reason, count in sorted(self.queue.dropped.items())},
        )

    def let_in(self, signal: Signal, only: str | None = None) -> bool:
        """Admit a signal, for the neuron `only` or for all that listen to its type."""
        if self._standing.state is LayerState.STANDBY and self._office is not None:
            return self._send(self._office, signal)
        if not self._standing.leads:
            self.queue.dropped[Drop.KILLED if self._standing.state is LayerState.KILLED else Drop.ELSEWHERE] += 1
            return False
        admitted = self.admission.admit(signal, self._now())
        if isinstance(admitted, Drop):
            self.queue.dropped[admitted] += 1
            return False
        is_given = self._give(signal, admitted, only)
        self._wake_for(signal)
        return is_given

    def _send(self, office: PostOffice, signal: Signal) -> bool:
        """Send a signal to the process that runs the neurons."""
        admitted = self.admission.admit(signal, self._now())
        if isinstance(admitted, Drop) or self._standing.is_on(None):
            self.queue.dropped[admitted if isinstance(admitted, Drop) else Drop.KILLED] += 1
            return False
        self._totals["emitted"] += 1
        self.tell_watchers(signal)
        office.post(replace(signal, data=admitted.given["data"]))
        return True

    def _wake_for(self, signal: Signal) -> None:
        """Start a turn for a signal of `wake_on`: here, or in another program that can."""
        if signal.type not in self._wake_on:
            return
        if self._waker is not None:
            is_told = self._waker.tell(signal)
        elif self._office is None or not self._office.others.listen:
            return
        elif is_told := self.wakes.allows(self._now()):
            self._office.send(letter_of(signal, name="", action="wake", text=""))
        if not is_told:
            self.queue.dropped[Drop.NO_WAKE] += 1

    def tell_watchers(self, signal: Signal) -> None:
        for watcher in self._watchers:
            if not watcher.tell(signal):
                self.queue.dropped[Drop.WATCHER] += 1

    def _give(self, signal: Signal, admitted: QueuedSignal, only: str | None = None) -> bool:
        self._totals["emitted"] += 1
        self.tell_watchers(signal)
        nerves = self.awake.listening(signal.type) if only is None else self.awake.only(only)
        if not nerves:
            self._totals["unheard"] += 1
            return True
        is_taken = False
        for nerve in nerves:
            if self.queue.put(nerve.neuron.id, admitted):
                is_taken = True
                nerve.nudge()
        return is_taken

    def pass_on(self, nerve: Nerve, answered: QueuedSignal, type_: str, data: Any) -> None:
        if (signal := self._emitted(nerve, answered, type_, data)) is not None:
            nerve.last_emission = last_emission_of(nerve.neuron, signal)
            if self.let_in(signal) and self._office is not None and self._office.others.listen:
                self._office.send(letter_of(signal, name=nerve.neuron.name, action="none", text=""))

    def hold(self, nerve: Nerve, answered: QueuedSignal, type_: str, data: Any) -> None:
        """Keep a signal until it is written. It is admitted now: what is written is not dropped afterwards."""
        signal = self._emitted(nerve, answered, type_, data)
        if signal is None:
            return
        admitted = self.admission.admit(signal, self._now())
        if isinstance(admitted, Drop):
            self.queue.dropped[admitted] += 1
            return
        action = nerve.neuron.emission.action
        bounds = {"wake": (self.wakes, Drop.NO_WAKE), "answer": (self.answers, Drop.NO_ANSWER)}
        rate, drop = bounds.get(action, (None, None))
        tells = rate is None or rate.allows(self._now())
        if not tells and drop is not None:
            self.queue.dropped[drop] += 1
        nerve.held = (*nerve.held, Held(signal, admitted, tells, action == "wake"))
        nerve.last_emission = last_emission_of(nerve.neuron, signal)
        nerve.is_urgent = True
        self._soon()

    def _emitted(self, nerve: Nerve, answered: QueuedSignal, type_: str, data: Any) -> Signal | None:
        if type_ in BUILT_IN or type_ not in nerve.neuron.output_signals:
            self.queue.dropped[Drop.UNDECLARED] += 1
            return None
        return Signal(
            type=type_,
            source=f"neuron:{nerve.neuron.id}",
            data=data,
            priority=answered.priority,
            at=self._now(),
            correlation=answered.correlation,
            parent=answered.id,
            depth=answered.depth + 1,
            origin=answered.origin,
        )

    def handled(self, signals: int) -> None:
        self._totals["delivered"] += signals

    def lost(self, signals: int) -> None:
        self.queue.dropped[Drop.KILLED if self._standing.state is LayerState.KILLED else Drop.ASLEEP] += signals

    def urgent(self, nerve: Nerve) -> None:
        if isinstance(nerve.verdict, Failed):
            log.warning('Neuron "%s" is stopped: %s', nerve.neuron.id, nerve.verdict.reason)
            self.awake.silence(nerve)
        self._soon()

    async def leave(self, left: Sequence[Held]) -> None:
        """Deliver what is written. While the kill switch is on, nothing leaves."""
        if left and self._office is not None:
            self._office.nudge()
        for number, held in enumerate(left, 1):
            if self._standing.leads:
                self._give(held.signal, held.admitted)
                if not held.wakes:
                    self._wake_for(held.signal)
            else:
                self.queue.dropped[Drop.KILLED] += 1
            if number % PASSED_AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()
