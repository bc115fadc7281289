"""The dialogue at a terminal: reads a message, runs a turn, shows the answer, and repeats until the person leaves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TextIO

from cortex.loop import AssistantMessage, ConversationError, UserMessage
from cortex.show import Show
from cortex.text import fit, has_colour, styled, terminal_columns, wrapped

from .interrupts import Nudged
from .line_history import LineHistory

if TYPE_CHECKING:
    from .outputs import Output
    from .proposal_desk import ProposalDesk
    from .slash import Slash
    from .talk import Talk

try:
    import readline
except ImportError:  # pragma: no cover - a Python that was built without it
    readline = None  # type: ignore[assignment]

_WORDS = "you> "
HOW_TO_LEAVE = "Ctrl-D or /quit leaves"


class Dialogue:
    def __init__(
        self,
        talk: Talk,
        prompt: Prompt,
        slash: Slash,
        output: Output,
        screen: TextIO,
        desk: ProposalDesk | None = None,
    ) -> None:
        """With a `desk`, proposals of neurons are offered between two turns."""
        self._talk = talk
        self._prompt = prompt
        self._slash = slash
        self._output = output
        self._screen = screen
        self._desk = desk

    def run(self, model: str) -> None:
        """Run the dialogue; return when the person leaves."""
        conversation = self._talk.agent.conversation
        self._say(f"Talking to {model}. /help lists the commands, Ctrl-C stops a turn, Ctrl-D leaves.")
        self._show_past()
        while (line := self._read()) is not None:
            command = self._slash.command_in(line)
            if command is not None:
                if not self._slash.run(command):
                    break
            elif line.strip():
                self._turn(line)
        if conversation.messages():
            self._say(f"cortex chat --resume {conversation.id} continues this conversation.")

    def _read(self) -> str | None:
        """The next line; None when the person has left."""
        while True:
            self._between_turns()
            self._screen.write("\n")
            self._screen.flush()
            try:
                return self._talk.read(self._prompt.read, self._prompt.is_idle)
            except Nudged:
                self._screen.write("\n")
            except KeyboardInterrupt:
                self._screen.write("\n")
                if self._talk.is_ending:
                    return None
                self._say(HOW_TO_LEAVE)
            except UnicodeDecodeError:
                self._say("That was not UTF-8.")
            except EOFError:
                self._screen.write("\n")
                return None

    def _between_turns(self) -> None:
        """Run the turns of signals that woke the agent meanwhile, then offer the neurons that it wants to learn."""
        self._talk.forget_nudges()
        self._let_neurons_speak()
        while not self._talk.is_ending and (signal := self._talk.next_wake()) is not None:
            self._say(f"{fit(signal.type, 80)} woke the agent.")
            self._run(partial(self._talk.woken_turn, signal))
        if self._desk is not None and not self._talk.is_ending:
            self._desk.offer()

    def _let_neurons_speak(self) -> None:
        """Show what neurons tell the owner, and what they say in the conversation."""
        while not self._talk.is_ending and (line := self._talk.next_line()) is not None:
            self._say(f"Neuron {line}")
        try:
            while not self._talk.is_ending and (said := self._talk.spoken()) is not None:
                self._screen.write("\n")
                Show(self._screen).note(said)
        except ConversationError as error:
            self._output.failed(str(error))

    def _turn(self, text: str) -> None:
        self._run(partial(self._talk.turn, text))

    def _run(self, turn: Callable[[], object]) -> None:
        self._screen.write("\n")
        try:
            turn()
        except ConversationError as error:
            self._output.failed(str(error))

    def _show_past(self) -> None:
        """Show the last message of a resumed conversation."""
        past = self._talk.agent.conversation.messages()
        words = [message for message in past if isinstance(message, UserMessage | AssistantMessage) and message.text]
        if not words:
            return
        self._say(f"Continuing after {len(words)} messages; the last:")
        show = Show(self._screen)
        show.note(words[-1].text)

    def _say(self, text: str) -> None:
        for line in wrapped(text, terminal_columns(self._screen)):
            self._screen.write(f"{styled(line, 'dim', self._screen)}\n")
        self._screen.flush()


class Prompt:
    """Reads a line from the person, with editing and history where Python has readline."""

    def __init__(self, history: LineHistory, screen: TextIO) -> None:
        self._history = history
        self._is_reading = False
        # readline does not count what stands between \001 and \002 as columns.
        self._words = f"\001\x1b[1m\002{_WORDS}\001\x1b[0m\002" if readline and has_colour(screen) else _WORDS
        if readline is not None:
            readline.clear_history()
            for line in history.lines():
                readline.add_history(line)

    def read(self) -> str:
        """Read one line. Raises EOFError, KeyboardInterrupt, and UnicodeDecodeError."""
        self._is_reading = True
        try:
            line = input(self._words)
        finally:
            # Cleared at once: from here on a nudge must not discard the line.
            self._is_reading = False
        if line.strip():
            self._history.add(line)
        return line

    def is_idle(self) -> bool:
        """Whether the person has typed nothing yet, as far as readline can tell."""
        return self._is_reading and (readline is None or not readline.get_line_buffer())
