"""Leaving the body of a response in the middle, on every event loop.

Bodies of the HTTP client are generators inside generators. One that is dropped is left for the garbage collector, which
on trio is an error, and closing the outermost does not reach the innermost. So a body is left by cancelling it from
inside: each generator sees the exception and ends.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio
import httpx2

from cortex.text import Turns

CONNECTION_FAULTS = (httpx2.HTTPError, httpx2.StreamError, ssl.SSLError, anyio.EndOfStream)
"""What reading a body raises when the connection does not hold. Not every OSError: it may be of who shows the text."""

_POLITE_S = 0.2


async def leave(chunks: AsyncIterator[bytes], *, is_ending: bool = False) -> None:
    """Read no more of it. One that is about to end may do so by itself, and its connection can be used again."""
    with anyio.CancelScope(shield=True) as scope, suppress(*CONNECTION_FAULTS):
        if is_ending:
            scope.deadline = anyio.current_time() + _POLITE_S
        else:
            scope.cancel()
        async for _ in chunks:
            pass


async def read_at_most(response: httpx2.Response, max_bytes: int) -> bytes | None:
    """The whole body as it came over the wire; None when there is more."""
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
    """No more than the first bytes of a body, for clients that would read all of it."""

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
