"""Connections to checked addresses, and nowhere else. Imported with the first fetch: httpx2's engine takes a while.

The engine is used without httpx2's client, which would keep cookies, parse URLs in its own way, and unpack bodies
without a bound.
"""

from __future__ import annotations

import contextvars
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpcore2

from . import addresses
from .refusals import denied, failed

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a name. Asked once for each connection; what it answers is what is connected to."""

MAX_ADDRESSES = 32
# Names that are looked up at the same time: a lookup cannot be stopped, and each keeps a thread.
MAX_LOOKUPS = 4
# The head of an answer is read in small steps: it is parsed in one go.
_HEAD_STEP_BYTES = 8 * 1024
# What of the addresses is tried: one that never answers must not take all the time there is.
_MAX_ATTEMPTS = 4

quiet: contextvars.ContextVar[bool] = contextvars.ContextVar("quiet", default=False)


class _Quiet(logging.Filter):
    """The engine's debug log holds the headers of answers, where a server may repeat a secret."""

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - the name that logging calls
        return not quiet.get()


for _name in ("connection", "http11"):
    logging.getLogger(f"httpcore2.{_name}").addFilter(_Quiet())


class WireLimit(httpcore2.RemoteProtocolError):
    """The server sends more than the answer can need."""


class MeteredStream(httpcore2.AsyncNetworkStream):
    """A connection that stops reading when the allowance is used up. Every request begins with that of a head."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, max_head_bytes: int) -> None:
        self._stream = stream
        self._max_head_bytes = max_head_bytes
        self._left = max_head_bytes
        self._in_head = True

    def allow(self, more_bytes: int) -> None:
        """The head is there; so much may follow."""
        self._in_head = False
        self._left = more_bytes

    # The engine gives a clock to each call; the broker has one for the whole fetch, and the engine's is never set.
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
        stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return MeteredStream(stream, self._max_head_bytes)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Resolves a name, checks every address it has, and connects to one of those very addresses."""

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
        # All of them, not only the one that would be used: a name with one foot in the own network is a trap.
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


class Connections:
    """The connections of one run: none that was checked under one policy ever serves another."""

    def __init__(
        self,
        *,
        ca_file: Path | None,
        resolver: Resolver | None,
        is_denied: Callable[[str, int], bool],
        max_connections: int,
        max_head_bytes: int,
    ) -> None:
        resolver = resolver or partial(system_resolver, anyio.CapacityLimiter(MAX_LOOKUPS))
        context = ssl_context(ca_file)
        # Entries for one host may differ in `private`: they do not share connections.
        self._pools = {
            private: httpcore2.AsyncConnectionPool(
                ssl_context=context,
                max_connections=max_connections,
                keepalive_expiry=5.0,
                network_backend=CheckedBackend(resolver, max_head_bytes, is_denied, private=private),
            )
            for private in (False, True)
        }

    async def send(self, request: httpcore2.Request, *, private: bool) -> httpcore2.Response:
        """The answer's head. Its body is read from the response, which must be closed."""
        return await self._pools[private].handle_async_request(request)

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()


async def system_resolver(limiter: anyio.CapacityLimiter, host: str, port: int) -> Sequence[str]:
    """Ask the operating system, in a thread that is left behind when nobody waits any longer."""
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await anyio.to_thread.run_sync(look_up, abandon_on_cancel=True, limiter=limiter)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@lru_cache(maxsize=8)
def ssl_context(ca_file: Path | None) -> ssl.SSLContext:
    """Checks certificates and names. Made once: reading the system's certificates takes tens of milliseconds."""
    context = httpcore2.default_ssl_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=str(ca_file))
    return context
