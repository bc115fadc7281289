"""One open connection to an MCP server: call tools, list them, and learn when the list changes. Every failure of a call
is a ToolError.

One task opens and closes it; any task may call. The SDK's own `call_tool` is not used: it would match results against
the regular expressions of an untrusted schema, which may take for ever, and answer a server's questions.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.to_thread
from mcp import Client
from mcp.client._transport import TransportStreams
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    Implementation,
    LoggingMessageNotificationParams,
    PaginatedRequestParams,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from sandbox import BadSchema, ToolError, schema_problem

from .errors import McpUnavailable, is_too_large, short, validation_text
from .listing import Listing
from .watched import Wire, watched

if TYPE_CHECKING:
    from .tool import McpTool

log = logging.getLogger("motor_cortex.mcp")
# Failures are reported by our errors, not by log lines in the middle of a conversation.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
_URL = re.compile(r"(https?://)(?:[^/\s?#@]*@)?([^/\s?#@]+)[^\s]*")
MAX_LOG_CHARACTERS = 4_000


class _Bounded(logging.Filter):
    """Shortens what the SDK logs. It logs whole URLs, some with tokens, and it logs what a server wrote and validation
    errors at any length: where a log handler is set, formatting those takes seconds."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(short(value) if isinstance(value, _LONG) else value for value in record.args)
        text = record.getMessage()[:MAX_LOG_CHARACTERS]
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(error, ValidationError):
            text, record.exc_info = f"{text}: {validation_text(error)}", None
        record.msg, record.args = _URL.sub(r"\1\2/…", text), ()
        return True


_LONG = (str, dict, list, BaseException)
# Added to each logger by name: a logger's filter does not apply to its child loggers.
for _name in ("client", "mcp.client.client", "mcp.client.streamable_http", "mcp.shared.jsonrpc_dispatcher"):
    logging.getLogger(_name).addFilter(_Bounded())

MAX_PAGES = 200
MAX_CURSOR = 1_024
LISTEN_AGAIN_S = 5.0
# The answer as a plain dict: the SDK has validated the message, and we unwrap the result ourselves.
_ANSWER: TypeAdapter[Any] = TypeAdapter(dict[str, Any])

Mode = Literal["auto", "legacy"]
Faults = (MCPError, ValidationError, TimeoutError, RuntimeError, OSError)
"""Exceptions that an SDK request may raise."""


class Link:
    def __init__(self, client: Client, wire: Wire) -> None:
        self._client = client
        self.wire = wire
        self.protocol = client.protocol_version

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call the tool and return the server's answer. Raises MCPError, ValidationError. A cancellation is sent to the
        server."""
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        answer: dict[str, Any] = await self._client.session.send_request(request, _ANSWER)
        return answer

    async def tools(self, listing: Listing) -> None:
        """Add the server's tools to the listing, as long as there is room. Raises MCPError, ValidationError."""
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            cursor = await self._page(cursor, listing)
            # A page may be empty, and the cursors may repeat. Cursors are kept to detect that, so a long one ends it.
            if not cursor or cursor in seen or listing.is_full:
                break
            if len(cursor) > MAX_CURSOR:
                listing.leave_out_the_rest("the mark of its next page is too long")
                break
            seen.add(cursor)
        self._forget(listing)

    async def _page(self, cursor: str | None, listing: Listing) -> str | None:
        """Add one page; return the cursor of the next. A function of its own, so that a page is freed before the next
        comes."""
        params = PaginatedRequestParams(cursor=cursor) if cursor is not None else None
        page = await self._client.session.list_tools(params=params)
        # In a thread: thousands of schemas are serialized, which must not block the event loop.
        await anyio.to_thread.run_sync(listing.add, page.tools)
        return page.next_cursor

    def _forget(self, listing: Listing) -> None:
        """Clear the SDK's cache: it keeps the output schema of each tool that was ever listed, for a check that we do
        not use. A server that changes its list all the time would fill the memory."""
        # Private attributes of the SDK: in a version without them there is nothing to clear.
        session: Any = self._client.session
        getattr(session, "_tool_output_schemas", {}).clear()
        headers = getattr(session, "_x_mcp_header_maps", {})
        for name in headers.keys() - listing.names:
            del headers[name]

    async def listen(self) -> None:
        """Subscribe to tool list changes of a server of the modern protocol, which sends them on request only. Never
        raises."""
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
                self.wire.change()  # a change meanwhile was missed, so list again
            except MCPError as error:
                log.debug("An MCP server does not tell when its tools change: %s", short(error))
                return


@asynccontextmanager
async def linked(
    transport: AbstractAsyncContextManager[TransportStreams], wire: Wire, mode: Mode, call_s: float
) -> AsyncIterator[Link]:
    """Connect over the transport, in either era of the protocol, and yield the link."""

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


async def answered(link: Link, tool: McpTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call the tool and return the server's answer unchanged. Raises ToolError."""
    try:
        return await link.call(tool.tool, arguments)
    except MCPError as error:
        raise _told(error, tool.name, link.wire.has_ended) from error
    except ValidationError as error:
        # Raised later, outside this block: as its __context__, this error would be printed where the new one is logged.
        problem = validation_text(error)
    except Faults as error:
        log.warning('The answer of tool "%s" is not valid MCP', tool.name, exc_info=error)
        raise ToolError(f'The answer of tool "{tool.name}" is not valid MCP', code="bad_answer") from error
    log.warning('The answer of tool "%s" is not valid MCP: %s', tool.name, problem)
    raise ToolError(f'The answer of tool "{tool.name}" is not valid MCP', code="bad_answer")


def _told(error: MCPError, name: str, has_ended: bool) -> ToolError:
    said = short(error.message)
    if is_too_large(error.code, error.message):
        return ToolError(f'Tool "{name}": {said}; ask it for less at a time', code="result_too_large")
    if error.code == CONNECTION_CLOSED or has_ended:
        return McpUnavailable(f'Tool "{name}" lost its server ({said}); whether it did anything is not known')
    if error.code == REQUEST_TIMEOUT:
        return ToolError(f'Tool "{name}" gave no answer in time ({said})', code="timeout", retryable=True)
    return ToolError(f'Tool "{name}": {said}', code=f"mcp_{error.code}")


def check_result(tool: McpTool, answer: Mapping[str, Any]) -> None:
    """Check a result against the declared type: code relies on it, and would fail somewhere later. A result that cannot
    be checked, or not quickly, is accepted: the tool has done its work. Raises ToolError."""
    if tool.output_json is None or answer.get("structuredContent") is None:
        return
    try:
        problem = schema_problem(tool.output_json, answer["structuredContent"], "result")
    except BadSchema as error:
        log.debug('The result of tool "%s" is not checked: %s', tool.name, error)
        return
    if problem is not None:
        message = f'Tool "{tool.name}" answered with something else than it declares: {problem}'
        raise ToolError(message, code="bad_answer")
