"""Tells the owner at the prompt of a chat: nothing is written there, but the proposal is offered next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neurons import Notice


class NudgeChannel:
    def __init__(self, nudge: Callable[[], None]) -> None:
        self._nudge = nudge

    async def notify(self, notice: Notice) -> None:
        del notice
        self._nudge()
