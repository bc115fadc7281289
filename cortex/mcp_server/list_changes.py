"""Tells MCP clients that their list of tools has changed, when learned functions come and go.

Clients with a handshake get `notifications/tools/list_changed` once they have asked for the list; later ones listen for
it. A module of its own: the server imports it only where the owner wants these tools.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions
    from mcp.server.session import ServerSession

log = logging.getLogger("motor_cortex")

LOOK_S = 1.0
TELLING_S = 2.0
"""A client that reads nothing keeps the others waiting no longer than this."""
MAX_CLIENTS = 256


class ListChanges:
    """`look` gives the list as it is now. `during` is the lifespan of a server."""

    def __init__(self, look: Callable[[], object]) -> None:
        self._look = look
        self._bus = InMemorySubscriptionBus()
        self._asked: OrderedDict[int, ServerSession] = OrderedDict()
        self.listen = ListenHandler(self._bus, max_subscriptions=MAX_CLIENTS)

    def asked(self, session: ServerSession) -> None:
        """The client of this session was given the list. Of too many clients the one that asked longest ago is not told
        any more; nothing says when a client has gone."""
        if session.client_params is None:
            return
        # One object for each connection, which the session keeps alive; sessions are made for each request.
        client = id(session.client_params)
        self._asked[client] = session
        self._asked.move_to_end(client)
        while len(self._asked) > MAX_CLIENTS:
            self._asked.popitem(last=False)

    @asynccontextmanager
    async def during(self, _: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            try:
                yield {}
            finally:
                self.listen.close()
                tasks.cancel_scope.cancel()

    async def _watch(self) -> None:
        known = self._look()
        while True:
            await anyio.sleep(LOOK_S)
            now = self._look()
            if now != known:
                known = now
                await self._bus.publish(ToolsListChanged())
                async with anyio.create_task_group() as tasks:
                    for session in list(self._asked.values()):
                        tasks.start_soon(_tell, session)


async def _tell(session: ServerSession) -> None:
    with anyio.move_on_after(TELLING_S):
        try:
            await session.send_tool_list_changed()
        except Exception as error:  # noqa: BLE001 - a client that has gone must not end the server
            log.debug("A client was not told that its tools have changed: %s", error)


class AnnouncingServer(Server[Any]):
    """A server that says in the handshake that it tells of changes."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *rest: Any, **more: Any
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, *rest, **more)
