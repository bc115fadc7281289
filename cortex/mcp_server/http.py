"""Serve MCP clients over HTTP, the protocol's "streamable HTTP", at `/mcp`.

Runs on asyncio only, because the web server (uvicorn) does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from pydantic_core import to_json

from cortex.http import HttpRefusal, headers_of, welcome
from cortex.mcp_wire import RefusedMessage

from .http_body import Bodies, Gone, NoRoom
from .http_door import HttpDoor
from .http_sessions import Sessions, is_of_the_handshake
from .messages import NoMessage

if TYPE_CHECKING:
    import socket

    from mcp.server import Server

    from .calls import ClientCalls
    from .http_sessions import App, Message, Receive, Scope, Send

PATH = "/mcp"
SESSION_IDLE_S = 30 * 60
ENDING_S = 2
"""Seconds that answers under way have to reach their clients when the server stops."""

_FOR_PAGES = (
    (b"access-control-allow-methods", b"GET, POST, DELETE"),
    (b"access-control-expose-headers", b"mcp-session-id, mcp-protocol-version"),
    (b"access-control-max-age", b"600"),
    (b"vary", b"origin"),
)
_MAX_ASKED = 1_000
BUSY = HttpRefusal(503, "The server is answering as much as it can; try again")
INVALID_REQUEST = -32_600
"""Error code of JSON-RPC."""
INVALID_PARAMS = -32_602
"""Error code of JSON-RPC. To clients of the handshake era, the SDK answers with it when a body is no message."""


class HttpLimits(NamedTuple):
    """Limits of connections, timeouts, sessions and body sizes."""

    connections: int = 200
    """At most this many requests are answered at the same time; one more is told to try again later."""
    waiting_s: float = 10
    """A connection on which no whole request comes is closed after this long."""
    strangers: int = 64
    """At most this many connections that have not shown the token yet."""
    stranger_s: float = 2
    """Each of those is closed after this long."""
    moment_s: float = 0.1
    """Each of those has at least this long to send its request before it is closed for another."""
    sessions: int = 100
    body_bytes: int = 4_718_592
    """At most this much in one request. The largest that a client needs is a call of `execute_code`, whose arguments
    may have 4 MiB."""
    bodies_bytes: int = 32 * 1024 * 1024
    """At most this much in all requests that are being answered."""


USUAL = HttpLimits()


async def serve_http(
    server: Server[Any],
    listening: socket.socket,
    door: HttpDoor,
    calls: ClientCalls,
    *,
    until: anyio.Event,
    limits: HttpLimits = USUAL,
) -> None:
    """Serve until the event is set, or this is cancelled. Then stop the running calls first, so that each client gets
    an answer, and close the socket."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415

    from cortex.http import accept, web_server  # noqa: PLC0415 - only in `cortex mcp serve --http`

    sessions = StreamableHTTPSessionManager(
        server,
        max_request_body_size=limits.body_bytes,
        max_sessions=limits.sessions,
        session_idle_timeout=SESSION_IDLE_S,
        # The SDK checks no hosts and origins: HttpDoor has done so, and a second list could only differ.
        security_settings=None,
    )
    front = Front(door, Sessions(sessions.handle_request, limits.sessions), limits)
    web = web_server(front, limits, ending_s=ENDING_S)

    async def serve() -> None:
        with anyio.CancelScope(shield=True):
            # Without sockets: `accept` decides which connections are accepted, and when.
            await web.serve(sockets=[])

    with listening:
        async with anyio.create_task_group() as tasks, anyio.create_task_group() as accepting:
            try:
                # Sessions close before the web server, which would wait for the streams that idle clients keep open.
                async with sessions.run():
                    tasks.start_soon(serve)
                    accepting.start_soon(accept, listening, web, limits)
                    try:
                        await until.wait()
                    finally:
                        calls.stop()
                        with anyio.move_on_after(ENDING_S, shield=True):
                            await front.close()
            finally:
                accepting.cancel_scope.cancel()
                web.should_exit = True


class Front:
    """The ASGI app at its only path, for the requests that the door lets in."""

    def __init__(self, door: HttpDoor, app: App, limits: HttpLimits = USUAL) -> None:
        self._door = door
        self._app = app
        self._bodies = Bodies(limits.body_bytes, limits.bodies_bytes)
        self._most = limits.connections
        self._requests = 0
        self._posts = 0
        self._is_closing = False
        self._answered = anyio.Event()

    async def close(self) -> None:
        """Refuse new requests; return when all open POST requests are answered."""
        self._is_closing = True
        if self._posts:
            await self._answered.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope)
        origin = headers.get("origin", [""])[0]
        is_preflight = scope["method"] == "OPTIONS"
        refusal = self._door.refusal(headers, is_preflight=is_preflight)
        if refusal is None and not is_preflight:
            welcome(scope)
        refusal = refusal or self._elsewhere(scope["path"])
        if refusal is not None:
            await _refuse(refusal, send)
            return
        answer = _telling_the_page(origin, headers, send) if origin else send
        if is_preflight and origin:
            await answer({"type": "http.response.start", "status": 204, "headers": []})
            await answer({"type": "http.response.body", "body": b""})
            return
        is_post = scope["method"] == "POST"
        self._requests += 1
        self._posts += is_post
        try:
            await (self._post(scope, receive, answer) if is_post else self._app(scope, receive, answer))
        finally:
            self._requests -= 1
            self._posts -= is_post
            if self._is_closing and not self._posts:
                self._answered.set()

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._bodies.one() as body:
            try:
                given = await body.read(receive)
            except Gone:
                return
            except NoRoom:
                await _refuse(BUSY, send)
                return
            refused = given if isinstance(given, RefusedMessage) else given.refused
            if refused is not None:
                await _refuse_message(refused, scope, send)
            elif not isinstance(given, RefusedMessage):
                await self._app(scope, given, send)

    def _elsewhere(self, path: str) -> HttpRefusal | None:
        if self._is_closing:
            return HttpRefusal(503, "The server is stopping")
        if self._requests >= self._most:
            return BUSY
        return HttpRefusal(404, f"There is nothing here but {PATH}") if path.rstrip("/") != PATH else None


async def _refuse_message(refused: RefusedMessage, scope: Scope, send: Send) -> None:
    """Answer with a JSON-RPC error that has the id of the refused request, if that can be found."""
    status, code, what = 413, INVALID_REQUEST, "The message is too large"
    if isinstance(refused, NoMessage):
        status, what = 400, "The body is no message of JSON-RPC"
        code = INVALID_PARAMS if is_of_the_handshake(scope) else INVALID_REQUEST
    error = {"code": code, "message": f"{what}: {refused.reason}"}
    body = to_json({"jsonrpc": "2.0", "id": refused.id, "error": error})
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _refuse(refusal: HttpRefusal, send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.text.encode()})


def _telling_the_page(origin: str, headers: dict[str, list[str]], send: Send) -> Send:
    """A `send` that adds the CORS headers, without which the browser would not show the page its answer."""
    asked = headers.get("access-control-request-headers", [""])[0][:_MAX_ASKED].encode("latin-1")
    more = [(b"access-control-allow-origin", origin.encode("latin-1")), *_FOR_PAGES]
    if asked:
        more.append((b"access-control-allow-headers", asked))

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return told
