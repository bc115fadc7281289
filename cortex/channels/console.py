"""Notifies the owner by writing to a stream, by default to standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

import anyio
import anyio.to_thread

from cortex.text import CODE, broken, columns_of, terminal_columns, visible, wrapped
from neurons import ChannelError

from .owner_page import outcome_line, owner_view

if TYPE_CHECKING:
    from neurons import Emitted, Neuron, Notice, Outcome

WRITING_S = 5
"""Timeout of a write: a pipe that no process reads fills up, and a write to it would block for ever."""


class ConsoleChannel:
    name = "console"

    def __init__(self, stream: TextIO | None = None, *, writing_s: float = WRITING_S) -> None:
        self._stream = stream
        self._writing_s = writing_s

    async def notify(self, notice: Notice) -> None:
        """Write the proposal and how to decide. Raises ChannelError."""
        await self._say(told(notice))

    async def emitted(self, emitted: Emitted) -> None:
        """Write what a neuron says. Raises ChannelError."""
        await self._say([line_of(emitted)])

    async def outcome(self, outcome: Outcome) -> None:
        """Write what became of a neuron. Raises ChannelError."""
        await self._say([outcome_line(outcome)])

    async def _say(self, lines: list[str]) -> None:
        stream = sys.stderr if self._stream is None else self._stream
        try:
            text = "\n".join(set_in(lines, terminal_columns(stream))) + "\n"
            with anyio.move_on_after(self._writing_s):
                await anyio.to_thread.run_sync(_write, stream, text, abandon_on_cancel=True)
                return
        except (OSError, ValueError) as error:
            raise ChannelError(f"Cannot write to the console: {error}") from error
        raise ChannelError(f"Cannot write to the console: no process read the output for {self._writing_s:g} s")


def line_of(emitted: Emitted) -> str:
    """`StockWatch: only 3 left`. The name comes first: no text of a server stands at the beginning of a line."""
    return f"{visible(emitted.name or emitted.neuron)}: {visible(emitted.text)}"


def told(notice: Notice) -> list[str]:
    """The owner's full view of the neuron, and the commands to decide."""
    return [*owner_view(notice.neuron, notice.habit, notice.around), how_to_decide(notice.neuron)]


def how_to_decide(neuron: Neuron) -> str:
    return f"To decide: cortex neurons approve {neuron.id}, or: cortex neurons reject {neuron.id} --reason WHY"


def set_in(lines: list[str], width: int) -> list[str]:
    """Wrap the lines. Continuation lines are indented, so that none looks like ours; code keeps its blanks."""
    return [part for line in lines for part in _set_in(line, width)]


def _set_in(line: str, width: int) -> list[str]:
    if columns_of(line) <= width:
        return [visible(line)]
    if line.startswith(CODE):
        return list(broken(visible(line), width))
    first, *rest = wrapped(line, max(width - 6, 10))
    # Before a word that is too long for one line the blanks are gone: it would begin where lines of ours do.
    indent = "  " if line.startswith(" ") and not first.startswith(" ") else ""
    return [indent + first, *(f"    {more}" for more in rest)]


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()
