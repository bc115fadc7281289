"""Watches the two streams of a connection: notices their end, and limits requests of a server that reads no answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Self

import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

# Each request of the server is refused in a task of its own, which waits until the server reads the refusal.
MAX_OPEN_REQUESTS = 32


class Wire:
    """The state of a connection, and an event for its changes."""

    def __init__(self) -> None:
        self.has_ended = False
        self.has_changed = False
        """Whether the server has said that its list of tools changed."""
        self.open_requests = 0
        self._news = anyio.Event()

    def end(self) -> None:
        self.has_ended = True
        self._news.set()

    def change(self) -> None:
        self.has_changed = True
        self._news.set()

    async def next_change(self) -> bool:
        """Wait until the list has changed; False when the connection has ended instead."""
        while not self.has_ended:
            if self.has_changed:
                self.has_changed = False
                return True
            self._news = anyio.Event()
            await self._news.wait()
        return False

    async def pause(self, seconds: float) -> None:
        """Sleep for `seconds`, or until the connection has ended."""
        with anyio.move_on_after(seconds):
            while not self.has_ended:
                self._news = anyio.Event()
                await self._news.wait()


@asynccontextmanager
async def watched(
    transport: AbstractAsyncContextManager[TransportStreams], wire: Wire
) -> AsyncIterator[TransportStreams]:
    try:
        async with transport as (incoming, outgoing):
            yield _Incoming(incoming, wire), _Outgoing(outgoing, wire)
    finally:
        wire.end()


class _Passing:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._inner.aclose()


class Incoming(_Passing):
    """A stream of incoming messages, passed on unchanged. Subclasses inspect the messages."""

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await self._inner.receive()
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _Incoming(Incoming):
    def __init__(self, inner: Any, wire: Wire) -> None:
        super().__init__(inner)
        self._wire = wire

    async def receive(self) -> SessionMessage | Exception:
        try:
            item = await super().receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._wire.end()
            raise
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCRequest):
            self._wire.open_requests += 1
            if self._wire.open_requests > MAX_OPEN_REQUESTS:
                self._wire.end()
                raise anyio.EndOfStream
        return item


class _Outgoing(_Passing):
    def __init__(self, inner: Any, wire: Wire) -> None:
        super().__init__(inner)
        self._wire = wire

    async def send(self, item: SessionMessage) -> None:
        await self._inner.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._wire.open_requests -= 1
