"""Carries signals and emissions between the programs of a home, and delivers what this program can deliver.

An emission is taken before it is delivered, under a lock and on disk: so it is told at most once on the home, whatever
is killed, and what nobody has taken yet is told after a restart. It looks by the clock, and not only when it is nudged:
no lost nudge delays an emission by more than a moment.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ..contracts import DAY_S, Action, Emitted, new_id
from .autonomic_view import LayerState
from .mail import Letter, Mail, as_outgoing, signal_from
from .programs import ALIVE_S, BEAT_S, Others, Programs

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ..contracts import Courier, Signal, Storage

log = logging.getLogger("motor_cortex")

POLL_S = 0.2
KEPT_S = DAY_S
"""What nobody could deliver within this time is not delivered any more."""
ORIGIN_S = 15.0
"""An answer waits this long for the program whose user asked, before another may say it."""
LAST_S = 3.0
"""A program that ends tells the owner to the end what it has taken, for this long at most."""
_MAX_WAITING = 1_000


@dataclass(slots=True)
class Round:
    """What one look at the home has found."""

    signals: list[Signal] = field(default_factory=list)
    """Signals of other programs, for the neurons."""
    heard: list[Signal] = field(default_factory=list)
    """Emissions of the process that leads, for those who watch here."""
    taken: list[Letter] = field(default_factory=list)
    """Emissions that this program delivers."""


class PostOffice:
    def __init__(
        self,
        storage: Storage,
        courier: Courier | None,
        *,
        now: Callable[[], float],
        is_killed: Callable[[str | None], bool],
        is_awake: Callable[[str], bool],
        told: Callable[[str, str, Sequence[str]], None],
        runner: bool,
    ) -> None:
        self.program = new_id()
        self.others = Others()
        self._mail = Mail(storage)
        self._programs = Programs(storage, self.program)
        self._courier = courier
        self._now = now
        self._is_killed = is_killed
        self._is_awake = is_awake
        self._told = told
        self._runner = runner
        self._posts: deque[Signal] = deque(maxlen=_MAX_WAITING)
        self._letters: deque[Letter] = deque(maxlen=_MAX_WAITING)
        self._stamp: object = object()
        self._heard: int | None = None
        self._looked_at = -BEAT_S
        self._noted_at = -BEAT_S
        self._noted_as = LayerState.OFF
        self._news = anyio.Event()
        self._trouble = ""
        self._telling: set[anyio.CancelScope] = set()
        self._ends_at = math.inf

    @property
    def dropped(self) -> int:
        return self._mail.dropped

    def post(self, signal: Signal) -> None:
        """Send a signal to the process that runs the neurons. Returns at once; the oldest make way."""
        self._posts.append(signal)
        self._news.set()

    def send(self, letter: Letter) -> None:
        """Hand an emission to the other programs. Returns at once."""
        self._letters.append(letter)
        self._news.set()

    def publish(self, letters: Sequence[Letter]) -> None:
        """Like `send`, and on disk when it returns. In any thread."""
        self._mail.publish(letters)

    def nudge(self) -> None:
        """There may be something to deliver."""
        self._stamp = object()
        self._news.set()

    async def run(
        self, state: Callable[[], LayerState], arrived: Callable[[Signal], object], heard: Callable[[Signal], object]
    ) -> None:
        """Carry and deliver until cancelled. Never raises."""
        async with anyio.create_task_group() as tasks:
            try:
                await self._carry(tasks, state, arrived, heard)
            finally:
                # What was taken from the home is told by no other program.
                self._ends_at = anyio.current_time() + LAST_S
                for scope in self._telling:
                    scope.deadline = self._ends_at

    async def _carry(
        self,
        tasks: TaskGroup,
        state: Callable[[], LayerState],
        arrived: Callable[[Signal], object],
        heard: Callable[[Signal], object],
    ) -> None:
        limit = anyio.CapacityLimiter(1)
        while True:
            self._news = anyio.Event()
            try:
                # Shielded: what was taken from the home is delivered, or nobody delivers it.
                with anyio.CancelScope(shield=True):
                    found = await anyio.to_thread.run_sync(self._round, state(), limiter=limit)
                for signal in found.heard:
                    heard(signal)
                for signal in found.signals:
                    arrived(signal)
                for letter in found.taken:
                    tasks.start_soon(self._deliver, letter)
                self._trouble = ""
            except Exception as error:  # noqa: BLE001 - a failing disk must not end the layer; it is tried again
                self._complain("Cannot carry signals between the programs of this home", error)
            with anyio.move_on_after(POLL_S):
                await self._news.wait()

    def close(self) -> None:
        """Hand over what is left. In any thread; never raises."""
        try:
            self._hand_in()
            self._programs.end()
        except Exception as error:  # noqa: BLE001 - whatever the disk says, the rest is closed
            self._complain("Cannot hand over signals", error)

    def _round(self, state: LayerState) -> Round:
        """One look at the home. In a thread."""
        found = Round()
        now = self._now()
        self._meet(state, now)
        if state is LayerState.KILLED or self._is_killed(None):
            return found
        self._hand_in()
        stamp, moment = self._mail.stamp(), time.monotonic()
        if stamp == self._stamp and moment - self._looked_at < BEAT_S:
            return found
        self._stamp, self._looked_at = stamp, moment
        if state is LayerState.LEADING:
            found.signals = self._mail.take_posted(now)
        read = self._mail.read()
        if state is LayerState.LEADING:
            self._heard = None
        else:
            since = read.newest if self._heard is None else self._heard
            found.heard = [signal_from(one.signal, one.source, one.text) for one in read.letters if one.n > since]
            self._heard = max(since, read.newest)
        if any(self._may_take(letter, state) for letter in read.letters if letter.waits):
            found.taken = self._mail.take(lambda letter: self._may_take(letter, state), self.program)
        return found

    def _hand_in(self) -> None:
        posts, letters = list(self._posts), list(self._letters)
        if posts:
            self._mail.post(posts)
        if letters:
            self._mail.publish(letters)
        for _ in posts:
            self._posts.popleft()
        for _ in letters:
            self._letters.popleft()

    def _meet(self, state: LayerState, now: float) -> None:
        """Say that this program is here, while it stands by; and see who else is."""
        if time.monotonic() - self._noted_at < BEAT_S and state is self._noted_as:
            return
        self._noted_at, self._noted_as = time.monotonic(), state
        if state is LayerState.STANDBY:
            self._programs.note(now, runner=self._runner)
        else:
            self._programs.end()
        self.others = self._programs.others(now)

    def _may_take(self, letter: Letter, state: LayerState) -> bool:
        if self._courier is None or letter.action not in self._courier.actions:
            return False
        age = self._now() - letter.signal.at
        if not -ALIVE_S < age < KEPT_S or self._is_killed(letter.neuron):
            return False
        if letter.action == "notify":
            # One program tells the owner: the one that runs the neurons.
            return state is LayerState.LEADING
        if not self._is_awake(letter.neuron):
            # What a neuron told before it was stopped stays told. It says nothing more, and starts nothing.
            return False
        origin = letter.signal.origin
        if letter.action == "answer" and origin not in {"", self.program} and age <= ORIGIN_S:
            return False
        return self._courier.takes(_emitted(letter))

    async def _deliver(self, letter: Letter) -> None:
        assert self._courier is not None
        try:
            with anyio.CancelScope(shield=letter.action == "notify", deadline=self._ends_at) as scope:
                self._telling.add(scope)
                try:
                    told = await self._courier.deliver(_emitted(letter))
                finally:
                    self._telling.discard(scope)
            if scope.cancelled_caught:
                log.warning('There was no time to tell all of what neuron "%s" emitted', letter.neuron)
                return
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._told, letter.neuron, letter.signal.id, tuple(told))
        except Exception as error:  # noqa: BLE001 - it may be the host's own program
            log.warning('Cannot deliver what neuron "%s" emitted: %s', letter.neuron, error or type(error).__name__)

    def _complain(self, what: str, error: Exception) -> None:
        if f"{error}" != self._trouble:
            log.warning("%s: %s", what, error)
        self._trouble = f"{error}"


def _emitted(letter: Letter) -> Emitted:
    signal = signal_from(letter.signal, letter.source, letter.text)
    return Emitted(letter.neuron, letter.name, letter.action, letter.text, signal)


def letter_of(signal: Signal, *, name: str, action: Action, text: str) -> Letter:
    return Letter(signal=as_outgoing(signal), source=signal.source, name=name, action=action, text=text)
