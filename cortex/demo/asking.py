"""The owner's question: to the person at the terminal, if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

import anyio

if TYPE_CHECKING:
    from neurons import Neuron

    from .page import Page

SHOWN = 8
"""So much of the hash has to be repeated."""
_PATIENCE_S = 300


class Asker:
    """Asks at the keyboard, or says yes without one. Without either there is nobody, which is a no."""

    def __init__(self, keyboard: TextIO | None, *, says_yes: bool = False) -> None:
        self._keyboard = keyboard
        self._says_yes = says_yes

    async def ask(self, neuron: Neuron, page: Page) -> tuple[str, str]:
        """What was typed for the hash, and in words why it is not it; one of them is empty."""
        shown = neuron.request.shown_hash[:SHOWN] if neuron.request is not None else ""
        if self._says_yes:
            page.line(f"--yes repeats the first {SHOWN} characters of the hash for you: {shown}", "bold")
            return shown, ""
        if self._keyboard is None:
            page.paragraph('Nobody is at a terminal, and that is a no. "cortex demo --yes" says yes for you.', "bold")
            return "", "nobody was there to ask"
        page.paragraph(f"To approve it, type the first {SHOWN} characters of the hash. Anything else is a no.", "bold")
        page.stream.write("> ")
        page.stream.flush()
        typed = await self._line(self._keyboard)
        return (typed, "") if typed == shown else ("", "the owner said no")

    async def _line(self, keyboard: TextIO) -> str:
        with anyio.move_on_after(_PATIENCE_S):
            # In no thread, which could not be interrupted: a terminal is readable when there is a whole line.
            await anyio.wait_readable(keyboard)
            return keyboard.readline().strip().lower()
        return ""
