"""The slash commands of a chat, like /energy and /kill, that a person can type between two messages."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from cortex.energy import EnergyError, despite_the_level, forecast, in_about, outlook
from cortex.show import gauge, marks_for
from cortex.text import hanging, local_time, styled, terminal_columns, visible, wrapped
from neurons import NeuronError, Status, progress

if TYPE_CHECKING:
    from cortex.loop import Conversations, ConversationSummary
    from cortex.settings import EnergySettings
    from neurons import Killed, Neuron

# Does not match a path: "/etc/hosts" is a message for the agent.
_COMMAND = re.compile(r"/([a-z?]*)\s*", re.IGNORECASE)
_MOST_LISTED = 20
_ORDER = (Status.ACTIVE, Status.TRIAL, Status.AWAITING_OWNER, Status.QUARANTINE, Status.DISABLED)

HELP = {
    "/energy": "shows the level, and what it is enough for",
    "/conversations": "lists earlier conversations; cortex chat --resume ID continues one",
    "/neurons": "lists learned neurons, then asks you about waiting proposals",
    "/kill": "stops everything at once, also in other programs, until cortex revive",
    "/help": "shows this",
    "/quit": "leaves; Ctrl-D does too",
}
KEYS = {"Ctrl-C": "stops a turn; at the prompt it clears the line"}


class Slash:
    """Runs slash commands and writes to the screen. `level` reads the energy."""

    def __init__(
        self,
        screen: TextIO,
        level: Callable[[], float],
        settings: EnergySettings,
        conversations: Conversations,
        *,
        neurons: Callable[[], Sequence[Neuron]] = lambda: (),
        about: Callable[[], Sequence[str]] = lambda: (),
        offer: Callable[[], None] = lambda: None,
        kill: Callable[[], Killed] | None = None,
        killed: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`neurons` loads all neurons, `about` says which process runs them or why none does, `offer` asks about the
        proposals that wait, `kill` turns the kill switch on, and `killed` says why nothing runs while it is."""
        self._screen = screen
        self._neurons = neurons
        self._about = about
        self._offer = offer
        self._kill = kill
        self._killed = killed
        self._level = level
        self._settings = settings
        self._conversations = conversations

    def command_in(self, line: str) -> str | None:
        """The command's name, or None if the line is a message."""
        found = _COMMAND.fullmatch(line.strip())
        return found[1].lower() if found else None

    def run(self, name: str) -> bool:
        """Run the command. Returns False when the chat ends."""
        match name:
            case "quit" | "exit" | "q":
                return False
            case "energy":
                self._write(self._energy())
            case "conversations":
                self._write(conversation_lines(self._conversations.list(), terminal_columns(self._screen)))
            case "neurons":
                self._write(self._learned())
                self._offer()
            case "kill" if self._kill is not None:
                columns = terminal_columns(self._screen)
                self._write(part for line in kill_lines(self._kill()) for part in wrapped(line, columns))
            case "help" | "?" | "":
                columns = terminal_columns(self._screen)
                rows = {**HELP, **KEYS}.items()
                self._write(line for name, what in rows for line in hanging(f"{name:16} ", what, columns))
            case _:
                self._write([f"There is no /{name}; /help lists what there is"])
        return True

    def _energy(self) -> list[str]:
        try:
            seen = forecast(self._level(), self._settings, self._killed())
        except EnergyError as error:
            return wrapped(str(error), terminal_columns(self._screen))
        full = "" if not seen.full_in_s else f", full {in_about(seen.full_in_s)}"
        tiers = (f"  {tier.tier:10} costs {tier.cost:.2f}   {outlook(tier, seen.killed)}" for tier in seen.tiers)
        why = [] if seen.killed is None else wrapped(despite_the_level(seen.killed), terminal_columns(self._screen))
        return [f"{gauge(seen.level, marks_for(self._screen))}{full}", *why, *tiers]

    def _learned(self) -> list[str]:
        columns = terminal_columns(self._screen)
        try:
            neurons = self._neurons()
            about = [part for line in self._about() for part in wrapped(line, columns)] if neurons else []
            return [*neuron_lines(neurons, columns, time.time()), *about]
        except (NeuronError, OSError) as error:
            return wrapped(str(error), columns)

    def _write(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._screen.write(f"{styled(line, 'dim', self._screen)}\n")
        self._screen.flush()


def conversation_lines(summaries: list[ConversationSummary], width: int) -> list[str]:
    """The newest conversations, one per line. Titles are users' text, so control characters are made visible."""
    lines = []
    for summary in summaries[:_MOST_LISTED]:
        head = f"{summary.id}  {local_time(summary.changed_at)}  "
        lines.append(head + _fitting(visible(summary.title), width - len(head)))
    if (more := len(summaries) - _MOST_LISTED) > 0:
        lines.append(f"and {more} more; cortex chat --list --json has all")
    return lines or ["There are no conversations yet"]


def neuron_lines(neurons: Sequence[Neuron], width: int, now: float) -> list[str]:
    """One neuron per line, running ones first; for a trial, the time and signals left."""
    in_order = sorted(neurons, key=lambda neuron: (_ORDER.index(neuron.status), neuron.id))
    lines = []
    for neuron in in_order[:_MOST_LISTED]:
        head = f"{neuron.status.replace('_', ' '):15} {neuron.id}  "
        lines.append(head + _fitting(visible(_left(neuron, now) + neuron.metadata.purpose), width - len(head)))
    if (more := len(neurons) - _MOST_LISTED) > 0:
        lines.append(f"and {more} more; cortex neurons list has all")
    return lines or ["There are no neurons yet"]


def _left(neuron: Neuron, now: float) -> str:
    if neuron.status is not Status.TRIAL:
        return ""
    left = progress(neuron, now)
    return f"{left.hours_left:.0f} h and {left.signals_left} signals left: "


def kill_lines(killed: Killed) -> list[str]:
    count = len(killed.processes)
    processes = f"{count} process{'' if count == 1 else 'es'} {'was' if count == 1 else 'were'} killed"
    if killed.is_on:
        told = f"Everything is stopped: {processes}, and nothing runs until cortex revive --reason WHY"
    else:
        told = f"The kill switch could not be turned on: {processes}, and more may come"
    return [told, *map(visible, killed.problems)]


def _fitting(text: str, width: int) -> str:
    first, *rest = wrapped(text, max(width - 4, 10))
    return f"{first} ..." if rest else first
