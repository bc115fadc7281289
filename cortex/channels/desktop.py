"""Tells the owner by the desktop's own command for notifications, where there is one: notify-send or osascript."""

from __future__ import annotations

import html
import os
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio

from neurons import ChannelError

from .owner_page import outcome_line

if TYPE_CHECKING:
    from neurons import Emitted, Notice, Outcome

SHOWING_S = 10
_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
_SESSIONS = ("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY")


class DesktopChannel:
    name = "desktop"

    def __init__(self, command: str, *, showing_s: float = SHOWING_S) -> None:
        self._command = command
        self._showing_s = showing_s

    async def notify(self, notice: Notice) -> None:
        """Show the title of a proposal. Raises ChannelError."""
        await self._show(notice.title, f"To look at it: cortex neurons show {notice.neuron.id}")

    async def emitted(self, emitted: Emitted) -> None:
        """Show what a neuron says. Raises ChannelError."""
        await self._show(emitted.name or emitted.neuron, emitted.text)

    async def outcome(self, outcome: Outcome) -> None:
        """Show what became of a neuron. Raises ChannelError."""
        await self._show("Motor Cortex", outcome_line(outcome))

    async def _show(self, title: str, text: str) -> None:
        try:
            with anyio.fail_after(self._showing_s):
                done = await anyio.run_process(arguments(self._command, title, text), check=False)
        except (OSError, ValueError) as error:
            raise ChannelError(f"Cannot tell the owner on the desktop: {error}") from error
        if done.returncode:
            raise ChannelError(f"Cannot tell the owner on the desktop: the command failed ({done.returncode})")


def arguments(command: str, title: str, text: str) -> list[str]:
    """The command line. The text cannot become an option, a part of a script, or markup."""
    if os.path.basename(command) == "osascript":
        return [command, *(part for line in _SCRIPT for part in ("-e", line)), title, text]
    return [command, "--app-name=motor-cortex", "--", title, html.escape(text, quote=False)]


def desktop_command(environment: Mapping[str, str] = os.environ) -> str | None:
    """The command of this desktop; None where there is none, or no session that would show it."""
    if sys.platform == "darwin":
        return shutil.which("osascript", path=environment.get("PATH"))
    if not any(environment.get(name) for name in _SESSIONS):
        return None
    return shutil.which("notify-send", path=environment.get("PATH"))
