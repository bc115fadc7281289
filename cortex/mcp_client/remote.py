"""Connect to an MCP server at a URL. Limits the size of its answers and the time until they begin.

Messages are parsed here, and not by the SDK: for an invalid message its error would format all of it, which takes
seconds for data that is slow to print. Large messages also go around the SDK's transport: a small stand-in goes through
it, and is swapped for the message where it comes out. The transport formats each message with `repr` for its debug log,
also when that log is off, and copies the message several times: 16 MB of a text that is slow to print took 700 ms and
made the host grow by 110 MB.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic_core import to_json

from cortex.mcp_wire import MESSAGE_LIMITS, Event, EventReader, check_pieces, longer_than
from cortex.text import Turns
from sandbox import JsonMeter, TooComplex

from .child import Witness
from .errors import TOO_LARGE, too_large
from .messages import NO_MESSAGE, parsed
from .watched import Incoming

CONNECT_S = 10.0
IDLE_S = 300.0
"""Timeout between two pieces of a stream. A stream that it ends is opened again."""
CLOSING_S = 1.0
# A chunk of more than MANY_LINES lines is handled in slices of SLICE_BYTES: each line takes a few µs, and a chunk may
# hold 65,000 lines.
MANY_LINES = 256
SLICE_BYTES = 2_048
_MARK = "motor-cortex/aside"


@asynccontextmanager
async def reached(
    url: str,
    headers: Mapping[str, str],
    witness: Witness,
    *,
    max_bytes: int,
    answer_s: float,
    on_gone: Callable[[], None],
) -> AsyncIterator[TransportStreams]:
    """Yield the streams to the server. `on_gone` is called when the server no longer knows our session."""

    async def look(response: httpx2.Response) -> None:
        witness.status = response.status_code
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            on_gone()
        # Compression was not asked for and is not unpacked: a kilobyte may unpack to a gigabyte.
        response.headers.pop("content-encoding", None)
        # JSON is UTF-8. In another encoding, the bytes that are counted would not be the characters that are read.
        response.encoding = "utf-8"
        response.stream = _body_of(response, max_bytes)

    client = _Client(
        answer_s,
        headers={"accept-encoding": "identity", **headers},
        timeout=httpx2.Timeout(CONNECT_S, read=IDLE_S),
        event_hooks={"response": [look]},
    )
    async with client, streamable_http_client(url, http_client=client, max_sse_event_size=max_bytes) as streams:
        yield Exchanged(streams[0]), streams[1]


def _body_of(response: httpx2.Response, max_bytes: int) -> _Body:
    kind = response.headers.get("content-type", "").lower()
    if kind.startswith("text/event-stream"):
        return _Events(response.stream, max_bytes)
    # The SDK reads no message from other bodies, like the answer to a DELETE.
    is_message = kind.startswith("application/json") and response.request.method == "POST"
    return (_Message if is_message else _Bounded)(response.stream, max_bytes)


class _Client(httpx2.AsyncClient):
    """An HTTP client with a timeout until the response begins: the SDK sends notifications one after the other, and one
    without a response would hold up all later ones."""

    def __init__(self, answer_s: float, **options: Any) -> None:
        super().__init__(**options)
        self._answer_s = answer_s

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        with anyio.move_on_after(self._answer_s):
            return await super().send(request, **options)
        raise httpx2.ReadTimeout(f"no answer within {self._answer_s:g} s", request=request)


class _Body(httpx2.AsyncByteStream):
    """A response body that is checked while it is read. Subclasses say when it is too large, and what the SDK gets."""

    def __init__(self, body: Any) -> None:
        self._body = body
        self._reading: AsyncGenerator[bytes, None] | None = None
        self._is_left = False

    def take(self, chunk: bytes) -> deque[Any]:
        """The items of this chunk that can be passed on now. Raises TooComplex."""
        raise NotImplementedError

    def passed(self, item: Any) -> bytes:
        """The bytes that the SDK gets for this item."""
        raise NotImplementedError

    def last(self) -> Iterable[bytes]:
        """The bytes that the SDK gets at the end of the body. Raises the exception of `refused`."""
        return ()

    def refused(self, reason: str) -> Exception:
        raise NotImplementedError

    def __aiter__(self) -> AsyncIterator[bytes]:
        self._reading = self._checked()
        return self._reading

    async def _checked(self) -> AsyncGenerator[bytes, None]:
        reason: str | None = None
        turns = Turns()
        try:
            async for chunk in self._chunks(turns):
                if reason is not None or self._is_left:
                    continue
                try:
                    items = self.take(chunk)
                except TooComplex as error:
                    reason = str(error)
                    # Close the body and read on: that ends the iteration, because a closed body gives nothing more. A
                    # body left in the middle would be closed by the garbage collector.
                    await self._body.aclose()
                    continue
                # Popped one by one: an item of megabytes is freed before more comes.
                while items and not self._is_left:
                    yield self.passed(items.popleft())
                    # A chunk may hold thousands of events: let other tasks run.
                    await turns.take()
        except (httpx2.TransportError, anyio.ClosedResourceError):
            if reason is None and not self._is_left:
                raise
        if self._is_left:
            return
        if reason is not None:
            raise self.refused(too_large(reason))
        for piece in self.last():
            yield piece

    async def _chunks(self, turns: Turns) -> AsyncIterator[bytes]:
        async for chunk in self._body:
            await turns.take()
            if chunk.count(b"\n") + chunk.count(b"\r") <= MANY_LINES:
                yield chunk
                continue
            for at in range(0, len(chunk), SLICE_BYTES):
                await anyio.lowlevel.checkpoint()
                yield chunk[at : at + SLICE_BYTES]

    async def aclose(self) -> None:
        """Close the body. The SDK leaves a stream of events in the middle, once it has its answer: so read on to the
        end, which a closed body reaches at once. Otherwise the garbage collector would close the generators, and trio
        warns of that."""
        await self._body.aclose()
        reading, self._reading = self._reading, None
        if reading is not None and not getattr(reading, "ag_running", False):
            self._is_left = True
            # What is read from a closed body, or fails, is of no use: the SDK has its answer.
            with suppress(Exception), anyio.move_on_after(CLOSING_S):
                async for _ in reading:
                    pass


class _Bounded(_Body):
    """A body of at most `max_bytes`."""

    def __init__(self, body: Any, max_bytes: int) -> None:
        super().__init__(body)
        self._left = self._max_bytes = max_bytes
        self._pieces = 0

    def take(self, chunk: bytes) -> deque[Any]:
        self._left -= len(chunk)
        if self._left < 0:
            raise TooComplex(longer_than(self._max_bytes))
        self._pieces += 1
        check_pieces(self._pieces)
        return deque([chunk])

    def passed(self, item: Any) -> bytes:
        return bytes(item)

    def refused(self, reason: str) -> Exception:
        return httpx2.StreamError(reason)


class _Message(_Bounded):
    """A body that is one message, of at most `max_bytes`."""

    def __init__(self, body: Any, max_bytes: int) -> None:
        super().__init__(body, max_bytes)
        self._meter = JsonMeter(MESSAGE_LIMITS)
        self._kept = bytearray()

    def take(self, chunk: bytes) -> deque[Any]:
        super().take(chunk)
        self._meter.feed(chunk)
        self._meter.check()
        self._kept += chunk
        return deque()

    def last(self) -> Iterable[bytes]:
        kept, self._kept = self._kept, bytearray()
        try:
            message = parsed(kept)
        except TooComplex as error:
            raise self.refused(too_large(str(error))) from error
        if message is None:
            raise self.refused(NO_MESSAGE)
        return (put_aside(message),)


class _Events(_Body):
    """A stream of server-sent events. Each event has a limit; the stream has none, because it may last."""

    def __init__(self, body: Any, max_bytes: int) -> None:
        super().__init__(body)
        self._reader = EventReader(max_bytes)

    def take(self, chunk: bytes) -> deque[Event]:
        return self._reader.read(chunk)

    def passed(self, item: Event) -> bytes:
        fields = {b"id": item.id, b"retry": item.retry, b"data": _data_of(item)}
        return b"".join(b"%b: %b\n" % (name, value) for name, value in fields.items() if value is not None) + b"\n"

    def refused(self, reason: str) -> Exception:
        return httpx2.SSEError(reason)


def _data_of(event: Event) -> bytes | None:
    if not event.data:
        return None
    try:
        return put_aside(parsed(event.data) or _error(PARSE_ERROR, NO_MESSAGE))
    except TooComplex as error:
        return put_aside(_error(TOO_LARGE, too_large(str(error))))


def _error(code: int, reason: str) -> JSONRPCError:
    """An error without an id. The SDK gives it to the request that the stream answers; in other streams it drops it."""
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=reason))


class _Aside:
    def __init__(self, message: JSONRPCMessage) -> None:
        self.token = secrets.token_hex(16)
        self.message: JSONRPCMessage | None = message


# The SDK reads a body and passes its message on in one task, and its streams carry that task's context along. If the
# task is cancelled before it passes the message on, the message is freed with it: in a table it would stay for ever.
_last: ContextVar[_Aside | None] = ContextVar("_last", default=None)


def put_aside(message: JSONRPCMessage) -> bytes:
    """The JSON of a small stand-in, for the SDK to pass on instead of this message."""
    aside = _Aside(message)
    _last.set(aside)
    return to_json({"jsonrpc": "2.0"} | _stand_in(message, aside.token))


def _stand_in(message: JSONRPCMessage, token: str) -> dict[str, Any]:
    match message:
        case JSONRPCRequest():
            return {"id": token, "method": _MARK, "params": {_MARK: token}}
        case JSONRPCNotification():
            return {"method": _MARK, "params": {_MARK: token}}
        case JSONRPCResponse():
            return {"id": token, "result": {_MARK: token}}
        case JSONRPCError():
            return {"id": token, "error": {"code": 0, "message": _MARK, "data": token}}


class Exchanged(Incoming):
    """The stream out of the transport, with stand-ins swapped back for the real messages."""

    async def receive(self) -> SessionMessage | Exception:
        item = await super().receive()
        aside = None if self.last_context is None else self.last_context.get(_last)
        if isinstance(item, SessionMessage) and aside is not None and aside.token == _token_of(item.message):
            item.message = _taken(aside, item.message)
        return item


def _token_of(message: JSONRPCMessage) -> Any:
    match message:
        case JSONRPCError():
            return message.error.data
        case JSONRPCResponse():
            return message.result.get(_MARK)
        case _:
            return (message.params or {}).get(_MARK)


def _taken(aside: _Aside, passed: JSONRPCMessage) -> JSONRPCMessage:
    message, aside.message = aside.message, None  # freed here: the context may live on
    if message is None:
        return passed
    if isinstance(message, JSONRPCResponse | JSONRPCError) and isinstance(passed, JSONRPCResponse | JSONRPCError):
        # The SDK knows which request was answered, and sets that id on the stand-in, whatever id the server wrote.
        message.id = message.id if passed.id == aside.token or passed.id is None else passed.id
    return message
