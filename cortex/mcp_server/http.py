"""Serves clients over HTTP, the protocol's "streamable HTTP", at `/mcp`.

The server below it runs on asyncio alone, so this does too.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio

from .address import Address
from .http_door import HttpDoor, Refusal

if TYPE_CHECKING:
    from mcp.server import Server

    from .calls import Calls

PATH = "/mcp"
MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_SESSIONS = 100
MAX_CONNECTIONS = 200
SESSION_IDLE_S = 30 * 60
ENDING_S = 2
"""For answers that are on their way when the server stops."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_FOR_PAGES = (
    (b"access-control-allow-methods", b"GET, POST, DELETE"),
    (b"access-control-expose-headers", b"mcp-session-id, mcp-protocol-version"),
    (b"access-control-max-age", b"600"),
    (b"vary", b"origin"),
)
_MAX_ASKED = 1_000


def listen(address: Address) -> socket.socket:
    """A socket at the address. Raises OSError."""
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, place = found[0]
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(128)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


async def serve_http(
    server: Server[Any], listening: socket.socket, door: HttpDoor, calls: Calls, *, until: anyio.Event
) -> None:
    """Until the event is set, or this is cancelled. The calls that are running then are ended first: each client is
    told so. The socket is closed."""
    import uvicorn  # noqa: PLC0415 - only in `cortex mcp serve --http`

    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=MAX_SESSIONS,
        session_idle_timeout=SESSION_IDLE_S,
        transport_security=_checked_before(),
    )
    config = uvicorn.Config(
        behind(door, app),
        log_config=None,
        access_log=False,
        http="h11",
        ws="none",
        lifespan="on",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=ENDING_S,
    )
    web = _WithoutSignals(uvicorn.Server(config))
    with listening:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, listening)
            try:
                await until.wait()
            finally:
                calls.stop()
                web.stop()


class _WithoutSignals:
    """Uvicorn, told to stop by us: signals are for the whole command, which has more to close."""

    def __init__(self, web: Any) -> None:
        self._web = web

    async def serve(self, listening: socket.socket) -> None:
        self._web.capture_signals = _nothing
        with anyio.CancelScope(shield=True), _quiet():
            await self._web.serve(sockets=[listening])

    def stop(self) -> None:
        self._web.should_exit = True


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Without its word on streams that are still open at the end: those of idle clients always are."""
    logger = logging.getLogger("uvicorn.error")

    def is_news(record: logging.LogRecord) -> bool:
        return "graceful shutdown" not in record.getMessage()

    logger.addFilter(is_news)
    try:
        yield
    finally:
        logger.removeFilter(is_news)


def _checked_before() -> Any:
    from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415

    # The door in front has looked at both headers; two lists would only differ.
    return TransportSecuritySettings(enable_dns_rebinding_protection=False)


def behind(door: HttpDoor, app: App) -> App:
    """The app, for those that the door lets in."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        is_preflight = scope["method"] == "OPTIONS"
        refusal = door.refusal(headers, is_preflight=is_preflight)
        if refusal is not None:
            await _refuse(refusal, send)
            return
        origin = headers.get("origin", [""])[0]
        answer = _telling_the_page(origin, headers, send) if origin else send
        if is_preflight and origin:
            await answer({"type": "http.response.start", "status": 204, "headers": []})
            await answer({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, answer)

    return guarded


async def _refuse(refusal: Refusal, send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.text.encode()})


def _telling_the_page(origin: str, headers: dict[str, list[str]], send: Send) -> Send:
    """With the headers without which the browser would not show the page its answer."""
    asked = headers.get("access-control-request-headers", [""])[0][:_MAX_ASKED].encode("latin-1")
    more = [(b"access-control-allow-origin", origin.encode("latin-1")), *_FOR_PAGES]
    if asked:
        more.append((b"access-control-allow-headers", asked))

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return told
