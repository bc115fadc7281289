"""The language model behind any endpoint with OpenAI's chat API: OpenAI, Ollama, vLLM, llama.cpp and many others."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import anyio
import anyio.to_thread

from cortex.loop import Message, ModelError, ModelReply, Waiting, ignore

from .model_faults import settings_problem

if TYPE_CHECKING:
    from cortex.settings import ModelSettings

    from .chat_client import ChatClient


class OpenAIModel:
    """Use it with `async with`. Streams, retries temporary failures, and gives up after `reply_timeout_s`."""

    def __init__(
        self,
        settings: ModelSettings,
        *,
        on_wait: Callable[[Waiting], None] = ignore,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`on_wait` is called before each retry. Raises ModelError when the settings name no usable model."""
        if problem := settings_problem(settings):
            raise ModelError(f"Cannot ask a model: {problem}")
        self._settings = settings
        self._on_wait = on_wait
        self._sleep = sleep
        self._now = now
        self._client: ChatClient | None = None

    async def __aenter__(self) -> Self:
        # In a thread: the import takes most of a second, and must not block the event loop.
        self._client = await anyio.to_thread.run_sync(self._connect)
        return self

    async def __aexit__(self, *exc: object) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        on_text: Callable[[str], None] = ignore,
    ) -> ModelReply:
        """Get one reply. Once text has reached `on_text` there is no retry. Raises ModelError."""
        if self._client is None:
            raise RuntimeError("Cannot ask the model outside of its `async with`")
        return await self._client.reply(messages, tools, on_text)

    def _connect(self) -> ChatClient:
        from .chat_client import ChatClient  # noqa: PLC0415 - late, because it brings the client of OpenAI

        return ChatClient(self._settings, on_wait=self._on_wait, sleep=self._sleep, now=self._now)
