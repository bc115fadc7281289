"""Serves clients over HTTP, the protocol's "streamable HTTP", at `/mcp`.

The server below it runs on asyncio alone, so this does too.
"""

from __future__ import annotations

import math
import socket
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from .address import Address
from .http_door import HttpDoor, Refusal
from .http_sessions import Sessions

if TYPE_CHECKING:
    from mcp.server import Server

    from .calls import Calls
    from .http_sessions import App, Message, Receive, Scope, Send

PATH = "/mcp"
MAX_BODY_BYTES = 8 * 1024 * 1024
SESSION_IDLE_S = 30 * 60
ENDING_S = 2
"""For answers that are on their way when the server stops."""


class HttpLimits(NamedTuple):
    """What strangers and forgetful clients can take at most."""

    waiting_s: float = 10
    """So long a connection is kept on which no whole request comes."""
    connections: int = 200
    sessions: int = 100


USUAL = HttpLimits()

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
    family, kind, protocol, _, place = found[0]
    # With its protocol said: asyncio would otherwise let small answers wait for those before, 40 ms each.
    listening = socket.socket(family, kind, protocol)
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
    server: Server[Any],
    listening: socket.socket,
    door: HttpDoor,
    calls: Calls,
    *,
    until: anyio.Event,
    limits: HttpLimits = USUAL,
) -> None:
    """Until the event is set, or this is cancelled. The calls that are running then are ended first: each client is
    told so. The socket is closed."""
    import uvicorn  # noqa: PLC0415 - only in `cortex mcp serve --http`
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415

    from .http_connection import Connection  # noqa: PLC0415

    class Limited(Connection):
        waiting_s = limits.waiting_s

    sessions = StreamableHTTPSessionManager(
        server,
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=limits.sessions,
        session_idle_timeout=SESSION_IDLE_S,
        # No list of hosts and origins here: the door in front has looked, and two lists would only differ.
        security_settings=None,
    )
    front = Front(door, Sessions(sessions.handle_request, limits.sessions))
    config = uvicorn.Config(
        front,
        log_config=None,
        access_log=False,
        http=Limited,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.connections,
        # Longer than most clients keep one: they would else use it in the moment in which it is closed.
        timeout_keep_alive=math.ceil(limits.waiting_s),
        timeout_graceful_shutdown=ENDING_S,
    )
    web = uvicorn.Server(config)
    # Signals are for the whole command, which has more to close.
    web.capture_signals = nullcontext  # type: ignore[assignment]

    async def serve() -> None:
        with anyio.CancelScope(shield=True):
            await web.serve(sockets=[listening])

    with listening:
        async with anyio.create_task_group() as tasks:
            try:
                # Closed before the web server is: it would wait for the streams that idle clients keep open.
                async with sessions.run():
                    tasks.start_soon(serve)
                    try:
                        await until.wait()
                    finally:
                        calls.stop()
                        with anyio.move_on_after(ENDING_S, shield=True):
                            await front.close()
            finally:
                web.should_exit = True


class Front:
    """The app, at its one path, for those that the door lets in."""

    def __init__(self, door: HttpDoor, app: App) -> None:
        self._door = door
        self._app = app
        self._posts = 0
        self._is_closing = False
        self._answered = anyio.Event()

    async def close(self) -> None:
        """Let nobody in any more; return when those that have asked something are answered."""
        self._is_closing = True
        if self._posts:
            await self._answered.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        origin = headers.get("origin", [""])[0]
        is_preflight = scope["method"] == "OPTIONS"
        refusal = self._door.refusal(headers, is_preflight=is_preflight) or self._elsewhere(scope["path"])
        if refusal is not None:
            await _refuse(refusal, send)
            return
        answer = _telling_the_page(origin, headers, send) if origin else send
        if is_preflight and origin:
            await answer({"type": "http.response.start", "status": 204, "headers": []})
            await answer({"type": "http.response.body", "body": b""})
            return
        self._posts += scope["method"] == "POST"
        try:
            await self._app(scope, receive, answer)
        finally:
            self._posts -= scope["method"] == "POST"
            if self._is_closing and not self._posts:
                self._answered.set()

    def _elsewhere(self, path: str) -> Refusal | None:
        if self._is_closing:
            return Refusal(503, "The server is stopping")
        return Refusal(404, f"There is nothing here but {PATH}") if path.rstrip("/") != PATH else None


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
