"""The autonomic layer: delivers signals to the awake neurons, without the model. No caller waits for a neuron.

One process on a home runs it; the others stand by. `emit`, `watch` and `beat` never wait: each neuron has a task with a
process of its own (`nerve`), disk access happens in a thread (`AutonomicStore`), and every queue is bounded.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread

from ..contracts import BUILT_IN, DAY_S, HOUR_S, NORMAL, SCHEDULE, Signal
from ..pipeline import Failed
from .autonomic_store import AutonomicStore
from .autonomic_view import Counts, LayerState, Overview, answered_types, as_document
from .awake import Awake
from .energy_account import EnergyAccount
from .heartbeat import Heartbeat
from .listeners import Callback, Listener, Waker
from .nerve import PASSED_AT_ONCE, Nerve, Surroundings
from .outbox import Held, last_emission_of
from .post_office import PostOffice, letter_of
from .signal_limits import Admission, Rate, check
from .signal_queue import Drop, QueuedSignal, SignalQueue
from .timetable import DueSchedule, Timetable

if TYPE_CHECKING:
    from sandbox import HostTools, NetworkPolicy, ResidentHost

    from ..contracts import Courier, Energy, Json, Lease, LentFolders, Neuron, NeuronSettings, Skills, Storage, Wake
    from ..pipeline import Pipeline

log = logging.getLogger("motor_cortex")

T = TypeVar("T")
LOOK_S = 1.0
"""The layer looks at least this often for changes that other processes made on the same home."""
_OPEN_TIMEOUT_S = 5.0
_HAND_OVER_S = 2.0
_SCHEDULE_TTL_S = HOUR_S
"""A neuron that rests for want of energy still gets the signal of its schedule within this time."""


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
        courier: Courier | None = None,
        runner: bool = False,
    ) -> None:
        limits = settings.autonomic
        self._settings = settings
        self._now = now
        self._is_killed = is_killed
        self._queue = SignalQueue(limits.max_queued, limits.max_queued_per_neuron)
        self._admission = Admission(limits)
        self._account = EnergyAccount(energy)
        self._office: PostOffice | None = None
        if storage is not None:
            self._office = PostOffice(
                storage,
                courier,
                now=now,
                is_killed=self._is_on,
                is_awake=pipeline.store.may_speak,
                told=self._note_told,
                runner=runner,
            )
        publish = self._office.publish if self._office is not None else lambda _: None
        self._store = AutonomicStore(
            pipeline, self._account, storage=storage, skills=skills, lock=lock, publish=publish
        )
        self._runner = runner
        self._awake = Awake(
            Surroundings(
                hosts=hosts,
                tools=tools,
                network=network,
                queue=self._queue,
                account=self._account,
                settings=settings,
                now=now,
                pass_on=self._pass_on,
                hold=self._hold,
                handled=self._handled,
                urgent=self._urgent,
                lost=self._lost,
                rested=self._rested,
                folders=folders,
            )
        )
        self._timetable = Timetable()
        self._due: list[DueSchedule] = []
        """What is due and not delivered: first it is written that it was."""
        self._watchers: tuple[Listener, ...] = ()
        self._waker: Waker | None = None
        self._wakes = Rate(settings.max_wakes_per_hour, HOUR_S)
        self._answers = Rate(settings.max_answers_per_day, DAY_S)
        self._wake_on = frozenset(settings.wake_on)
        if wake is not None and settings.wake_on:
            self._waker = Waker(wake, settings, self._wakes, now=now, rested=self._rested)
        self._killed_ones: frozenset[str] = frozenset()
        self._state = LayerState.OFF
        self._totals: Counter[str] = Counter()
        self._looks_again = False
        self._written_at = 0.0
        self._since = 0.0
        self._mistake = ""
        self._was_opened = False
        self._stack = AsyncExitStack()
        self._tasks: anyio.abc.TaskGroup | None = None

    async def __aenter__(self) -> Self:
        """Open the layer. The awake neurons are being started when it returns."""
        if self._was_opened:
            raise RuntimeError("an autonomic layer can be opened once: make another one")
        self._was_opened = True
        self._one_look = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)
        self._news = anyio.Event()
        self._quiet = anyio.Event()
        self._heart = Heartbeat(self._settings.autonomic.tick_s, self._now())
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        for listener in self._listeners():
            self._tasks.start_soon(listener.run)
        if self._settings.autonomic.enabled:
            self._state = LayerState.STANDBY
            looked = anyio.Event()
            self._tasks.start_soon(self._keep, looked)
            self._tasks.start_soon(self._beat)
            if self._office is not None:
                self._tasks.start_soon(self._office.run, lambda: self._state, self._let_in, self._tell_watchers)
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
        self._state = LayerState.OFF
        if self._tasks is None:
            return
        self._tasks.cancel_scope.cancel()
        try:
            await self._stack.aclose()
        finally:
            self._tasks = None
            self._awake.end()
            unwritten = self._awake.take_unwritten(all_of_it=True)
            report = self._report()
            await self._in_thread(lambda: self._store.close(unwritten, report))
            if self._office is not None:
                await self._in_thread(self._office.close)

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
        return self._let_in(signal)

    def watch(self, callback: Callback) -> Callable[[], None]:
        """Call a function, async or not, for every signal that is let in. Returns a function that ends the
        subscription. A slow callback misses signals, which is counted, and delays no other task; one that raises is
        still called for the next signal."""
        listener = Listener(callback, self._settings.autonomic.max_queued_per_neuron, self._rested)
        self._watchers = (*self._watchers, listener)
        if self._tasks is not None:
            self._tasks.start_soon(listener.run)

        def end() -> None:
            listener.scope.cancel()
            self._watchers = tuple(other for other in self._watchers if other is not listener)
            self._rested()

        return end

    async def will_answer(self, type_: str) -> bool:
        """Whether an awake neuron, here or in the process that leads, answers signals of this type."""
        if self._state is LayerState.STANDBY:
            return type_ in await self._in_thread(self._store.answers)
        return self._state is LayerState.LEADING and type_ in answered_types(self._awake.neurons)

    async def refresh(self) -> None:
        """Read the documents again now: approved neurons wake up, disabled ones go to sleep. Also writes what neurons
        have done."""
        self._looks_again = True
        await self._look()

    def stop(self, neuron_id: str | None = None) -> None:
        """Kill the process of one neuron, or of all, now. Unless their documents or the kill switch say otherwise, they
        wake up again at the next `refresh`, or when any document changes."""
        self._awake.end(neuron_id)

    async def idle(self) -> None:
        """Wait until no neuron and no listener has work left. Resting neurons are not waited for."""
        while not self._is_quiet():
            await self._quiet.wait()

    def counts(self) -> Counts:
        return Counts(
            emitted=self._totals["emitted"],
            unheard=self._totals["unheard"],
            delivered=self._totals["delivered"],
            waiting=len(self._queue),
            wakes=self._waker.wakes if self._waker is not None else 0,
            listener_errors=sum(listener.errors for listener in self._listeners()),
            dropped={reason.value: count for reason, count in sorted(self._queue.dropped.items())},
        )

    def overview(self) -> Overview:
        return Overview(self._state, self._account.level, self._awake.views(), self.counts(), self._store.trouble)

    def beat(self) -> None:
        """Emit the built-in signals that are due, and check the kill switch. Called continuously while the layer is
        open."""
        self._look_at_switch()
        if self._state is LayerState.LEADING:
            for beat in self._heart.due(self._now(), self._account.level):
                self._let_in(Signal(beat.type, "cortex", beat.data, at=self._now()))
            self._awake.count_awake()
            self._due += self._timetable.due(self._now())
            if self._due:
                self._news.set()

    # How a signal is admitted and delivered

    def _let_in(self, signal: Signal, only: str | None = None) -> bool:
        """Admit a signal, for the neuron `only` or for all that listen to its type."""
        if self._state is LayerState.STANDBY and self._office is not None:
            return self._send(self._office, signal)
        if self._state is not LayerState.LEADING:
            self._queue.dropped[Drop.KILLED if self._state is LayerState.KILLED else Drop.ELSEWHERE] += 1
            return False
        admitted = self._admission.admit(signal, self._now())
        if isinstance(admitted, Drop):
            self._queue.dropped[admitted] += 1
            return False
        is_given = self._give(signal, admitted, only)
        self._wake_for(signal)
        return is_given

    def _send(self, office: PostOffice, signal: Signal) -> bool:
        """Send a signal to the process that runs the neurons."""
        admitted = self._admission.admit(signal, self._now())
        if isinstance(admitted, Drop) or self._is_on(None):
            self._queue.dropped[admitted if isinstance(admitted, Drop) else Drop.KILLED] += 1
            return False
        self._totals["emitted"] += 1
        self._tell_watchers(signal)
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
        elif is_told := self._wakes.allows(self._now()):
            self._office.send(letter_of(signal, name="", action="wake", text=""))
        if not is_told:
            self._queue.dropped[Drop.NO_WAKE] += 1

    def _tell_watchers(self, signal: Signal) -> None:
        for watcher in self._watchers:
            if not watcher.tell(signal):
                self._queue.dropped[Drop.WATCHER] += 1

    def _give(self, signal: Signal, admitted: QueuedSignal, only: str | None = None) -> bool:
        self._totals["emitted"] += 1
        self._tell_watchers(signal)
        nerves = self._awake.listening(signal.type) if only is None else self._awake.only(only)
        if not nerves:
            self._totals["unheard"] += 1
            return True
        is_taken = False
        for nerve in nerves:
            if self._queue.put(nerve.neuron.id, admitted):
                is_taken = True
                nerve.nudge()
        return is_taken

    def _pass_on(self, nerve: Nerve, answered: QueuedSignal, type_: str, data: Any) -> None:
        if (signal := self._emitted(nerve, answered, type_, data)) is not None:
            nerve.last_emission = last_emission_of(nerve.neuron, signal)
            if self._let_in(signal) and self._office is not None and self._office.others.listen:
                self._office.send(letter_of(signal, name=nerve.neuron.name, action="none", text=""))

    def _hold(self, nerve: Nerve, answered: QueuedSignal, type_: str, data: Any) -> None:
        """Keep a signal until it is written. It is admitted now: what is written is not dropped afterwards."""
        signal = self._emitted(nerve, answered, type_, data)
        if signal is None:
            return
        admitted = self._admission.admit(signal, self._now())
        if isinstance(admitted, Drop):
            self._queue.dropped[admitted] += 1
            return
        action = nerve.neuron.emission.action
        bounds = {"wake": (self._wakes, Drop.NO_WAKE), "answer": (self._answers, Drop.NO_ANSWER)}
        rate, drop = bounds.get(action, (None, None))
        tells = rate is None or rate.allows(self._now())
        if not tells and drop is not None:
            self._queue.dropped[drop] += 1
        nerve.held = (*nerve.held, Held(signal, admitted, tells, action == "wake"))
        nerve.last_emission = last_emission_of(nerve.neuron, signal)
        nerve.is_urgent = True
        self._news.set()

    def _emitted(self, nerve: Nerve, answered: QueuedSignal, type_: str, data: Any) -> Signal | None:
        if type_ in BUILT_IN or type_ not in nerve.neuron.output_signals:
            self._queue.dropped[Drop.UNDECLARED] += 1
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

    def _handled(self, signals: int) -> None:
        self._totals["delivered"] += signals

    def _lost(self, signals: int) -> None:
        self._queue.dropped[Drop.KILLED if self._state is LayerState.KILLED else Drop.ASLEEP] += signals

    def _urgent(self, nerve: Nerve) -> None:
        if isinstance(nerve.verdict, Failed):
            log.warning('Neuron "%s" is stopped: %s', nerve.neuron.id, nerve.verdict.reason)
            self._awake.silence(nerve)
        self._news.set()

    # Background tasks

    async def _beat(self) -> None:
        poll_s = self._settings.kill_poll_ms / 1000
        while True:
            with self._nothing_ends():
                self.beat()
            # While another process leads, no tick of this heart is handed out, and the next one is due for ever.
            leads = self._state is LayerState.LEADING
            await anyio.sleep(min(poll_s, self._heart.seconds_left(self._now())) if leads else poll_s)

    async def _keep(self, looked: anyio.Event) -> None:
        pause_s = min(LOOK_S, self._settings.autonomic.save_s)
        while True:
            self._news = anyio.Event()
            with self._nothing_ends():
                await self._look()
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

    async def _look(self) -> None:
        """Write what is pending, and see what other processes changed. One look at a time."""
        async with self._one_look:
            if self._state is LayerState.STANDBY:
                await self._take_lead()
            elif self._state is LayerState.LEADING and self._has_to_hand_over():
                await self._hand_over()
            if self._state in {LayerState.OFF, LayerState.STANDBY}:
                return
            self._look_at_switch()
            self._awake.judge()
            again, self._looks_again = self._looks_again, False
            is_due = again or anyio.current_time() - self._written_at >= self._settings.autonomic.save_s
            if is_due:
                self._written_at = anyio.current_time()
            unwritten = self._awake.take_unwritten(all_of_it=is_due)
            report = self._report() if is_due else None
            due, self._due = self._due, []
            marks = self._timetable.marks() if due else None
            look = await self._in_thread(lambda: self._store.look(unwritten, report, marks, again=again))
            self._account.level = look.level
            self._awake.wrote(unwritten, look)
            for done in look.written.values():
                await self._leave(done.left)
            if look.awake is not None and self._state is LayerState.LEADING and self._tasks is not None:
                self._killed_ones = frozenset(one.id for one in look.awake if self._is_on(one.id))
                self._awake.adopt([one for one in look.awake if one.id not in self._killed_ones], self._tasks)
                self._admission.forget_all_but(self._awake.ids)
                self._timetable.adopt(self._awake.neurons, self._now())
            for each in due:
                self._let_in(self._scheduled(each), only=each.neuron)

    async def _leave(self, left: Sequence[Held]) -> None:
        """Deliver what is written. While the kill switch is on, nothing leaves."""
        if left and self._office is not None:
            self._office.nudge()
        for number, held in enumerate(left, 1):
            if self._state is LayerState.LEADING:
                self._give(held.signal, held.admitted)
                if not held.wakes:
                    self._wake_for(held.signal)
            else:
                self._queue.dropped[Drop.KILLED] += 1
            if number % PASSED_AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()

    def _scheduled(self, due: DueSchedule) -> Signal:
        return Signal(SCHEDULE, "cortex", due.data(), at=self._now(), ttl_s=_SCHEDULE_TTL_S)

    def _has_to_hand_over(self) -> bool:
        """Whether a program that only runs neurons waits for its turn, and this one does other things, too."""
        return not self._runner and self._office is not None and self._office.others.runner_waits

    async def _hand_over(self) -> None:
        """Let the neurons finish what they were given, and another process run them."""
        self._state = LayerState.STANDBY
        with anyio.move_on_after(_HAND_OVER_S):
            while len(self._queue) or self._awake.is_busy:  # noqa: ASYNC110 - no event says so
                await anyio.sleep(_HAND_OVER_S / 100)
        self._awake.end()
        unwritten, report = self._awake.take_unwritten(all_of_it=True), self._report()
        await self._in_thread(lambda: self._store.end_lead(unwritten, report))

    def _note_told(self, neuron_id: str, emission: str, told: Sequence[str]) -> None:
        self._store.told(neuron_id, emission, told)

    async def _take_lead(self) -> None:
        if self._has_to_hand_over():
            return
        recalled = await self._in_thread(self._store.take_lead)
        # The layer may have been closed meanwhile.
        if recalled is None or self._state is not LayerState.STANDBY:
            return
        self._wakes.restore(recalled.get("wakes"))
        self._answers.restore(recalled.get("answered"))
        self._since = self._now()
        self._heart = Heartbeat(self._settings.autonomic.tick_s, self._now())
        self._timetable.restore(await self._in_thread(self._store.schedules))
        self._state = LayerState.LEADING
        self._looks_again = True

    def _report(self) -> Json:
        return as_document(
            self.overview(),
            since=self._since,
            wakes=self._wakes.times(),
            answered=self._answers.times(),
            pid=os.getpid(),
        )

    async def _in_thread(self, work: Callable[[], T]) -> T:
        # Shielded for as long as the disk takes: if this were cancelled, what was taken from the nerves would be lost.
        with anyio.CancelScope(shield=True):
            result = await anyio.to_thread.run_sync(work, limiter=self._thread)
        return result  # noqa: RET504 - a scope can swallow what is raised: the type checker wants the return out here

    def _look_at_switch(self) -> None:
        if self._state in {LayerState.OFF, LayerState.STANDBY}:
            return
        if self._is_on(None):
            self._state = LayerState.KILLED
            self._awake.end()
            return
        if self._state is LayerState.KILLED:
            self._state = LayerState.LEADING
            self._look_soon()
        killed = frozenset(one for one in self._awake.ids | self._killed_ones if self._is_on(one))
        for neuron_id in killed & self._awake.ids:
            self._awake.end(neuron_id)
        if self._killed_ones - killed:
            self._look_soon()
        self._killed_ones = killed

    def _is_on(self, neuron_id: str | None) -> bool:
        try:
            return self._is_killed(neuron_id)
        except Exception:  # noqa: BLE001 - a switch that cannot be asked counts as on
            return True

    def _look_soon(self) -> None:
        self._looks_again = True
        self._news.set()

    def _rested(self) -> None:
        if self._tasks is not None and self._is_quiet():
            self._quiet.set()
            self._quiet = anyio.Event()

    def _is_quiet(self) -> bool:
        return not self._awake.has_work and not any(listener.is_busy for listener in self._listeners())

    def _listeners(self) -> tuple[Listener, ...]:
        return self._watchers if self._waker is None else (*self._watchers, self._waker.listener)
