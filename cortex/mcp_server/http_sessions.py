"""Limit the HTTP sessions of MCP clients: when there are too many, end the session that was idle longest.

A client that crashes, or that connects anew for each call, closes no session, and the SDK would refuse all new clients
until its sessions expire. A client whose session has ended gets a 404 and initializes again, as the protocol demands.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

import anyio

log = logging.getLogger("motor_cortex")

ENDING_S = 2.0
_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(eq=False)
class Session:
    id: bytes | None = None
    """None until the app has assigned one."""
    asking: int = 0
    listening: int = 0
    used: float = 0.0


class Sessions:
    """An ASGI app in front of the SDK's. It ends a session as its client would, by a DELETE request."""

    def __init__(self, app: App, most: int) -> None:
        self._app = app
        self._most = most
        self._open: list[Session] = []
        self._is_told = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = _first(scope, _SESSION)
        session = next((session for session in self._open if name is not None and session.id == name), None)
        if session is None:
            if name is not None or not is_of_the_handshake(scope):
                # An unknown session, or a client of the era that has no sessions.
                await self._app(scope, receive, send)
                return
            await self._make_room()
            session = Session()
            self._open.append(session)
        await self._in_session(session, scope, receive, send)

    async def _in_session(self, session: Session, scope: Scope, receive: Receive, send: Send) -> None:
        is_listening = scope["method"] == "GET"

        async def seen(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._answered(session, scope["method"], message)
            await send(message)

        session.listening += is_listening
        session.asking += not is_listening
        try:
            await self._app(scope, receive, seen)
        finally:
            session.listening -= is_listening
            session.asking -= not is_listening
            session.used = anyio.current_time()
            if session.id is None:
                self._forget(session)

    def _answered(self, session: Session, method: str, message: Message) -> None:
        status = message["status"]
        if session.id is None and status < 400:
            session.id = dict(message.get("headers", ())).get(_SESSION)
        if status == 404 or (method == "DELETE" and status < 400):
            self._forget(session)

    def _forget(self, session: Session) -> None:
        if session in self._open:
            self._open.remove(session)

    async def _make_room(self) -> None:
        if len(self._open) < self._most:
            return
        ending = longest_idle(self._open)
        if ending is None or ending.id is None:
            return  # the SDK has the same limit, and refuses the request
        self._forget(ending)
        if not self._is_told:
            log.warning("There are %d sessions of clients: each new one ends the one that was idle longest", self._most)
        self._is_told = True
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "DELETE",
            "path": "/",
            "query_string": b"",
            "headers": [(_SESSION, ending.id)],
        }
        with anyio.move_on_after(ENDING_S):
            await self._app(scope, _nothing_more, _discard)


def is_of_the_handshake(scope: Scope) -> bool:
    """Whether the client is of the handshake era, which has sessions, as the SDK decides by the protocol version."""
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS  # noqa: PLC0415 - it takes a second to load

    version = _first(scope, _VERSION)
    return version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


def _first(scope: Scope, name: bytes) -> bytes | None:
    """The first header of that name; of two, the SDK takes the first, too."""
    return next((value for found, value in scope["headers"] if found == name), None)


def longest_idle(sessions: list[Session]) -> Session | None:
    """The session to end; None while every session waits for an answer. A session whose client listens comes last: that
    client is alive."""
    idle = [session for session in sessions if not session.asking]
    return min(idle, key=lambda session: (bool(session.listening), session.used), default=None)


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard(message: Message) -> None:
    del message
