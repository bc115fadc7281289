"""A server behind a URL. What it answers is bounded, and so is how long it may take to begin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from .child import Witness
from .errors import too_long

CONNECT_S = 10.0
IDLE_S = 300.0
"""Between two pieces of a stream. One that is lost for it is opened again."""


@asynccontextmanager
async def reached(
    url: str,
    headers: Mapping[str, str],
    witness: Witness,
    *,
    max_bytes: int,
    answer_s: float,
    on_gone: Callable[[], None],
) -> AsyncIterator[TransportStreams]:
    """The streams to the server. `on_gone` is called when it no longer knows of us."""

    async def look(response: httpx2.Response) -> None:
        witness.status = response.status_code
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            on_gone()
        # What was not asked for is not unpacked: a kilobyte may be a gigabyte.
        response.headers.pop("content-encoding", None)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _Bounded(response.stream, max_bytes)

    client = _Client(
        answer_s,
        headers={"accept-encoding": "identity", **headers},
        timeout=httpx2.Timeout(CONNECT_S, read=IDLE_S),
        event_hooks={"response": [look]},
    )
    async with client, streamable_http_client(url, http_client=client, max_sse_event_size=max_bytes) as streams:
        yield streams


class _Client(httpx2.AsyncClient):
    """Gives up when an answer does not begin: the SDK sends notices one after the other, and the first that is not
    answered would hold up all that come later."""

    def __init__(self, answer_s: float, **options: Any) -> None:
        super().__init__(**options)
        self._answer_s = answer_s

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        with anyio.move_on_after(self._answer_s):
            return await super().send(request, **options)
        raise httpx2.ReadTimeout(f"no answer within {self._answer_s:g} s", request=request)


class _Bounded(httpx2.AsyncByteStream):
    """A body, up to so many bytes. Of events each is bounded instead: a stream of them may last."""

    def __init__(self, body: Any, max_bytes: int) -> None:
        self._body = body
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._body:
                size += len(chunk)
                if size <= self._max_bytes:
                    yield chunk
                else:
                    # Of a closed body nothing more can be read, which ends those that are read through; one that is
                    # left in the middle would be ended by whoever collects it.
                    await self._body.aclose()
        except (httpx2.TransportError, anyio.ClosedResourceError):
            if size <= self._max_bytes:
                raise
        if size > self._max_bytes:
            raise httpx2.StreamError(too_long(self._max_bytes))

    async def aclose(self) -> None:
        await self._body.aclose()
