"""The main thread's side of a chat: it hands a message over, and until the turn has ended does what it asks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TextIO, TypeVar

from cortex.text import READING_S

from .console_owner import Asked, ask

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from cortex.loop import TurnEnd
    from neurons import Signal

    from .agent import Agent
    from .interrupts import Interrupts

T = TypeVar("T")


class Inbox:
    """What the main thread is told. Whoever has something puts it in, a signal handler too."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Asked | Future[TurnEnd | None] | None] = SimpleQueue()

    def ask(self, asked: Asked) -> None:
        self._queue.put(asked)

    def end(self, done: Future[TurnEnd | None]) -> None:
        self._queue.put(done)

    def interrupt(self) -> None:
        # One of the few things that may happen between any two instructions of the same thread.
        self._queue.put(None)

    def take(self) -> Asked | Future[TurnEnd | None] | None:
        """The next one, once there is one; None is an interrupt."""
        return self._queue.get()

    def empty(self) -> bool:
        """Forget what is left from before. Says whether that was an interrupt."""
        was_interrupted = False
        try:
            while True:
                was_interrupted |= self._queue.get_nowait() is None
        except Empty:
            return was_interrupted


class Talk:
    def __init__(
        self,
        portal: BlockingPortal,
        agent: Agent,
        inbox: Inbox,
        interrupts: Interrupts,
        *,
        keyboard: TextIO,
        screen: TextIO,
        reading_s: float = READING_S,
    ) -> None:
        self._portal = portal
        self._agent = agent
        self._inbox = inbox
        self._interrupts = interrupts
        self._keyboard = keyboard
        self._screen = screen
        self._reading_s = reading_s

    @property
    def agent(self) -> Agent:
        return self._agent

    def level(self) -> float:
        """Of energy. Raises EnergyError."""
        return self._portal.call(self._agent.cortex.energy.level)

    @property
    def is_ending(self) -> bool:
        """Nothing more is to be read."""
        return self._interrupts.is_ending

    def read(self, source: Callable[[], T], may_nudge: Callable[[], bool] | None = None) -> T:
        """What the source gives. Raises KeyboardInterrupt when that is interrupted, or was just before, and Nudged when
        something waits and the person may be disturbed."""
        with self._interrupts.raised(may_nudge):
            if self._inbox.empty() or self.is_ending:
                raise KeyboardInterrupt
            return source()

    def turn(self, text: str) -> TurnEnd | None:
        """One turn, to its end; None when it was interrupted. Raises what the agent's side raises."""
        return self._to_its_end(self._portal.start_task_soon(self._agent.turn, text))

    def forget_nudges(self) -> None:
        self._interrupts.forget_nudges()

    def next_wake(self) -> Signal | None:
        return self._agent.next_wake()

    def woken_turn(self, signal: Signal) -> TurnEnd | None:
        """The same for a signal."""
        return self._to_its_end(self._portal.start_task_soon(self._agent.woken_turn, signal))

    def _to_its_end(self, ended: Future[TurnEnd | None]) -> TurnEnd | None:
        ended.add_done_callback(self._inbox.end)
        while True:
            match self._inbox.take():
                case None:
                    self._portal.call(self._agent.stop)
                case Asked() as asked:
                    self._ask(asked)
                case done:
                    return done.result()

    def _ask(self, asked: Asked) -> None:
        try:
            with self._interrupts.raised():
                asked.decision = ask(asked, self._keyboard, self._screen, self._reading_s)
        except KeyboardInterrupt:
            self._portal.call(self._agent.stop)
        self._portal.call(asked.closed.set)
