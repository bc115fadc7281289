"""A model that reports when it is silent for long, so that a person at the terminal knows what the chat waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from cortex.loop import ModelReply, Waiting, ignore

if TYPE_CHECKING:
    from cortex.loop import LanguageModel, Message

SILENCE_S = 8
"""Longer than most replies take to begin."""


class PatientModel:
    """Wraps a model. Calls `tell` at most once for each reply, when no text has come for `silence_s` seconds."""

    def __init__(self, model: LanguageModel, tell: Callable[[Waiting], None], silence_s: float = SILENCE_S) -> None:
        self._model = model
        self._tell = tell
        self._silence_s = silence_s

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        on_text: Callable[[str], None] = ignore,
    ) -> ModelReply:
        """Raises what the model raises."""
        silence = anyio.CancelScope()

        async def tell_later() -> None:
            with silence:
                await anyio.sleep(self._silence_s)
                self._tell(Waiting())

        def heard(text: str) -> None:
            silence.cancel()
            on_text(text)

        failure: Exception
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tell_later)
            try:
                return await self._model.reply(messages, tools, on_text=heard)
            except Exception as error:  # noqa: BLE001 - raised below: the task group would wrap it
                failure = error
            finally:
                silence.cancel()
        raise failure
