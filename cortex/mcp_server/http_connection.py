"""Connections of the web server: who has shown the token, and how long others are waited for. Loaded late, because it
loads the web server.

Whoever can connect can say nothing, or say it very slowly, and does not need the token for that. So strangers have few
places and little time, and make way for the next ones; a connection on which the token was shown never makes way for
one on which it was not.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import socket

    from uvicorn import Server

    from .http_limits import HttpLimits

# What is read at once is taken apart at once: a body in chunks of one byte takes 5 µs for each byte.
READ_BYTES = 8 * 1024
# When the system gives no more descriptors: those who leave give theirs back.
_ACCEPT_AGAIN_S = 0.1


class Strangers:
    """The connections on which no token was shown yet, in the order in which they came."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._since: dict[Connection, float] = {}
        self._fewer = asyncio.Event()

    def add(self, connection: Connection) -> None:
        self._since[connection] = connection.loop.time()

    def discard(self, connection: Connection) -> None:
        if self._since.pop(connection, None) is not None:
            self._fewer.set()

    async def room(self) -> None:
        """Wait for a place. The one that came first makes way once it has had its moment to speak: without that, those
        who come fast enough would keep out everybody who does not speak in the same instant."""
        while len(self._since) >= self._limits.strangers:
            first, since = next(iter(self._since.items()))
            left_s = since + self._limits.moment_s - first.loop.time()
            if left_s <= 0:
                self.discard(first)
                first.transport.abort()
                continue
            self._fewer.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._fewer.wait(), left_s)


class Connection(H11Protocol):
    """The web server has a clock between two requests, and none before the first or in the middle of one."""

    def __init__(self, strangers: Strangers, limits: HttpLimits, **options: Any) -> None:
        # So that the app finds it, and can say that the token was shown.
        super().__init__(app_state={"connection": self}, **options)
        self._strangers = strangers
        self._limits = limits
        self._is_known = False
        self._clock: asyncio.TimerHandle | None = None

    @property
    def is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def welcome(self) -> None:
        """The token was shown."""
        self._is_known = True
        self._strangers.discard(self)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if hasattr(transport, "max_size"):  # of asyncio's own transports; without it more is read at once
            transport.max_size = READ_BYTES
        super().connection_made(transport)
        self._strangers.add(self)
        self._start_clock()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_answering:
            self._stop_clock()
            if self.cycle.more_body:
                self._start_clock()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # A request that came with the one before is being answered already.
        if not self.is_answering:
            self._stop_clock()
            self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self._strangers.discard(self)
        super().connection_lost(exc)

    def _start_clock(self) -> None:
        """For a whole head of a request, and for each next piece of its body."""
        waiting_s = self._limits.waiting_s if self._is_known else min(self._limits.waiting_s, self._limits.stranger_s)
        self._clock = self.loop.call_later(waiting_s, self.transport.close)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None


async def accept(listening: socket.socket, web: Server, limits: HttpLimits) -> None:
    """Take in those who connect, one at a time and only while there is a place, until this is cancelled."""
    loop, strangers = asyncio.get_running_loop(), Strangers(limits)
    while True:
        await strangers.room()
        # Not by the loop's own `sock_accept`, which loses a connection that comes in the moment of a cancellation.
        await anyio.wait_readable(listening)
        try:
            connected, _ = listening.accept()
        except BlockingIOError:
            continue  # it has gone already
        except OSError:
            await asyncio.sleep(_ACCEPT_AGAIN_S)
            continue
        connected.setblocking(False)
        try:
            await loop.connect_accepted_socket(
                lambda: Connection(strangers, limits, config=web.config, server_state=web.server_state), connected
            )
        except BaseException as error:
            connected.close()
            if not isinstance(error, OSError):
                raise


def kept_s(limits: HttpLimits) -> int:
    """How long the web server itself keeps a connection between two requests: not shorter than we do. Clients would
    else use one in the moment in which it is closed."""
    return math.ceil(limits.waiting_s)
