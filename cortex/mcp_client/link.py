"""One open connection to a server: calls, its list of tools, and the news that the list has changed.

It is opened and closed by one task; any task may call. The SDK's own `call_tool` is not used: it would match results
against the patterns of a stranger's schema, which may take for ever, and answer a server's questions.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal

import anyio
from mcp import Client
from mcp.client._transport import TransportStreams
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    Implementation,
    LoggingMessageNotificationParams,
    PaginatedRequestParams,
    Tool,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from .errors import short
from .watched import Wire, watched

log = logging.getLogger("motor_cortex.mcp")
# What goes wrong here is told by our errors, not by lines in the middle of somebody's conversation.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
_URL = re.compile(r"(https?://)(?:[^/\s?#@]*@)?([^/\s?#@]+)[^\s]*")


class _NoPaths(logging.Filter):
    """The SDK logs whole URLs, and there are tokens in some."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = _URL.sub(r"\1\2/…", record.getMessage()), ()
        return True


logging.getLogger("mcp.client.streamable_http").addFilter(_NoPaths())

MAX_PAGES = 200
LISTEN_AGAIN_S = 5.0
# As it came: it was checked against the protocol before, and is unwrapped by us.
_ANSWER: TypeAdapter[Any] = TypeAdapter(dict[str, Any])

Mode = Literal["auto", "legacy"]


class Link:
    def __init__(self, client: Client, wire: Wire) -> None:
        self._client = client
        self.wire = wire
        self.protocol = client.protocol_version

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer as the server gave it. Raises MCPError, ValidationError. A cancellation is told to the server."""
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        answer: dict[str, Any] = await self._client.session.send_request(request, _ANSWER)
        return answer

    async def tools(self, most: int) -> Sequence[Tool]:
        """What the server has, up to so many. Raises MCPError, ValidationError."""
        found: list[Tool] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            params = PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            page = await self._client.session.list_tools(params=params)
            found.extend(page.tools[: most - len(found)])
            cursor = page.next_cursor
            # A page may be empty, and the pages may go round.
            if not cursor or cursor in seen or len(found) >= most:
                break
            seen.add(cursor)
        return found

    async def listen(self) -> None:
        """Hear of changes from a server of the modern kind, which tells only those who ask. Never raises."""
        if self.protocol not in MODERN_PROTOCOL_VERSIONS:
            return
        while not self.wire.has_ended:
            try:
                async with self._client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self.wire.change()
                    return
            except (SubscriptionLost, TimeoutError):
                await self.wire.pause(LISTEN_AGAIN_S)
                self.wire.change()  # what was said in between was not heard
            except MCPError as error:
                log.debug("An MCP server does not tell when its tools change: %s", short(error))
                return


@asynccontextmanager
async def linked(
    transport: AbstractAsyncContextManager[TransportStreams], wire: Wire, mode: Mode, call_s: float
) -> AsyncIterator[Link]:
    """A connection over the transport, in either era of the protocol."""

    async def on_message(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            wire.change()

    async def on_log(params: LoggingMessageNotificationParams) -> None:
        log.debug("An MCP server logs: %s", short(params.data))

    client = Client(
        watched(transport, wire),
        mode=mode,
        message_handler=on_message,
        logging_callback=on_log,
        client_info=Implementation(name="motor-cortex", version="0"),
        read_timeout_seconds=call_s,
        cache=None,
    )
    async with client:
        link = Link(client, wire)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(link.listen)
            try:
                yield link
            finally:
                tasks.cancel_scope.cancel()
