"""Opens connections, only to checked addresses. Imported at the first fetch: httpx2's engine is slow to load.

The engine is used without httpx2's client, which would keep cookies, parse URLs in its own way, and decompress bodies
without a limit.
"""

from __future__ import annotations

import contextvars
import logging
import os
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import anyio
import httpcore2

from . import addresses
from .lookups import Lookups
from .refusals import denied, failed

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Looks up the addresses of a host name. Called once per connection: the checked addresses are the ones connected to,
so that no second lookup can differ (DNS rebinding)."""

MAX_ADDRESSES = 32
# The head of a response is read in small steps, because it is parsed in one go.
_HEAD_STEP_BYTES = 8 * 1024
# At most this many addresses are tried, each with its share of the time: one that never answers must not take it all.
_MAX_ATTEMPTS = 4
_CLOSING_TIMEOUT_S = 2.0
# How long an idle connection waits for the next request.
_KEPT_S = 5.0

quiet: contextvars.ContextVar[bool] = contextvars.ContextVar("quiet", default=False)


class _Quiet(logging.Filter):
    """Mutes the engine's debug log during a fetch: it has response headers, in which a server may echo a secret."""

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - the name that logging calls
        return not quiet.get()


for _name in ("connection", "http11"):
    logging.getLogger(f"httpcore2.{_name}").addFilter(_Quiet())


class WireLimit(httpcore2.RemoteProtocolError):
    """The server sends more bytes than the response can need."""


class MeteredStream(httpcore2.AsyncNetworkStream):
    """A connection with a limit on the bytes read. Each request starts with the limit for a head; `allow` sets the
    limit for the body."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, max_head_bytes: int) -> None:
        self._stream = stream
        self._max_head_bytes = max_head_bytes
        self._left = max_head_bytes
        self._in_head = True

    def allow(self, more_bytes: int) -> None:
        """Call when the head has arrived: at most `more_bytes` may follow."""
        self._in_head = False
        self._left = more_bytes

    # The engine passes a timeout to each call; it is never set, because the broker has one for the whole fetch.
    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        if self._left <= 0:
            what = f"the head of the answer is larger than {self._max_head_bytes} bytes" if self._in_head else ""
            raise WireLimit(what or "the answer takes far more bytes than its body has")
        step = min(max_bytes, _HEAD_STEP_BYTES) if self._in_head else max_bytes
        data = await self._stream.read(min(step, self._left), timeout)
        self._left -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        self._in_head = True
        self._left = self._max_head_bytes
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        try:
            stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:
            # The engine closes it after an error, but leaks it when the fetch is cancelled.
            with anyio.CancelScope(shield=True), anyio.move_on_after(_CLOSING_TIMEOUT_S):
                await self._stream.aclose()
            raise
        return MeteredStream(stream, self._max_head_bytes)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Resolves a host name, checks all of its addresses, and connects to one of these same addresses."""

    def __init__(
        self, resolver: Resolver, max_head_bytes: int, is_denied: Callable[[str, int], bool], *, private: bool
    ) -> None:
        self._resolver = resolver
        self._max_head_bytes = max_head_bytes
        self._is_denied = is_denied
        self._private = private
        self._sockets = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        found = await self._checked(host, port)
        deadline = anyio.current_effective_deadline()
        for left, address in zip(range(len(found), 0, -1), found, strict=True):
            share = timeout if left == 1 else (deadline - anyio.current_time()) / left
            try:
                stream = await self._sockets.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
            return MeteredStream(stream, self._max_head_bytes)
        raise failed(f"Cannot connect to {host}: nothing answers at port {port}", retryable=True)

    async def _checked(self, host: str, port: int) -> Sequence[str]:
        named = addresses.parse(host) is not None
        found = [host] if named else await self._resolved(host, port)
        # Check all addresses, not only the one that is used: a name with one address in the own network is a trap.
        for address in found:
            refusal = addresses.refusal(address, private=self._private, named=named)
            if refusal is None and self._is_denied(address, port):
                refusal = "an address of the denylist"
            if refusal is not None:
                where = f"{host} is" if named else f"{host} leads to {address[:60]},"
                raise denied(f"Fetching from {host} is denied: {where} {refusal}")
        return found[:_MAX_ATTEMPTS]

    async def _resolved(self, host: str, port: int) -> Sequence[str]:
        try:
            found = await self._resolver(host, port)
        except (OSError, UnicodeError) as error:
            raise failed(f"Cannot find {host}: its name has no address", retryable=True) from error
        if not found or len(found) > MAX_ADDRESSES:
            raise failed(f"Cannot find {host}: its name has {len(found)} addresses")
        return found


class _Connection(httpcore2.AsyncHTTPConnection):
    """A connection that is closed when the fetch that opened it is cancelled before it sends.

    The engine would leak it, neither idle nor closed: after a few of these the pool would be full for ever.
    """

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        is_mine = not self.is_connected()
        try:
            return await super().handle_async_request(request)
        except BaseException:
            if is_mine and not self.is_idle():
                with anyio.CancelScope(shield=True), anyio.move_on_after(_CLOSING_TIMEOUT_S):
                    await self.aclose()
            raise


class _Pool(httpcore2.AsyncConnectionPool):
    def __init__(self, context: ssl.SSLContext, max_connections: int, backend: CheckedBackend) -> None:
        super().__init__(max_connections=max_connections)
        self._context = context
        self._backend = backend

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        return _Connection(origin, ssl_context=self._context, keepalive_expiry=_KEPT_S, network_backend=self._backend)


class Connections:
    """The connections of one run: a connection that was checked under one policy never serves another."""

    def __init__(
        self,
        *,
        ca_file: Path | None,
        resolver: Resolver | None,
        is_denied: Callable[[str, int], bool],
        max_connections: int,
        max_head_bytes: int,
    ) -> None:
        resolver = resolver or Lookups()
        context = ssl_context(ca_file)
        # Entries for one host may differ in `private`: they do not share connections.
        self._pools = {
            private: _Pool(
                context, max_connections, CheckedBackend(resolver, max_head_bytes, is_denied, private=private)
            )
            for private in (False, True)
        }

    async def send(self, request: httpcore2.Request, *, private: bool) -> httpcore2.Response:
        """Send the request; return the response once its head is there. The caller reads its body and closes it."""
        return await self._pools[private].handle_async_request(request)

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()


def ssl_context(ca_file: Path | None) -> ssl.SSLContext:
    """A TLS context that checks certificates and host names. Cached: reading the system's certificates takes tens of
    milliseconds.

    Made anew when the policy names another file, or the file was written to: that is how certificates are withdrawn.
    """
    found = None if ca_file is None else os.stat(ca_file)
    return _ssl_context(ca_file, found and (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))


@lru_cache(maxsize=8)
def _ssl_context(ca_file: Path | None, _version: tuple[int, ...] | None) -> ssl.SSLContext:
    context = httpcore2.default_ssl_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=str(ca_file))
    return context
