"""Gets embeddings from the endpoint of the language model: `POST …/embeddings`. Imported late: it loads slowly."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import anyio.to_thread
import httpx2

from cortex.http import CONNECTION_FAULTS, read_at_most, trust_for
from cortex.models import OPENAI_URL, innermost_reason, is_passing_status, key_of, retry_after_s
from cortex.settings import ModelSettings
from cortex.text import visible
from sandbox import JsonLimits, check_json

from .embedder import EmbeddingFailed

# To parse numbers blocks the process, in a thread as well: this many vectors of 4096 numbers take 50 ms.
_TEXTS_AT_ONCE = 32
_MAX_REPLY_BYTES = 4 * 1024 * 1024
_REPLY_LIMITS = JsonLimits(containers=1_000, values=150_000, digits=4_000_000)
_FIRST_WAIT_S = 0.5
_CLOSE_S = 2


class EndpointEmbedder:
    """An `Embedder` with the address, the key, the timeouts and the retries of `[model]`."""

    def __init__(
        self, model: str, settings: ModelSettings, *, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    ) -> None:
        self._url = (settings.base_url or OPENAI_URL).rstrip("/")
        self.name = f"endpoint {self._url} {model}"
        self._model = model
        self._settings = settings
        self._sleep = sleep
        self._client: httpx2.AsyncClient | None = None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for begin in range(0, len(texts), _TEXTS_AT_ONCE):
            vectors += await self._patiently(texts[begin : begin + _TEXTS_AT_ONCE])
        return vectors

    async def aclose(self) -> None:
        if self._client is not None:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_CLOSE_S):
                await self._client.aclose()
            self._client = None

    async def _patiently(self, texts: Sequence[str]) -> list[list[float]]:
        for attempt in range(1, self._settings.max_attempts + 1):
            try:
                return await self._ask(texts)
            except _Passing as error:
                longest_s = self._settings.max_wait_s
                wait_s = min(_FIRST_WAIT_S * 2 ** (attempt - 1), longest_s) if error.wait_s is None else error.wait_s
                if attempt == self._settings.max_attempts or wait_s > longest_s:
                    raise
                await self._sleep(wait_s)
        raise AssertionError("there is at least one attempt")

    async def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        asked = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        try:
            async with self._connected().stream("POST", f"{self._url}/embeddings", json=asked) as response:
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise self._failed("the reply is compressed, which was not asked for")
                body = await read_at_most(response, _MAX_REPLY_BYTES)
        except CONNECTION_FAULTS as error:
            raise self._failed(f"the connection failed ({innermost_reason(error)})", passing=True) from None
        if not response.is_success:
            status = response.status_code
            wait_s = retry_after_s(response.headers, time.time())
            raise self._failed(f"status {status}", passing=is_passing_status(status), wait_s=wait_s)
        if body is None:
            raise self._failed(f"the reply has more than {_MAX_REPLY_BYTES} bytes")
        vectors = await anyio.to_thread.run_sync(_vectors, body)
        if vectors is None or len(vectors) != len(texts):
            raise self._failed("the reply is not a list of embeddings, one for each text")
        return vectors

    def _connected(self) -> httpx2.AsyncClient:
        if self._client is None:
            headers = {"Accept-Encoding": "identity"}
            if key := key_of(self._settings):
                headers["Authorization"] = f"Bearer {key}"
            self._client = httpx2.AsyncClient(
                headers=headers,
                verify=trust_for(self._url),
                timeout=httpx2.Timeout(self._settings.stall_timeout_s, connect=self._settings.connect_timeout_s),
                # The descriptions of tools go only to the owner's endpoint, not where a server redirects.
                follow_redirects=False,
            )
        return self._client

    def _failed(self, why: str, *, passing: bool = False, wait_s: float | None = None) -> EmbeddingFailed:
        if key := key_of(self._settings):
            why = why.replace(key, "[key]")
        where = self._url.rpartition("@")[2].partition("?")[0]
        message = f'Cannot get embeddings of "{visible(self._model)}" from {visible(where)}: {visible(why[:300])}'
        return _Passing(message, wait_s) if passing else EmbeddingFailed(message)


class _Passing(EmbeddingFailed):
    """A failure that is retried, because the next attempt may succeed."""

    def __init__(self, message: str, wait_s: float | None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


def _vectors(body: bytes) -> list[list[float]] | None:
    """The vectors in the order of the texts, whatever the order in the reply. None if the reply is not a list of
    embeddings."""
    try:
        check_json(body, _REPLY_LIMITS)
        found: Any = json.loads(body)["data"]
        rows = sorted(found, key=lambda row: row["index"])
        if [row["index"] for row in rows] != list(range(len(rows))):
            return None
        return [[float(number) for number in row["embedding"]] for row in rows]
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None
