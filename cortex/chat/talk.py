"""The main thread's side of a chat: start a turn in the agent's thread, and answer its questions until it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, BinaryIO, TextIO, TypeVar

from cortex.text import READING_S

from .console_owner import Asked, ask

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from cortex.loop import TurnEnd
    from neurons import Signal

    from .agent import Agent
    from .interrupts import Interrupts

T = TypeVar("T")
# Messages may not be longer than this. A longer line is an error: its rest must not become a message of its own.
MAX_LINE_BYTES = 1_048_576


class Inbox:
    """The queue to the main thread: questions, ended turns and interrupts. A signal handler may put into it, too."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Asked | Future[TurnEnd | None] | None] = SimpleQueue()

    def ask(self, asked: Asked) -> None:
        self._queue.put(asked)

    def end(self, done: Future[TurnEnd | None]) -> None:
        self._queue.put(done)

    def interrupt(self) -> None:
        # SimpleQueue.put is reentrant, so a signal handler may call it between any two instructions.
        self._queue.put(None)

    def take(self) -> Asked | Future[TurnEnd | None] | None:
        """Wait for the next item; None is an interrupt."""
        return self._queue.get()

    def empty(self) -> bool:
        """Discard what is left from before. Returns whether an interrupt was among it."""
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
        """The energy level. Raises EnergyError."""
        return self._portal.call(self._agent.cortex.energy.level)

    @property
    def is_ending(self) -> bool:
        """Whether SIGTERM or SIGHUP came: no more input is read then."""
        return self._interrupts.is_ending

    def read(self, source: Callable[[], T], may_nudge: Callable[[], bool] | None = None) -> T:
        """Call the source and return what it reads. Raises KeyboardInterrupt on Ctrl-C, also on one just before, and
        Nudged when something waits and `may_nudge` allows it."""
        with self._interrupts.raised(may_nudge):
            if self._inbox.empty() or self.is_ending:
                raise KeyboardInterrupt
            return source()

    def turn(self, text: str) -> TurnEnd | None:
        """Run one turn to its end; None when it was interrupted. Raises what `Agent.turn` raises."""
        return self._to_its_end(self._portal.start_task_soon(self._agent.turn, text))

    def forget_nudges(self) -> None:
        self._interrupts.forget_nudges()

    def next_wake(self) -> Signal | None:
        return self._agent.next_wake()

    def next_line(self) -> str | None:
        """Take what a neuron tells the owner; None if none does."""
        return self._agent.voice.take_line()

    def spoken(self) -> str | None:
        """Take what a neuron said by itself. Raises ConversationError."""
        return self._portal.call(self._agent.spoken)

    def woken_turn(self, signal: Signal) -> TurnEnd | None:
        """Like `turn`, for a signal that woke the agent."""
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


class InputError(Exception):
    """A line that cannot be a message. The error says which line."""


def lines_of(stream: BinaryIO) -> Iterator[str]:
    """The messages in a pipe: its lines that are not blank. Raises InputError."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise InputError(f"line {number} is longer than {MAX_LINE_BYTES} bytes")
        try:
            text = line.decode().strip()
        except UnicodeDecodeError as error:
            raise InputError(f"line {number} is not UTF-8: invalid byte at position {error.start}") from error
        if text:
            yield text
