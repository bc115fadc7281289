"""Owner channel for `cortex chat`: writes nothing, but nudges the prompt so that the dialogue offers the proposal."""

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
