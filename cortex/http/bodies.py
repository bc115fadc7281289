"""The bodies that HTTP servers answer with: reads one that can be stopped, and chooses the trusted certificates.

Bodies of the HTTP client are nested async generators. A generator that is dropped is left to the garbage collector,
which on trio is an error, and closing the outermost does not reach the innermost. So reading is cancelled from inside:
each generator sees the exception and ends.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio
import httpx2

from cortex.text import Turns

CONNECTION_FAULTS = (httpx2.HTTPError, httpx2.StreamError, ssl.SSLError, anyio.EndOfStream)
"""Exceptions of a broken connection while a body is read. Not every OSError: one may come from writing the output."""

_POLITE_S = 0.2


def trust_for(url: str) -> ssl.SSLContext | bool:
    """The `verify` of an HTTP client for this address. For http an empty trust store: it is not used, and loading the
    CA certificates takes longer than to connect."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.startswith("http://") else True


async def leave(chunks: AsyncIterator[bytes], *, is_ending: bool = False) -> None:
    """Stop reading. With `is_ending` the body gets a moment to end by itself, so that its connection can be reused."""
    with anyio.CancelScope(shield=True) as scope, suppress(*CONNECTION_FAULTS):
        if is_ending:
            scope.deadline = anyio.current_time() + _POLITE_S
        else:
            scope.cancel()
        async for _ in chunks:
            pass


async def read_at_most(response: httpx2.Response, max_bytes: int) -> bytes | None:
    """The whole raw body; None if it has more than `max_bytes`."""
    chunks = response.aiter_raw()
    body, turns = bytearray(), Turns()
    try:
        async for chunk in chunks:
            await turns.take()
            body += chunk
            if len(body) > max_bytes:
                return None
    finally:
        await leave(chunks)
    return bytes(body)


class Beginning(httpx2.AsyncByteStream):
    """A body cut after `max_bytes`, for clients that would read all of it."""

    def __init__(self, body: AsyncIterator[bytes] | httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._body = body
        self._max = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks, turns = aiter(self._body), Turns()
        left = self._max
        async for chunk in chunks:
            await turns.take()
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                break
        await leave(chunks)

    async def aclose(self) -> None:
        if isinstance(self._body, httpx2.AsyncByteStream):
            await self._body.aclose()
