"""The owner of the story: the person at the terminal, if there is one."""

from __future__ import annotations

from typing import TextIO

import anyio

from cortex import Decision, Question
from cortex.demo import Page

from .plain import compact

_PATIENCE_S = 300


class PageOwner:
    """Asks the person who reads the page, on it. With neither a keyboard nor --yes the answer is no."""

    def __init__(self, page: Page, keyboard: TextIO | None = None, says_yes: bool = False) -> None:
        self._page = page
        self._keyboard = keyboard
        self._says_yes = says_yes
        self.has_refused = False
        """The last time."""

    async def decide(self, question: Question) -> Decision:
        self._page.line()
        self._page.row("May it?", f"{question.tool} {compact(question.arguments)}")
        try:
            allowed, reason = await self._answer()
        finally:
            # Also when the person leaves instead: what is said of that must not stand in the line of the prompt.
            self._page.line()
        self.has_refused = not allowed
        return Decision(allowed, reason)

    async def _answer(self) -> tuple[bool, str]:
        """Whether the person agrees, and in words why not."""
        page = self._page
        if self._says_yes:
            page.line("--yes agrees for you.", "bold")
            return True, ""
        if self._keyboard is None:
            page.paragraph('Nobody is at a terminal, and that is a no. "--yes" says yes for you.', "bold")
            return False, "nobody was there to ask"
        page.line("Type yes to agree. Anything else is a no.", "bold")
        page.stream.write("> ")
        page.stream.flush()
        with anyio.move_on_after(_PATIENCE_S):
            # In no thread, which could not be interrupted: a terminal is readable when there is a whole line.
            await anyio.wait_readable(self._keyboard)
            if self._keyboard.readline().strip().lower() == "yes":
                return True, ""
        return False, "the owner said no"
