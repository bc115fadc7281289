"""The commands that a person can give between two messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

from cortex.energy import EnergyError, forecast, in_about, outlook
from cortex.show import gauge, marks_for
from cortex.terminal import styled, terminal_columns, visible, wrapped

if TYPE_CHECKING:
    from cortex.loop import Conversations, ConversationSummary
    from cortex.sections import EnergySettings

# Not a path: "/etc/hosts" and the like are meant for the agent.
_COMMAND = re.compile(r"/([a-z?]*)\s*", re.IGNORECASE)
_MOST_LISTED = 20

HELP = {
    "/energy": "the level, and what it is enough for",
    "/conversations": "earlier ones; cortex chat --resume ID goes on with one",
    "/help": "this",
    "/quit": "leave; Ctrl-D does too",
}
KEYS = {"Ctrl-C": "stops a turn; at the prompt it clears the line"}


class Slash:
    """`level` reads the energy. Everything is written to the screen."""

    def __init__(
        self, screen: TextIO, level: Callable[[], float], settings: EnergySettings, conversations: Conversations
    ) -> None:
        self._screen = screen
        self._level = level
        self._settings = settings
        self._conversations = conversations

    def command_in(self, line: str) -> str | None:
        """Its name, if the line is a command and not a message."""
        found = _COMMAND.fullmatch(line.strip())
        return found[1].lower() if found else None

    def run(self, name: str) -> bool:
        """Whether the chat goes on."""
        match name:
            case "quit" | "exit" | "q":
                return False
            case "energy":
                self._write(self._energy())
            case "conversations":
                self._write(conversation_lines(self._conversations.list(), terminal_columns(self._screen)))
            case "help" | "?" | "":
                self._write(f"{name:16} {what}" for name, what in {**HELP, **KEYS}.items())
            case _:
                self._write([f"There is no /{name}; /help lists what there is"])
        return True

    def _energy(self) -> list[str]:
        try:
            seen = forecast(self._level(), self._settings)
        except EnergyError as error:
            return wrapped(str(error), terminal_columns(self._screen))
        full = "" if not seen.full_in_s else f", full {in_about(seen.full_in_s)}"
        tiers = (f"  {tier.tier:10} costs {tier.cost:.2f}   {outlook(tier)}" for tier in seen.tiers)
        return [f"{gauge(seen.level, marks_for(self._screen))}{full}", *tiers]

    def _write(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._screen.write(f"{styled(line, 'dim', self._screen)}\n")
        self._screen.flush()


def conversation_lines(summaries: list[ConversationSummary], width: int) -> list[str]:
    """The last ones, one in each line. Titles are what somebody typed."""
    lines = []
    for summary in summaries[:_MOST_LISTED]:
        at = f"{datetime.fromtimestamp(summary.changed_at, UTC).astimezone():%Y-%m-%d %H:%M}"
        head = f"{summary.id}  {at}  "
        lines.append(head + _fitting(visible(summary.title), width - len(head)))
    if (more := len(summaries) - _MOST_LISTED) > 0:
        lines.append(f"and {more} more; cortex chat --list --json has all")
    return lines or ["There are no conversations yet"]


def _fitting(text: str, width: int) -> str:
    first, *rest = wrapped(text, max(width - 4, 10))
    return f"{first} ..." if rest else first
