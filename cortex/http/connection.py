"""Limits HTTP connections and their time, above all connections without a valid token. Imported late, because it
imports the web server.

A client without the token can connect and then send nothing, or very slowly. So connections without the token
(strangers) have few places and little time, and the oldest is closed for a new one; a connection that has shown the
token is never closed for one that has not.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import socket

    from .limits import ConnectionLimits

# Each read is parsed without a pause, at up to 5 µs per byte: small reads keep the event loop free.
READ_BYTES = 8 * 1024
# Retry after this long when the system has no more file descriptors: closed connections free theirs.
_ACCEPT_AGAIN_S = 0.1


class Strangers:
    """The connections that have not shown the token yet, the oldest first."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._since: dict[Connection, float] = {}
        self._fewer = asyncio.Event()

    def add(self, connection: Connection) -> None:
        self._since[connection] = connection.loop.time()

    def discard(self, connection: Connection) -> None:
        if self._since.pop(connection, None) is not None:
            self._fewer.set()

    async def room(self) -> None:
        """Wait for a free place. The oldest stranger is closed once it has had its moment to send something: without
        that moment, a flood of connections would keep out every client that does not send in the same instant."""
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
    """A connection with timeouts before the first request and inside a request; uvicorn has one only between two."""

    def __init__(self, strangers: Strangers, limits: ConnectionLimits, **options: Any) -> None:
        # The app finds the connection there, and reports that the token was shown.
        super().__init__(app_state={"connection": self}, **options)
        self._strangers = strangers
        self._limits = limits
        self._is_known = False
        self._clock: asyncio.TimerHandle | None = None

    @property
    def is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def welcome(self) -> None:
        """Note that the token was shown: the connection is no stranger any more."""
        self._is_known = True
        self._strangers.discard(self)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if hasattr(transport, "max_size"):  # asyncio's own transports have it; without it more is read at once
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
        # A pipelined request, which came together with the last one, is being answered already.
        if not self.is_answering:
            self._stop_clock()
            self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self._strangers.discard(self)
        super().connection_lost(exc)

    def _start_clock(self) -> None:
        """Start the timeout: for the whole head of a request, and for each next piece of its body."""
        waiting_s = self._limits.waiting_s if self._is_known else min(self._limits.waiting_s, self._limits.stranger_s)
        self._clock = self.loop.call_later(waiting_s, self.transport.close)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None


async def accept(listening: socket.socket, web: uvicorn.Server, limits: ConnectionLimits) -> None:
    """Accept connections, one at a time and only while there is a place, until this is cancelled."""
    loop, strangers = asyncio.get_running_loop(), Strangers(limits)
    while True:
        await strangers.room()
        # Not with the loop's own `sock_accept`, which loses a connection that comes in the moment of a cancellation.
        await anyio.wait_readable(listening)
        try:
            connected, _ = listening.accept()
        except BlockingIOError:
            continue  # the client has disconnected already
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


def web_server(app: Any, limits: ConnectionLimits, *, ending_s: int) -> uvicorn.Server:
    """A server for an ASGI app, without sockets and signals of its own: `accept` decides which connections are
    accepted, and commands handle signals themselves, because they have more to close. It ends `ending_s` after
    `should_exit` is set, whatever streams are open."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        http="h11",
        ws="none",
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        # Not shorter than ours, or a client may send on a connection in the moment in which it is closed.
        timeout_keep_alive=math.ceil(limits.waiting_s),
        timeout_graceful_shutdown=ending_s,
    )
    web = uvicorn.Server(config)
    web.capture_signals = nullcontext  # type: ignore[assignment]
    return web
